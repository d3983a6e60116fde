import { ccIsReceiverBased } from '../../lib/cc/catalogue.js'
import { headroomByPort, longestFrameBytes } from '../../lib/scenario/model/headroom.js'
import { dscpMap } from '../../lib/scenario/model/priorities.js'
import type { EcnSettings, Scenario, ScenarioSwitch } from '../../lib/scenario/model/scenario.js'
import { directKey } from '../../lib/wire/weir/direct-tag.js'
import type { FeatureOptions } from '../core/catalogue.js'
import type { ClassifierOptions } from '../core/forwarding/classifier.js'
import type { InofOptions } from '../core/inof/inof.js'
import type { EcnOptions } from '../core/marking/wred.js'
import type { SwitchOptions } from '../core/switch.js'
import type { RoccOptions } from '../core/telemetry/rocc.js'
import { deadlockOptions } from './deadlock-options.js'
import { vtepOptions } from './vtep-options.js'

/** A link as the port at one end of it sees it. */
interface PortLink {
  rateBps: number
  delayNs: number
}

/**
 * Returns the options of one switch of a scenario.
 *
 * @param links of the switch, by port
 * @param inof of the switch. Default: off
 */
export function switchOptions(
  scenario: Pick<
    Scenario,
    'hosts' | 'links' | 'vtep' | 'transport' | 'int' | 'telemetry' | 'cc' | 'deadlockPrevention'
  >,
  sw: ScenarioSwitch,
  links: readonly PortLink[],
  inof?: InofOptions,
): Omit<SwitchOptions, 'pool' | 'random'> {
  const { id, name, bufferBytes, queueBytesMax, weights, pfc } = sw
  const ecn = sw.ecn?.map(ecnOptions)
  return {
    id,
    name,
    bufferBytes,
    ports: links.map(({ rateBps }) => ({
      rateBps,
      ...(queueBytesMax !== undefined && { queueBytesMax }),
      ...(weights && { weights }),
    })),
    classifier: classifierOptions(sw),
    features: {
      ...sw.features,
      ...(ecn && { ecn }),
      ...(pfc && {
        pfc: {
          priorities: pfc.priorities,
          xoffBytes: pfc.xoffBytes,
          alpha: pfc.alpha,
          xonBytes: pfc.xonBytes,
          xonOffsetBytes: pfc.xonOffsetBytes,
          reservedBytes: pfc.reservedBytes,
          quanta: pfc.quanta,
          headroomBytes: headroomByPort(pfc, links, longestFrameBytes(scenario)),
        },
      }),
      ...telemetryOptions(scenario, sw),
      ...roccOptions(scenario, sw),
      ...deadlockOptions(scenario, sw),
      ...(inof && { inof }),
      ...vtepOptions(scenario, sw),
    },
  }
}

/** Returns what a switch reports as load, and what it sends by itself. */
function telemetryOptions(
  {
    telemetry: { subscribe, subscribeDscp },
    cc,
    transport,
  }: Pick<Scenario, 'telemetry' | 'cc' | 'transport'>,
  { telemetry }: Pick<ScenarioSwitch, 'telemetry'>,
): Pick<FeatureOptions, 'telemetry' | 'direct'> {
  if (telemetry === undefined) return {}
  const { writes, queue, rate, direct, ratioOnly } = telemetry
  if (!writes) return { telemetry: false }
  const load = { queue, rate, ratioOnly }
  if (direct === undefined) return { telemetry: load }
  const to = direct.to ?? (ccIsReceiverBased(cc.name) ? 'receiver' : 'sender')
  const subscribedDscp = subscribe === 'dscp' ? subscribeDscp : undefined
  const key = transport.key === undefined ? undefined : directKey(Buffer.from(transport.key))
  return { telemetry: load, direct: { ...direct, to, subscribedDscp, key } }
}

/** The fair rates of a switch are authenticated where hosts have a secret. */
function roccOptions(
  { transport }: Pick<Scenario, 'transport'>,
  { features }: Pick<ScenarioSwitch, 'features'>,
): Pick<FeatureOptions, 'rocc'> {
  const rocc = features?.rocc as RoccOptions | undefined
  if (rocc === undefined || transport.key === undefined) return {}
  return { rocc: { ...rocc, key: directKey(Buffer.from(transport.key)) } }
}

/** Returns how a switch distinguishes priorities. */
export function classifierOptions(sw: Pick<ScenarioSwitch, 'dscpToTc' | 'pcpToTc'>): ClassifierOptions {
  return { dscp: dscpMap(sw), ...(sw.pcpToTc && { pcp: sw.pcpToTc }) }
}

function ecnOptions({ kminBytes, kmaxBytes, pmax, at, priorities, large }: EcnSettings): EcnOptions {
  return { kminBytes, kmaxBytes, pmax, at, priorities, large }
}
