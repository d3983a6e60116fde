import { macOf } from '../../lib/nic/config.js'
import type { Scenario, ScenarioSwitch } from '../../lib/scenario/model/scenario.js'
import { tunnelBytes, type VtepNetwork } from '../../lib/scenario/model/vtep.js'
import { HostAddress, parseMac } from '../../lib/wire/net/address.js'
import type { FeatureOptions } from '../core/catalogue.js'
import type { VirtualNetworkOptions } from '../core/vxlan/virtual-network.js'

type Network = Pick<Scenario, 'hosts' | 'links' | 'vtep'>

/** Returns the options of a switch that is an end of tunnels. */
export function vtepOptions(scenario: Network, { name }: ScenarioSwitch): Pick<FeatureOptions, 'vtep'> {
  const networks = networksOf(scenario, name)
  if (networks.length === 0) return {}
  const address = HostAddress.parse(networks[0]!.ends.find(({ node }) => node === name)!.address)
  return {
    vtep: {
      address,
      mac: macOf(address),
      networks: networks.map(network => networkAt(scenario, network, name)),
    },
  }
}

/** Bytes that the tunnels of a switch leave for packets of hosts. Infinity: it is no end. */
export function innerMtuBytes(scenario: Pick<Scenario, 'vtep'>, name: string): number {
  return networksOf(scenario, name).reduce(
    (least, network) => Math.min(least, network.mtuBytes - tunnelBytes(network)),
    Number.POSITIVE_INFINITY,
  )
}

function networksOf({ vtep = [] }: Pick<Scenario, 'vtep'>, name: string): VtepNetwork[] {
  return vtep.filter(({ ends }) => ends.some(({ node }) => node === name))
}

function networkAt(scenario: Network, network: VtepNetwork, name: string): VirtualNetworkOptions {
  const { vni, ecn, mtuBytes, ends } = network
  const own = ends.find(({ node }) => node === name)!
  const addressOf = (host: string) =>
    HostAddress.parse(scenario.hosts.find(one => one.name === host)!.address)
  return {
    vni,
    ecn,
    mtuBytes,
    hosts: own.hosts.map(host => ({ address: addressOf(host), port: portTo(scenario, name, host) })),
    remotes: ends
      .filter(end => end !== own)
      .map(({ address: text, hosts, inner }) => {
        const address = HostAddress.parse(text)
        const behind = [...hosts.map(addressOf), ...inner.map(one => HostAddress.parse(one.address))]
        return { address, mac: macOf(address), hosts: behind }
      }),
  }
}

function portTo({ links }: Network, name: string, host: string): number {
  const link = links.find(
    ({ a, b }) => (a.node === name && b.node === host) || (b.node === name && a.node === host),
  )!
  return link.a.node === name ? link.a.port : link.b.port
}

/** The addresses for which switches answer that belong to no host of the scenario: ends, and what is behind hosts. */
export function tunnelAddresses({
  vtep = [],
}: Pick<Scenario, 'vtep'>): { address: HostAddress; mac: number }[] {
  return vtep.flatMap(({ ends }) =>
    ends.flatMap(({ address: text, inner }) => {
      const address = HostAddress.parse(text)
      const behind = inner.map(one => ({ address: HostAddress.parse(one.address), mac: parseMac(one.mac) }))
      return [{ address, mac: macOf(address) }, ...behind]
    }),
  )
}
