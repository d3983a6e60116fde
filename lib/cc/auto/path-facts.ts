/**
 * What a flow knows of its path, as far as the choice of a controller depends on it: what is known at connect, and what has come back
 * since.
 */
import type { Nanos } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import type { CongestionContext } from '../congestion-control.js'
import { switchesOf } from '../path-switches.js'

/** When what comes back changes a fact. */
interface Patience {
  /** Answers in a row with telemetry of a switch after which switches are taken to write it. */
  confirm: number
  /** Round trips without telemetry, or without CNPs before a loss, after which they are taken not to. */
  roundTrips: number
}

export class PathFacts {
  /** The peer is no Weir host. */
  readonly foreign: boolean
  /** The switches on the path write telemetry. */
  telling: boolean
  /** A switch of this path has written some before. */
  told = false
  /** It is another path than before, and no telemetry has come of it. */
  changed = false
  /** Switches mark packets, and the peer answers marks by CNPs. */
  marking = false
  readonly #patience: Patience
  /** Answers in a row with telemetry of a switch; after any without, 0. */
  #answers: number
  /** An answer without telemetry has come. */
  #silent = false
  /** When telemetry came last, or the first packet left; 0: none has left. */
  #toldNs: Nanos = 0
  #cnpNs: Nanos = 0

  /** @param begun flows begin at line rate, as HPCC++ does */
  constructor({ foreignPeer, probed }: CongestionContext, patience: Patience, begun: boolean) {
    this.foreign = foreignPeer === true
    this.#answers = probed?.answers ?? 0
    this.told = this.#answers >= patience.confirm
    this.telling = begun || this.told
    this.#patience = patience
  }

  /** All packets are to collect telemetry: none has been missed yet, or some has just come. */
  get mayTell(): boolean {
    return this.telling || this.#answers > 0 || !this.#silent
  }

  onSent(now: Nanos): void {
    if (this.#toldNs === 0) this.#toldNs = now
  }

  /** An answer has come. True if it has telemetry of switches: a record of the receiving host alone says nothing of links. */
  onAnswer(now: Nanos, hops: HopRecords, roundTripNs: Nanos): boolean {
    if (switchesOf(hops) === 0) {
      this.#answers = 0
      this.#silent = true
      this.onMissing(now, roundTripNs)
      return false
    }
    this.#toldNs = now
    this.changed = false
    this.#answers++
    if (this.#answers >= this.#patience.confirm) {
      this.telling = true
      this.told = true
    }
    return true
  }

  /** Telemetry was due, and has not come. */
  onMissing(now: Nanos, roundTripNs: Nanos): void {
    if (now - this.#toldNs > this.#patience.roundTrips * roundTripNs) this.telling = false
  }

  onCnp(now: Nanos): void {
    this.#cnpNs = now
    this.marking = true
  }

  /** Where switches mark, CNPs come before a queue is full. */
  onLoss(now: Nanos, roundTripNs: Nanos): void {
    if (now - this.#cnpNs > this.#patience.roundTrips * roundTripNs) this.marking = false
  }

  /** Nothing that was learned of the old path holds on the new one; what is in force stays until something is known. */
  onPathChange(): void {
    this.#answers = 0
    this.#silent = false
    this.#toldNs = 0
    this.told = false
    this.changed = true
    this.marking = false
  }
}
