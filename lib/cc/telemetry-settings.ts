/** Checks of telemetry settings, and their reading from text; `telemetry-options.ts` says what there is. */
import { WeirError } from '../errors.js'
import { parseBytes, parseFraction } from '../units/units.js'
import { checkIdleSettings } from './idle-setting.js'
import {
  DEFAULT_TELEMETRY,
  rangeOf,
  TELEMETRY_OPTIONS,
  type TelemetryOption,
  type TelemetrySettings,
  telemetryOption,
} from './telemetry-options.js'

export { DEFAULT_TELEMETRY, type TelemetrySettings } from './telemetry-options.js'

/** Fills in the defaults. Throws WEIR_BAD_ARGUMENT for a setting out of its range. */
export function telemetrySettings(given: Partial<TelemetrySettings> = {}): TelemetrySettings {
  const settings = { ...DEFAULT_TELEMETRY, ...given }
  for (const option of TELEMETRY_OPTIONS) check(option, settings[option.name])
  return settings
}

function check(option: TelemetryOption, value: unknown): void {
  const { kind } = option
  if (kind === 'choice') {
    if (!option.choices.includes(value as string))
      throw bad(option, `one of ${option.choices.join(', ')}`, value)
  } else if (kind === 'flag') {
    if (typeof value !== 'boolean') throw bad(option, 'true or false', value)
  } else {
    const number = typeof value === 'number' ? value : Number.NaN
    const whole = kind === 'share' || Number.isInteger(number)
    if (whole && number >= option.min && number <= option.max) return
    throw bad(option, `${kind === 'share' ? 'a share' : 'a whole number'} from ${rangeOf(option)}`, value)
  }
}

/** Settings by text: `collect=probe`, `plain=true`. Those that are not named are left out. Throws WEIR_BAD_ARGUMENT, also for one without effect. */
export function parseTelemetrySettings(texts: readonly string[]): Partial<TelemetrySettings> {
  const found: Record<string, unknown> = {}
  for (const text of texts) {
    const [name = '', value = ''] = text.split('=', 2)
    const option = telemetryOption(name)
    if (option === undefined) {
      const names = TELEMETRY_OPTIONS.map(({ name }) => name).join(', ')
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `telemetry: there is no setting ${name || text}; there are ${names}`,
      )
    }
    found[name] = parsed(option, value)
  }
  const given = TELEMETRY_OPTIONS.filter(({ name }) => found[name] !== undefined)
  checkIdleSettings('telemetry', given, telemetrySettings(found))
  return found
}

/** Settings as texts that `parseTelemetrySettings` reads, without those that have no effect. */
export function telemetrySettingTexts(settings: TelemetrySettings): string[] {
  const effective = TELEMETRY_OPTIONS.filter(({ idle }) => (idle?.(settings) ?? null) === null)
  return effective.map(({ name }) => `${name}=${settings[name]}`)
}

function parsed(option: TelemetryOption, text: string): unknown {
  switch (option.kind) {
    case 'flag':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'bytes':
      return parseBytes(text)
    case 'share':
      return parseFraction(text)
    case 'count':
      return Number(text === '' ? Number.NaN : text)
    default:
      return text
  }
}

function bad(option: TelemetryOption, range: string, value: unknown): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `telemetry: ${option.name} is ${range}, not ${value}`)
}
