/** Packets that were dropped, by the host that sent them and by reason: so that a connect that fails can say what has arrived. */
import type { Frame } from '../../frame/frame.js'
import type { HostAddress } from '../../wire/net/address.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'

/** What was wrong, after a number of packets of a host; the counter of it has the same name. */
const WORDS = {
  badIcrc: 'had wrong ICRCs',
  malformed: 'were no sound RoCEv2 packets',
  notForUs: 'were for another address',
  unknownQpn: 'were for a queue pair that does not exist',
  wrongSource: "came from another UDP port than the peer's",
} as const
export type RxDropReason = keyof typeof WORDS
const REASONS = Object.keys(WORDS) as RxDropReason[]

/** Hosts that are remembered, a power of two. One takes the place of another: whoever forges addresses costs no memory. */
const HOSTS = 64
const WORDS_OF_ADDRESS = 4
/** The third word of an IPv4 address in a GID, ::ffff:a.b.c.d. */
const MAPPED = 0xffff

/** Nothing is allocated for a packet. */
export class RefusedPackets {
  readonly #address = new Uint32Array(HOSTS * WORDS_OF_ADDRESS)
  readonly #counts = new Uint32Array(HOSTS * REASONS.length)
  readonly #words = new Uint32Array(WORDS_OF_ADDRESS)

  /** The frame has its `l3`. */
  note({ view, l3 }: Frame, reason: RxDropReason): void {
    const words = this.#words
    if (ipv4.version(view, l3) === 4) {
      words[0] = words[1] = 0
      words[2] = MAPPED
      words[3] = ipv4.source(view, l3)
    } else {
      for (let i = 0; i < WORDS_OF_ADDRESS; i++) words[i] = ipv6.sourceWord(view, l3, i)
    }
    const host = this.#slot()
    if (!this.#has(host)) this.#replace(host)
    this.#counts[host * REASONS.length + REASONS.indexOf(reason)]!++
  }

  /** Packets of that host that have been dropped, in the order of the reasons. */
  of(address: HostAddress): readonly number[] {
    const view = new DataView(address.gid.buffer, address.gid.byteOffset)
    for (let i = 0; i < WORDS_OF_ADDRESS; i++) this.#words[i] = view.getUint32(4 * i)
    const host = this.#slot()
    if (!this.#has(host)) return REASONS.map(() => 0)
    return [...this.#counts.subarray(host * REASONS.length, (host + 1) * REASONS.length)]
  }

  /** "12 packets of 10.0.0.1 had wrong ICRCs": what has been dropped since `before`, which `of` gave; '' = nothing. */
  since(before: readonly number[], address: HostAddress): string {
    const texts: string[] = []
    for (const [i, count] of this.of(address).entries()) {
      // Fewer than before: another host had the place in between.
      const more = count >= before[i]! ? count - before[i]! : count
      if (more > 0)
        texts.push(`${more} ${more === 1 ? 'packet' : 'packets'} of ${address} ${WORDS[REASONS[i]!]}`)
    }
    return texts.join(', ')
  }

  #slot(): number {
    let sum = 0
    for (let i = 0; i < WORDS_OF_ADDRESS; i++) sum ^= this.#words[i]!
    return (Math.imul(sum, 0x9e37_79b1) >>> 16) % HOSTS
  }

  #has(host: number): boolean {
    for (let i = 0; i < WORDS_OF_ADDRESS; i++)
      if (this.#address[host * WORDS_OF_ADDRESS + i] !== this.#words[i]) return false
    return true
  }

  #replace(host: number): void {
    this.#address.set(this.#words, host * WORDS_OF_ADDRESS)
    this.#counts.fill(0, host * REASONS.length, (host + 1) * REASONS.length)
  }
}
