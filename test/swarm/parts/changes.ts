/** Changes of a network while it runs: links that go down and come back, and switches that choose other paths. */
import type { Random } from '../../../lib/sim/random.js'
import { MILLISECOND, type Nanos } from '../../../lib/time/nanos.js'

/** A link between two switches goes down, both ways. */
export interface FlapPlan {
  link: number
  downNs: Nanos
  upNs: Nanos
  /** How long after either event the switches notice it and route around it. Null: they never do. */
  noticedAfterNs: Nanos | null
}

/** What changes. */
export interface ChangesPlan {
  flaps: readonly FlapPlan[]
  /** The switches choose again among equal paths. */
  rehashNs: Nanos | null
}

/** When all changes have begun. */
const CHANGES_NS = 4 * MILLISECOND
/** A link that the switches route around may be down for longer than any timeout. */
const LONG_NS = 100 * MILLISECOND

/** @param inner links between switches, by index; @param several there is more than one path */
export function changesPlan(
  random: Random,
  inner: readonly number[],
  several: boolean,
  ackTimeoutNs: Nanos,
): ChangesPlan {
  const flaps: FlapPlan[] = []
  if (inner.length > 0 && random.next() < 0.2) {
    const downNs = random.below(CHANGES_NS)
    const avoided = several && random.next() < 0.7
    flaps.push({
      link: inner[random.below(inner.length)]!,
      downNs,
      upNs: downNs + 1 + random.below(avoided ? LONG_NS : ackTimeoutNs),
      noticedAfterNs: avoided ? random.below(MILLISECOND) : null,
    })
  }
  return { flaps, rehashNs: several && random.next() < 0.2 ? random.below(CHANGES_NS) : null }
}

/** True if paths may change. */
export function reroutes({ flaps, rehashNs }: ChangesPlan): boolean {
  return rehashNs !== null || flaps.some(({ noticedAfterNs }) => noticedAfterNs !== null)
}
