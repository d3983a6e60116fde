import { headroomByPort, longestFrameBytes } from '../lib/scenario/headroom.js'
import { dscpMap } from '../lib/scenario/priorities.js'
import type { EcnSettings, Scenario, Switch } from '../lib/scenario/scenario.js'
import type { SwitchOptions } from './core/switch.js'
import type { EcnOptions } from './core/wred.js'

/** A link as the port at one end of it sees it. */
interface PortLink {
  rateBps: number
  delayNs: number
}

/** What a scenario says of one switch, as the switch wants it. @param links of the switch, by port */
export function switchOptions(
  scenario: Pick<Scenario, 'transport' | 'int'>,
  sw: Switch,
  links: readonly PortLink[],
): Omit<SwitchOptions, 'pool' | 'random'> {
  const { id, name, bufferBytes, queueBytesMax, weights, pcpToTc: pcp, pfc } = sw
  const ecn = sw.ecn?.map(ecnOptions)
  return {
    id,
    name,
    bufferBytes,
    ports: links.map(({ rateBps }) => ({
      rateBps,
      ...(queueBytesMax !== undefined && { queueBytesMax }),
      ...(ecn && { ecn }),
      ...(weights && { weights }),
    })),
    classifier: { dscp: dscpMap(sw), ...(pcp && { pcp }) },
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
  }
}

function ecnOptions({ kminBytes, kmaxBytes, pmax, at, priorities }: EcnSettings): EcnOptions {
  return { kminBytes, kmaxBytes, pmax, at, priorities }
}
