/** Rules of AI ECN that involve other settings of the switch. */
import type { AiEcnOptions } from '../../../switch-emu/core/ai-ecn/ai-ecn.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { ScenarioSwitch } from '../model/scenario.js'

/** Reports queues whose thresholds are to follow their traffic, and which have none. */
export function checkAiEcn(
  problems: Problems,
  path: DocumentPath,
  { ecn = [], features }: Pick<ScenarioSwitch, 'ecn' | 'features'>,
): void {
  const aiEcn = features?.aiEcn as AiEcnOptions | undefined
  if (aiEcn === undefined) return
  const unmarked = aiEcn.priorities.find(p => !ecn.some(({ priorities }) => priorities.includes(p)))
  if (unmarked === undefined) return
  const how =
    ecn.length === 0
      ? 'set ecn: {kmin: …, kmax: …}, its thresholds at the beginning'
      : `add priority ${unmarked} to an entry of ecn`
  problems.at([...path, 'aiEcn'], `no queue of priority ${unmarked} is marked; ${how}`)
}
