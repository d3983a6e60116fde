/** Virtual networks of a scenario: which hosts are behind which end of VXLAN tunnels (RFC 7348), and what the tunnels cost. */
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'
import * as vxlan from '../../wire/net/vxlan.js'

/** A virtual network. Its hosts reach each other, through tunnels between its ends, and nobody else. */
export interface VtepNetwork {
  /** 24 bits, unique. */
  vni: number
  /** The outer ECN field: as the inner one (default), or Not-ECT. */
  ecn: 'normal' | 'compatibility'
  /** Bytes of the longest IP packet that the links between the ends take. Default 4500, as in labs. */
  mtuBytes: number
  ends: VtepEnd[]
}

/** An end of tunnels. */
export interface VtepEnd {
  /** A switch, or a host whose own system is the end. */
  node: string
  /** Default: 10.254.x.y of a switch, whose last two bytes are its id. Of a host: its own. */
  address: string
  /** Hosts of the scenario behind a switch. */
  hosts: string[]
  /** What is behind a host. */
  inner: { address: string; mac: string }[]
}

/** Bytes that a tunnel adds to an IP packet: the inner Ethernet header, VXLAN, UDP, and the outer IP. 50 over IPv4, 70 over IPv6. */
export function tunnelBytes({ ends }: Pick<VtepNetwork, 'ends'>): number {
  const isV6 = ends.some(({ address }) => address.includes(':'))
  return (isV6 ? ipv6.BYTES : ipv4.BYTES) + udp.BYTES + vxlan.BYTES + ethernet.BYTES
}

/** The most that a tunnel of the scenario adds. 0 if it has none. */
export function tunnelBytesMost({ vtep = [] }: { vtep?: readonly VtepNetwork[] }): number {
  return vtep.reduce((most, network) => Math.max(most, tunnelBytes(network)), 0)
}

/** What is added to packets from one host to another between their switches. 0 if they take no tunnel. */
export function tunnelBytesBetween(
  { vtep = [] }: { vtep?: readonly VtepNetwork[] },
  from: string,
  to: string,
): number {
  const network = vtep.find(({ ends }) => ends.some(({ hosts }) => hosts.includes(from)))
  const end = network?.ends.find(({ hosts }) => hosts.includes(from))
  return network === undefined || end!.hosts.includes(to) ? 0 : tunnelBytes(network)
}

/** The hosts behind the ends of all virtual networks, with their VNI. */
export function vniOfHosts(networks: readonly VtepNetwork[]): Map<string, number> {
  return new Map(
    networks.flatMap(({ vni, ends }) =>
      ends.flatMap(({ hosts }) => hosts.map(host => [host, vni] as [string, number])),
    ),
  )
}
