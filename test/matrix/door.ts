/** What scenario files, daemons and connections refuse with the reason, for options that all hosts of a network have. */
import { checkModes } from '../../lib/cc/conflicts.js'
import { PATH_OPTIONS } from '../../lib/cc/path-options.js'
import { pathSettings } from '../../lib/cc/path-settings.js'
import { TELEMETRY_OPTIONS } from '../../lib/cc/telemetry-options.js'
import { telemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { checkIdleOptions } from '../../lib/options/idle.js'
import type { MatrixConfig } from './run-network.js'

const DEFAULT_CC = { name: 'hpcc', options: {} }

/** Throws WEIR_BAD_ARGUMENT for an option without effect beside the others. */
export function checkOptions(config: MatrixConfig): void {
  const { telemetry = {}, paths = {}, cc = DEFAULT_CC, start = 'line-rate', int } = config
  const encapsulation = int !== undefined || config.intHopsMax !== undefined
  checkIdleOptions('telemetry', TELEMETRY_OPTIONS, telemetry)
  checkIdleOptions('paths', PATH_OPTIONS, paths)
  checkModes({
    given: telemetry,
    telemetry: telemetrySettings(telemetry),
    int: encapsulation ? ['hops'] : [],
    paths: pathSettings(paths),
    cc,
    start,
    isEverybody: true,
  })
}
