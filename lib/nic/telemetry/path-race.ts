import { PATHS_MAX } from '../../cc/path-settings.js'
import type { PreparedHeaders } from '../../frame/prepared-headers.js'
import type { Nanos } from '../../time/nanos.js'

/** Source ports of one race, the flow's own among them: where half of the ports lead along a failed link, one of 128 races finds no other. */
export const RACE_PORTS = 8
/** The peer keeps the answers that wait by the low bits of their numbers: these are above those that path probes use, up to eight paths. */
const FIRST = PATHS_MAX - RACE_PORTS
/** Races by number: the high 20 bits of a probe's sequence number. */
const RACES = 1 << 20

/**
 * Probes of one flow from several source ports at once, after a link has failed. Each is answered from the port that it came from, so an
 * answer shows that this port's path is whole in both directions.
 */
export class PathRace {
  readonly startedNs: Nanos
  /** The port other than the flow's own that was answered first, 0 = none, and how long that took. */
  winner = 0
  roundTripNs: Nanos = 0
  readonly #ports: readonly number[]
  readonly #headers: readonly PreparedHeaders[]
  readonly #number: number
  /** Bit i: the probe from port i has still to be sent. */
  #toSend: number

  /**
   * @param ports RACE_PORTS at most
   * @param headers of their probes
   * @param random a 32-bit whole number
   */
  constructor(now: Nanos, ports: readonly number[], headers: readonly PreparedHeaders[], random: number) {
    this.startedNs = now
    this.#ports = ports
    this.#headers = headers
    this.#number = random % RACES
    this.#toSend = 2 ** ports.length - 1
  }

  get wantsToSend(): boolean {
    return this.#toSend !== 0
  }

  /** Headers and sequence number of the next probe; there is one if `wantsToSend`. */
  get headers(): PreparedHeaders {
    return this.#headers[this.#next]!
  }

  get sequence(): number {
    return this.#number * PATHS_MAX + FIRST + this.#next
  }

  /** That probe has been sent. */
  onSent(): void {
    this.#toSend &= this.#toSend - 1
  }

  /** The source port of the probe that is answered; 0 = it is of no probe of this race. */
  portOf(sequence: number): number {
    const index = (sequence % PATHS_MAX) - FIRST
    const isOurs = Math.floor(sequence / PATHS_MAX) === this.#number && (this.#toSend & (1 << index)) === 0
    return index >= 0 && isOurs ? (this.#ports[index] ?? 0) : 0
  }

  /** A path that is not the flow's own is whole. */
  onWhole(now: Nanos, port: number): void {
    if (this.winner !== 0) return
    this.winner = port
    this.roundTripNs = now - this.startedNs
  }

  get #next(): number {
    return 31 - Math.clz32(this.#toSend & -this.#toSend)
  }
}
