/** Checks of the settings of path selection, and their reading from text; `path-options.ts` says what there is. */
import { WeirError } from '../errors.js'
import { parseDuration } from '../units/units.js'
import { checkIdleSettings } from './idle-setting.js'
import { PATH_OPTIONS, type PathOption, type PathSettings, pathRange } from './path-options.js'

export { PATHS_MAX, type PathSettings } from './path-options.js'

export const DEFAULT_PATHS: Readonly<PathSettings> = Object.fromEntries(
  PATH_OPTIONS.map(option => [option.key, option.default]),
) as unknown as PathSettings

/** Fills in the defaults. Throws WEIR_BAD_ARGUMENT for a setting out of its range. */
export function pathSettings(given: Partial<PathSettings> = {}): PathSettings {
  const settings = { ...DEFAULT_PATHS, ...given }
  for (const option of PATH_OPTIONS) check(option, settings[option.key])
  return settings
}

function check(option: PathOption, value: unknown): void {
  if (option.kind === 'choice') {
    if (!option.choices.includes(value as string))
      throw bad(option, `one of ${option.choices.join(', ')}`, value)
    return
  }
  const number = typeof value === 'number' ? value : Number.NaN
  const whole = option.kind === 'number' || Number.isInteger(number)
  if (whole && number >= option.min && number <= option.max) return
  const what = option.kind === 'count' ? 'a whole number' : option.kind === 'duration' ? 'a time' : 'a number'
  throw bad(option, `${what} from ${pathRange(option)}`, value)
}

/** True if connections have anything to probe for. */
export function probesPaths({ count, admission }: PathSettings): boolean {
  return count > 1 || admission > 0
}

/** Settings by text: `count=4`, `interval=1ms`. Those that are not named are left out. Throws WEIR_BAD_ARGUMENT, also for one without effect. */
export function parsePathSettings(texts: readonly string[]): Partial<PathSettings> {
  const found: Record<string, unknown> = {}
  for (const text of texts) {
    const [name = '', value = ''] = text.split('=', 2)
    const option = PATH_OPTIONS.find(known => known.name === name)
    if (option === undefined) {
      const names = PATH_OPTIONS.map(({ name }) => name).join(', ')
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `paths: there is no setting ${name || text}; there are ${names}`,
      )
    }
    found[option.key] = parsed(option, value)
  }
  const given = PATH_OPTIONS.filter(({ key }) => found[key] !== undefined)
  checkIdleSettings('paths', given, pathSettings(found))
  return found
}

function parsed(option: PathOption, text: string): unknown {
  if (option.kind === 'choice') return text
  if (option.kind === 'duration') return text === '0' ? 0 : parseDuration(text)
  return Number(text === '' ? Number.NaN : text)
}

/** Settings as texts that `parsePathSettings` reads, without those that have no effect. */
export function pathSettingTexts(settings: PathSettings): string[] {
  const effective = PATH_OPTIONS.filter(({ idle }) => (idle?.(settings) ?? null) === null)
  return effective.map(({ name, key, kind }) => `${name}=${settings[key]}${kind === 'duration' ? 'ns' : ''}`)
}

function bad(option: PathOption, range: string, value: unknown): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `paths: ${option.name} is ${range}, not ${value}`)
}
