import { formatBytes } from '../../units/units.js'
import { headroomByPort, longestFrameBytes } from '../model/headroom.js'
import type { NodePlaces, Problems } from '../model/problems.js'
import type { Scenario } from '../model/scenario.js'

/** Reports switches whose lossless priorities reserve more memory than the buffer has. */
export function checkMemory(
  problems: Problems,
  scenario: Pick<Scenario, 'switches' | 'links' | 'transport' | 'int' | 'vtep'> & { places: NodePlaces },
): void {
  const frameBytes = longestFrameBytes(scenario)
  for (const { name, pfc, bufferBytes } of scenario.switches) {
    if (pfc === undefined) continue
    const links = scenario.links.filter(({ a, b }) => a.node === name || b.node === name)
    const headroom = headroomByPort(pfc, links, frameBytes)
    const onePriority = headroom.reduce((sum, bytes) => sum + bytes + (pfc.reservedBytes ?? 0), 0)
    const needed = onePriority * pfc.priorities.length
    if (needed < bufferBytes) continue
    const largest = formatBytes(Math.max(...headroom))
    problems.at(
      [...scenario.places.get(name)!, 'pfc'],
      `the lossless priorities of ${name} need ${formatBytes(needed)} of their own (${links.length} ports, ` +
        `${pfc.priorities.length} of 8 priorities, up to ${largest} of headroom each), and the buffer has ` +
        `${formatBytes(bufferBytes)}; give a larger buffer, or less headroom`,
    )
  }
}
