/**
 * What scenario files, daemons and connections refuse with a reason, for options of all hosts of a network.
 */
import { checkModes, idleEncapsulation } from '../../lib/cc/mode-conflicts.js'
import { PATH_OPTIONS } from '../../lib/cc/path-options.js'
import { pathSettings, probesPaths } from '../../lib/cc/path-settings.js'
import { TELEMETRY_OPTIONS } from '../../lib/cc/telemetry-options.js'
import { telemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { WeirError } from '../../lib/errors.js'
import { checkIdleOptions, idleText } from '../../lib/options/idle.js'
import type { MatrixConfig } from './run-network.js'

const DEFAULT_CC = { name: 'hpcc', options: {} }

/** Throws WEIR_BAD_ARGUMENT for an option without effect beside the others. */
export function checkOptions(config: MatrixConfig): void {
  const { telemetry = {}, paths = {}, cc = DEFAULT_CC, start = 'line-rate', int } = config
  const settings = telemetrySettings(telemetry)
  const chosen = pathSettings(paths)
  checkIdleOptions('telemetry', TELEMETRY_OPTIONS, telemetry)
  checkIdleOptions('paths', PATH_OPTIONS, paths)
  checkModes({ telemetry, settings, paths: chosen, cc, start, isEverybody: true })
  const idle = idleEncapsulation({ names: [cc.name], probesPaths: probesPaths(chosen) })
  const encapsulation = int !== undefined || config.intHopsMax !== undefined
  if (encapsulation && idle !== null) throw new WeirError('WEIR_BAD_ARGUMENT', idleText('int', idle))
}
