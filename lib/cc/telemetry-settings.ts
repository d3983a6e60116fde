/** Settings of telemetry as programs and command lines give them; `telemetry-options.ts` says what there is. */
import { defaultsOf, settingsOf, settingTexts } from '../options/check-options.js'
import { describeOption } from '../options/describe.js'
import { parseOptions } from '../options/parse-options.js'
import { TELEMETRY_OPTIONS, type TelemetrySettings } from './telemetry-options.js'

export type { TelemetrySettings } from './telemetry-options.js'

const TOPIC = 'telemetry'

export const DEFAULT_TELEMETRY = defaultsOf<TelemetrySettings>(TELEMETRY_OPTIONS)

/** Fills in the defaults. Throws WEIR_BAD_ARGUMENT for a setting out of its range. */
export function telemetrySettings(given: Partial<TelemetrySettings> = {}): TelemetrySettings {
  return settingsOf(TOPIC, TELEMETRY_OPTIONS, given)
}

/** Settings by text: `collect=probe`, `plain=true`. Those that are not named are left out. Throws WEIR_BAD_ARGUMENT, also for one without effect. */
export function parseTelemetrySettings(texts: readonly string[]): Partial<TelemetrySettings> {
  return parseOptions(TOPIC, TELEMETRY_OPTIONS, texts)
}

/** Settings as texts that `parseTelemetrySettings` reads, without those that have no effect. */
export function telemetrySettingTexts(settings: TelemetrySettings): string[] {
  return settingTexts(TELEMETRY_OPTIONS, settings)
}

/** For `--help`: every setting with its range, default, meaning and section, a line each. */
export function describeTelemetry(): string[] {
  return TELEMETRY_OPTIONS.map(option => describeOption(option, TELEMETRY_OPTIONS))
}
