import type { HostAddress } from '../../../lib/wire/net/address.js'
import type { MacAddress } from '../../../lib/wire/net/mac.js'
import * as udp from '../../../lib/wire/net/udp.js'
import { AddressTable, NONE } from '../forwarding/address-table.js'
import { addressPairHash, udpFlowHash } from '../forwarding/ecmp.js'
import { PORTS_MAX } from '../forwarding/forwarding.js'
import type { EcnMode } from './ecn-tunnel.js'
import { OuterHeaders, type TunnelEnd } from './encapsulation.js'

/** A virtual network as one of its ends knows it. */
export interface VirtualNetworkOptions {
  /** 24 bits. */
  vni: number
  ecn: EcnMode
  /** Bytes of the longest IP packet that the links between the ends take. */
  mtuBytes: number
  /** The hosts behind this end, and the port that leads to each. */
  hosts: readonly { address: HostAddress; port: number }[]
  /** The other ends, and the hosts behind each. */
  remotes: readonly { address: HostAddress; mac: MacAddress; hosts: readonly HostAddress[] }[]
}

/** Where a tunnel leads. */
export class Remote {
  readonly address: HostAddress
  readonly network: VirtualNetwork
  readonly headers: OuterHeaders
  readonly #addresses: number

  constructor(from: TunnelEnd, to: TunnelEnd, network: VirtualNetwork) {
    this.address = to.address
    this.network = network
    this.headers = new OuterHeaders(from, to, network.vni)
    this.#addresses = addressPairHash(from.address, to.address)
  }

  /** The flow hash of the packets with that source port. */
  flowHash(sourcePort: number): number {
    return udpFlowHash(this.#addresses, sourcePort, udp.PORT_VXLAN)
  }
}

/** A virtual network at one of its ends: which hosts are where. */
export class VirtualNetwork {
  readonly vni: number
  readonly ecn: EcnMode
  readonly mtuBytes: number
  /** By inner address: a port, or PORTS_MAX + number of a remote end. */
  readonly #places: AddressTable
  /** By outer address: number of the remote end. */
  readonly #ends: AddressTable

  constructor({ vni, ecn, mtuBytes, hosts }: VirtualNetworkOptions) {
    this.vni = vni
    this.ecn = ecn
    this.mtuBytes = mtuBytes
    this.#places = new AddressTable(`hosts of VNI ${vni}`)
    this.#ends = new AddressTable(`ends of VNI ${vni}`)
    for (const { address, port } of hosts) this.#places.set(address, port)
  }

  /** @param number of the end at this switch */
  addRemote(number: number, address: HostAddress, hosts: readonly HostAddress[]): void {
    this.#ends.set(address, number)
    for (const host of hosts) this.#places.set(host, PORTS_MAX + number)
  }

  /** Returns the port to the destination of an inner packet, `PORTS_MAX` + the number of the end that it is behind, or NONE. */
  placeOf(view: DataView, l3: number): number {
    return this.#places.destination(view, l3)
  }

  /** Returns the number of the end that has sent the outer packet, or NONE. */
  senderOf(view: DataView, l3: number): number {
    return this.#ends.source(view, l3)
  }
}

export { NONE, PORTS_MAX as REMOTES_FROM }
