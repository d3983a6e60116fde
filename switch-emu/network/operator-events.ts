/** Changes that an operator makes to switches while the traffic runs: `events` of a scenario. */
import { assert } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { Node } from '../../lib/frame/node.js'
import type { NetworkEvent } from '../../lib/scenario/model/scenario.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'

/** A node of the network without links, which only waits for the times of the events. */
export class OperatorEvents implements Node {
  /** In the order of their times. */
  readonly #events: readonly NetworkEvent[]
  readonly #act: (now: Nanos, event: NetworkEvent) => void
  #startNs: Nanos = NEVER
  #next = 0

  constructor(events: readonly NetworkEvent[], act: (now: Nanos, event: NetworkEvent) => void) {
    this.#events = [...events].sort((a, b) => a.atNs - b.atNs)
    this.#act = act
  }

  /** The traffic starts at `now`: the times of events count from there. */
  start(now: Nanos): void {
    this.#startNs = now
    this.#next = 0
  }

  nextTimeout(): Nanos {
    const next = this.#events[this.#next]
    return next === undefined ? NEVER : this.#startNs + next.atNs
  }

  onTimeout(now: Nanos): void {
    while (this.nextTimeout() <= now) this.#act(now, this.#events[this.#next++]!)
  }

  onFrame(_now: Nanos, _port: number, _frame: Frame): void {
    assert(false, 'a frame came to the events')
  }

  pollTransmit(_now: Nanos): Frame | null {
    return null
  }
}
