/**
 * Controllers that ask of their peers what none of the catalogue's does: time stamps, hop counts, telemetry that acknowledgements collect, CNPs.
 * They send with a fixed window; what the peer does for them is what the matrix looks at, beside every other option. They join the catalogue
 * as this file is loaded.
 */
import { addController } from '../../lib/cc/catalogue.js'
import { FixedWindow } from '../../lib/cc/fixed-window/fixed-window.js'
import type { Needs } from '../../lib/cc/needs.js'
import { type Effect, more } from './effects.js'

const NEEDING: Readonly<Record<string, { needs: Needs; effect: Omit<Effect, 'value'> }>> = {
  'needs-stamps': { needs: { timeStamps: true }, effect: { seen: more('stamped') } },
  'needs-hop-count': { needs: { hopCount: true }, effect: { seen: more('hopLimits') } },
  'needs-way-back': {
    needs: { telemetry: 'all', reverseTelemetry: 'own-way' },
    effect: { seen: more('collectingAcks') },
  },
  'needs-data-way': { needs: { reverseTelemetry: 'data-way' }, effect: { seen: more('collectingAcks') } },
  'needs-cnps': {
    needs: { cnpIntervalNs: 50_000 },
    effect: { networks: ['marking', 'deep'], seen: more('cnps') },
  },
}

for (const [name, { needs }] of Object.entries(NEEDING)) {
  addController({ name, options: [], needs, create: context => new FixedWindow(context) })
}

/** How what the peer does is seen; undefined: the controller is none of these. */
export function needEffect(name: string): Effect | undefined {
  const found = NEEDING[name]
  return found && { value: name, ...found.effect }
}
