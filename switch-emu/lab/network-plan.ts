/** From a scenario to the interfaces, addresses and neighbours of its lab: the arguments of `ip`, worked out beforehand. */
import { WeirError } from '../../lib/errors.js'
import { macOf } from '../../lib/nic/config.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { formatMac, HostAddress } from '../../lib/wire/net/address.js'
import { linksOf } from '../node-links.js'

/** A host of a lab as its kernel sees it. */
export interface HostPlan {
  name: string
  address: string
  /** That of a Weir NIC of this address, so that frames of both find the host. */
  mac: string
  /** The switch that the host is linked to. */
  switch: string
  /** The switch's end of the host's veth pair, in the switches' namespace. The host's end is HOST_INTERFACE. */
  interface: string
}

/** The host's end of its veth pair, in its own namespace. */
const HOST_INTERFACE = 'eth0'
/**
 * Bytes of the largest IP packet on the veth pairs. A full packet of path MTU 4096 needs 4,308: IPv6, UDP, an INT shim
 * of 5 wide slots, BTH, RETH, ImmDt, ICRC. Frames with their Ethernet header must fit a slot of the hosts' pools
 * (SLOT_BYTES).
 */
const MTU = 4500
/** What hosts advertise to TCP peers, bytes: TCP then fills frames of Ethernet's 1,500 bytes, and reads as fast as there. */
const TCP_MSS = 1460
/** Addresses of scenarios lie here. */
const NETWORK = '10.0.0.0/8'
/** Each host has a process of its own, and an entry in the tables of every other one. */
const HOSTS_MAX = 128
/** IFNAMSIZ - 1. */
const INTERFACE_NAME_MAX = 15

/** Throws WEIR_BAD_SCENARIO for what cannot be a lab. */
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
      switch: link.peer.node,
      interface: interfaceName(link.peer.node, name, taken),
    }
  })
}

/** `s1-h1` where that is short enough, else `veth7`. */
function interfaceName(sw: string, host: string, taken: Set<string>): string {
  const wanted = `${sw}-${host}`
  let name = wanted.length <= INTERFACE_NAME_MAX ? wanted : ''
  for (let i = 0; name === '' || taken.has(name); i++) name = `veth${i}`
  taken.add(name)
  return name
}

/** Lines for `ip -batch` in the switches' namespace: a veth pair for each host, both ends still here. */
export function pairCommands(hosts: readonly HostPlan[], hasIpv6: boolean): string[] {
  return [
    'link set lo up',
    ...hosts.map(
      ({ interface: name, mac }, i) =>
        `link add ${name} mtu ${MTU} type veth peer name ${peerName(i)} mtu ${MTU} address ${mac}`,
    ),
    ...hosts.flatMap(host => [...quiet(host.interface, hasIpv6), `link set ${host.interface} up`]),
  ]
}

/** Without an IPv6 address of its own an interface asks for no routers. */
function quiet(name: string, hasIpv6: boolean): string[] {
  return hasIpv6 ? [`link set ${name} addrgenmode none`] : []
}

/** Name of the end of host `index` until it is moved: no interface name of `interfaceName` has a dot. */
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
 * Lines for `ip -batch` in the namespace of one host. The address has no network of its own (/32), so that no
 * address of another host can be its broadcast address; the route says that all are on the link. Neighbours are
 * known, so that the first packet needs no ARP.
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
