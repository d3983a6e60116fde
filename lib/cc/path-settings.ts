/** Settings of path selection as programs and command lines give them; `path-options.ts` says what there is. */
import { defaultsOf, settingsOf, settingTexts } from '../options/check-options.js'
import { describeOption } from '../options/describe.js'
import { parseOptions } from '../options/parse-options.js'
import { PATH_OPTIONS, type PathSettings } from './path-options.js'

export { PATHS_MAX, type PathSettings } from './path-options.js'

const TOPIC = 'paths'

export const DEFAULT_PATHS = defaultsOf<PathSettings>(PATH_OPTIONS)

/** Fills in the defaults. Throws WEIR_BAD_ARGUMENT for a setting out of its range. */
export function pathSettings(given: Partial<PathSettings> = {}): PathSettings {
  return settingsOf(TOPIC, PATH_OPTIONS, given)
}

/** True if connections have anything to probe for. */
export function probesPaths({ count, admission }: PathSettings): boolean {
  return count > 1 || admission > 0
}

/** Settings by text: `count=4`, `interval=1ms`. Those that are not named are left out. Throws WEIR_BAD_ARGUMENT, also for one without effect. */
export function parsePathSettings(texts: readonly string[]): Partial<PathSettings> {
  return parseOptions(TOPIC, PATH_OPTIONS, texts)
}

/** Settings as texts that `parsePathSettings` reads, without those that have no effect. */
export function pathSettingTexts(settings: PathSettings): string[] {
  return settingTexts(PATH_OPTIONS, settings)
}

/** For `--help`: a line each. */
export function describePaths(): string[] {
  return PATH_OPTIONS.map(option => describeOption(option, PATH_OPTIONS))
}
