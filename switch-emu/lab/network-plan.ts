/** Computes the interfaces, addresses and neighbours of a scenario's lab: the arguments of `ip`. */
import { WeirError } from '../../lib/errors.js'
import { macOf } from '../../lib/nic/config.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { tunnelBytes } from '../../lib/scenario/model/vtep.js'
import { formatMac, HostAddress } from '../../lib/wire/net/address.js'
import { linksOf } from '../node-links.js'

/** A host of a lab as its kernel sees it. */
export interface HostPlan {
  name: string
  address: string
  /** The MAC address of a Weir NIC with this address, so that frames for both reach the host. */
  mac: string
  /** Bytes of the longest IP packet on its veth pair. Behind an end of tunnels: without what the tunnel adds. */
  mtu: number
  /** The switch to which the host is linked. */
  switch: string
  /**
   * The switch's end of the host's veth pair, in the switches' namespace. The host's end is HOST_INTERFACE.
   */
  interface: string
}

/** The host's end of its veth pair, in its own namespace. */
const HOST_INTERFACE = 'eth0'
/**
 * Bytes of the largest IP packet on the veth pairs. A full packet of path MTU 4096 needs 4,308: IPv6, UDP, an
 * INT shim of 5 wide slots, BTH, RETH, ImmDt, ICRC. Frames with their Ethernet header must fit a slot of the
 * hosts' pools (SLOT_BYTES).
 */
const MTU = 4500
/**
 * The MSS that hosts advertise to TCP peers, bytes. TCP then fills Ethernet frames of 1,500 bytes, and reads
 * as fast as on Ethernet.
 */
const TCP_MSS = 1460
/** The network of scenarios' addresses. */
const NETWORK = '10.0.0.0/8'
/** Each host has a process, and an entry in the tables of every other host. */
const HOSTS_MAX = 128
/** IFNAMSIZ - 1. */
const INTERFACE_NAME_MAX = 15

/** Throws WEIR_BAD_SCENARIO for a scenario that cannot be a lab. */
export function planHosts(scenario: Scenario): HostPlan[] {
  const { hosts, file } = scenario
  if (hosts.length > HOSTS_MAX) {
    throw new WeirError(
      'WEIR_BAD_SCENARIO',
      `${file}: ${hosts.length} hosts are too many for a lab, which takes ${HOSTS_MAX}; use "weir run --on virtual"`,
    )
  }
  const switches = new Set(scenario.switches.map(({ name }) => name))
  const taken = new Set<string>(['lo'])
  return hosts.map(({ name, address }) => {
    const [link, ...others] = linksOf(scenario, name)
    if (link === undefined || others.length > 0 || !switches.has(link.peer.node)) {
      throw new WeirError(
        'WEIR_BAD_SCENARIO',
        `${file}: in a lab host ${name} needs exactly one link, to a switch`,
      )
    }
    const mac = formatMac(macOf(HostAddress.parse(address)))
    return {
      name,
      address,
      mac,
      mtu: mtuOf(scenario, name),
      switch: link.peer.node,
      interface: interfaceName(link.peer.node, name, taken),
    }
  })
}

/** A host whose own system is an end of tunnels sees the underlay. */
function mtuOf({ vtep = [] }: Scenario, host: string): number {
  const network = vtep.find(({ ends }) => ends.some(({ hosts }) => hosts.includes(host)))
  return network === undefined ? MTU : network.mtuBytes - tunnelBytes(network)
}

/** Returns `s1-h1` if that is short enough, else `veth7`. */
function interfaceName(sw: string, host: string, taken: Set<string>): string {
  const wanted = `${sw}-${host}`
  let name = wanted.length <= INTERFACE_NAME_MAX ? wanted : ''
  for (let i = 0; name === '' || taken.has(name); i++) name = `veth${i}`
  taken.add(name)
  return name
}

/**
 * Lines for `ip -batch` in the switches' namespace: a veth pair for each host, with both ends in this
 * namespace.
 */
export function pairCommands(hosts: readonly HostPlan[], hasIpv6: boolean): string[] {
  return [
    'link set lo up',
    ...hosts.map(
      ({ interface: name, mac, mtu }, i) =>
        `link add ${name} mtu ${mtu} type veth peer name ${peerName(i)} mtu ${mtu} address ${mac}`,
    ),
    ...hosts.flatMap(host => [...quiet(host.interface, hasIpv6), `link set ${host.interface} up`]),
  ]
}

/** An interface without an IPv6 address does not search for routers. */
function quiet(name: string, hasIpv6: boolean): string[] {
  return hasIpv6 ? [`link set ${name} addrgenmode none`] : []
}

/**
 * Name of the end of host `index` until it is moved. Names of `interfaceName` have no dot, so this one is
 * unique.
 */
export function peerName(index: number): string {
  return `peer.${index}`
}

/** Lines that move each host's end to its namespace. */
export function moveCommands(hosts: readonly HostPlan[], namespaceOf: (host: string) => string): string[] {
  return hosts.map(
    ({ name }, i) => `link set ${peerName(i)} netns ${namespaceOf(name)} name ${HOST_INTERFACE}`,
  )
}

/**
 * Lines for `ip -batch` in the namespace of one host. The address is a /32, so that no address of another
 * host can be its broadcast address. The route says that all hosts are on the link. Neighbours are set, so
 * that the first packet needs no ARP.
 */
export function hostCommands(host: HostPlan, hosts: readonly HostPlan[], hasIpv6: boolean): string[] {
  return [
    'link set lo up',
    ...quiet(HOST_INTERFACE, hasIpv6),
    `address add ${host.address}/32 dev ${HOST_INTERFACE}`,
    `link set ${HOST_INTERFACE} up`,
    `route add ${NETWORK} dev ${HOST_INTERFACE} scope link src ${host.address} advmss ${TCP_MSS}`,
    ...hosts
      .filter(other => other !== host)
      .map(
        ({ address, mac }) => `neighbour add ${address} lladdr ${mac} dev ${HOST_INTERFACE} nud permanent`,
      ),
  ]
}

/** The lab's /etc/hosts: its hosts first, then the machine's own. */
export function hostsFile(hosts: readonly HostPlan[], machines: string): string {
  const lines = hosts.map(({ name, address }) => `${address}\t${name}`)
  return `127.0.0.1\tlocalhost\n::1\tlocalhost\n${lines.join('\n')}\n${machines}`
}
