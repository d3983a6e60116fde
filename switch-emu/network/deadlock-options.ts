import type { Scenario, ScenarioSwitch as SwitchSettings } from '../../lib/scenario/model/scenario.js'
import type { FeatureOptions } from '../core/catalogue.js'

/** Returns a switch's options against PFC deadlocks: detection, and prevention by its port groups. */
export function deadlockOptions(
  scenario: Pick<Scenario, 'deadlockPrevention'>,
  { name, pfc, pcpToTc }: SwitchSettings,
): Pick<FeatureOptions, 'watchdog' | 'deadlockPrevention'> {
  const { groups = [], from = 0, to = 0 } = scenario.deadlockPrevention ?? {}
  const own = groups.filter(group => group.switch === name)
  return {
    ...(pfc?.watchdog && { watchdog: { ...pfc.watchdog, priorities: pfc.priorities } }),
    ...(own[0] && {
      deadlockPrevention: {
        groups: own.map(({ ports }) => ports),
        from,
        to,
        dscp: own[0].dscp,
        pcp: pcpOf(pcpToTc, to),
      },
    }),
  }
}

/**
 * Returns the PCP that a switch maps to a priority, preferably the equal number. If none maps to it, it is
 * the equal number.
 */
function pcpOf(pcpToTc: SwitchSettings['pcpToTc'], priority: number): number {
  if (pcpToTc === undefined || pcpToTc[priority] === priority) return priority
  const found = Object.entries(pcpToTc).find(([, to]) => to === priority)
  return found === undefined ? priority : Number(found[0])
}
