import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { HostAddress } from '../../../lib/wire/net/address.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import { AddressTable, NONE } from './address-table.js'
import { BUCKETS, bucketOf, flowHash, spreadBuckets } from './ecmp.js'

/** Ports are stored as bytes. */
export const PORTS_MAX = 256

const NO_GROUP = NONE
const SEVERAL_PORTS = -1

/**
 * The forwarding table of a switch: an exact-match table of hosts (IPv4 and IPv6). Each host has a group of
 * egress ports on shortest paths. A group has one port per bucket of the flow hash. Lookups allocate nothing.
 */
export class ForwardingTable {
  readonly #groups = new AddressTable('forwarding table')
  #groupBuckets = new Uint8Array(8 * BUCKETS)
  /** The only port of a group, or SEVERAL_PORTS. */
  readonly #groupPort: number[] = []
  /** By group: 1 for each port that it has. */
  readonly #groupMembers: Uint8Array[] = []
  readonly #groupByContent = new Map<string, number>()

  /**
   * Routes `address` to all of `ports`. The flow hash distributes flows evenly; the seed decides which flow
   * takes which port.
   */
  set(address: HostAddress, ports: readonly number[], seed = 0): void {
    if (ports.length < 1 || ports.some(p => !Number.isInteger(p) || p < 0 || p >= PORTS_MAX)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `route to ${address}: ports are 1 or more numbers from 0 to ${PORTS_MAX - 1}, not [${ports.join(', ')}]`,
      )
    }
    this.setBuckets(address, spreadBuckets(ports, seed))
  }

  /** Routes `address` to the port of each flow's bucket. */
  setBuckets(address: HostAddress, ports: Uint8Array): void {
    if (ports.length !== BUCKETS) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `route to ${address}: ${BUCKETS} buckets, not ${ports.length}`)
    }
    this.#groups.set(address, this.#groupOf(ports))
  }

  /** Returns the port of each bucket for `address`, or null if there is no route. */
  buckets(address: HostAddress): Uint8Array | null {
    const group = this.#groups.get(address)
    return group === NO_GROUP ? null : this.#groupBuckets.slice(group * BUCKETS, (group + 1) * BUCKETS)
  }

  /** Number of hosts with a route. */
  get size(): number {
    return this.#groups.size
  }

  /**
   * Returns the egress port of a frame whose IP header has been found, or -1 if there is no route to its
   * destination.
   */
  egressPort(frame: Frame): number {
    const group = this.#groupTo(frame)
    if (group === NO_GROUP) return -1
    const only = this.#groupPort[group]!
    if (only !== SEVERAL_PORTS) return only
    if (frame.flowHash < 0) frame.flowHash = flowHash(frame.view, frame.length, frame.l3, frame.l4)
    return this.#groupBuckets[group * BUCKETS + bucketOf(frame.flowHash)]!
  }

  /** Returns the group of the destination, or NO_GROUP. */
  #groupTo(frame: Frame): number {
    if (frame.destination === 0) {
      const { view, l3 } = frame
      if (ipv4.version(view, l3) !== 4) return this.#groups.destination(view, l3)
      frame.destination = ipv4.destination(view, l3) | 0
    }
    return this.#groups.ofIpv4(frame.destination >>> 0)
  }

  /** Returns true if `port` is one of those by which the source of a frame is reached. Its IP header has been found. */
  isOnWayBack({ view, l3 }: Frame, port: number): boolean {
    const group = this.#groups.source(view, l3)
    return group !== NO_GROUP && this.#groupMembers[group]![port] === 1
  }

  /** Returns the egress port of the flow with that hash to `address`, or -1 if there is no route. */
  portTo(address: HostAddress, hash: number): number {
    const group = this.#groups.get(address)
    if (group === NO_GROUP) return -1
    const only = this.#groupPort[group]!
    return only === SEVERAL_PORTS ? this.#groupBuckets[group * BUCKETS + bucketOf(hash)]! : only
  }

  /** Returns the group with exactly these ports. Hosts with the same ports share one. */
  #groupOf(ports: Uint8Array): number {
    const content = Buffer.from(ports).toString('latin1')
    const known = this.#groupByContent.get(content)
    if (known !== undefined) return known
    const group = this.#groupPort.length
    if ((group + 1) * BUCKETS > this.#groupBuckets.length) {
      const grown = new Uint8Array(this.#groupBuckets.length * 2)
      grown.set(this.#groupBuckets)
      this.#groupBuckets = grown
    }
    this.#groupBuckets.set(ports, group * BUCKETS)
    const members = new Uint8Array(PORTS_MAX)
    let only: number = ports[0]!
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const port = ports[bucket]!
      members[port] = 1
      if (port !== only) only = SEVERAL_PORTS
    }
    this.#groupPort.push(only)
    this.#groupMembers.push(members)
    this.#groupByContent.set(content, group)
    return group
  }
}
