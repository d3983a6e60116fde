/** Speakers of one system in virtual time. */
import { Speaker, type SpeakerOptions } from '../../lib/bgp/speaker.js'
import { StreamNetwork } from '../../lib/bgp/stream-network.js'
import type { Nanos } from '../../lib/time/nanos.js'
import type { PathAttributes } from '../../lib/wire/bgp/attributes.js'
import { HostAddress } from '../../lib/wire/net/address.js'

export const MS: Nanos = 1_000_000
export const SECOND: Nanos = 1_000_000_000

type Given = Omit<SpeakerOptions, 'as' | 'identifier' | 'random'> & { as?: number; identifier?: number }

export class BgpNet {
  now: Nanos = 0
  readonly network: StreamNetwork
  readonly speakers = new Map<string, Speaker>()
  /** By speaker: its best routes, as `routeChanged` reported them. */
  readonly known = new Map<string, Map<number, PathAttributes>>()
  /** Pairs of addresses, in either order, between which nothing arrives. */
  readonly cuts = new Set<string>()

  constructor(delayNs: Nanos = MS) {
    this.network = new StreamNetwork((a, b) => (this.cuts.has(`${a} ${b}`) ? null : delayNs))
  }

  add(address: string, options: Given): Speaker {
    const known = new Map<number, PathAttributes>()
    const speaker: Speaker = new Speaker(
      { as: 65_000, identifier: HostAddress.parse(address).ipv4, random: () => 0.5, ...options },
      {
        connect: (now, neighbour) => this.network.connect(now, address, neighbour),
        routeChanged: (_now, prefix, attributes) => {
          if (attributes === null) known.delete(prefix)
          else known.set(prefix, attributes)
        },
      },
    )
    this.network.add(address, speaker)
    this.speakers.set(address, speaker)
    this.known.set(address, known)
    speaker.start(this.now)
    return speaker
  }

  cut(a: string, b: string): void {
    this.cuts.add(`${a} ${b}`).add(`${b} ${a}`)
  }

  mend(a: string, b: string): void {
    this.cuts.delete(`${a} ${b}`)
    this.cuts.delete(`${b} ${a}`)
  }

  runFor(ns: Nanos): void {
    const until = this.now + ns
    for (let at = this.network.nextTimeout(); at <= until; at = this.network.nextTimeout()) {
      this.now = Math.max(this.now, at)
      this.network.onTimeout(this.now)
    }
    this.now = until
  }

  state(address: string, neighbour = 0): string {
    return this.speakers.get(address)!.status()[neighbour]!.state
  }

  prefixes(address: string): number[] {
    return [...this.known.get(address)!.keys()].sort((a, b) => a - b)
  }
}
