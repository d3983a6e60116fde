/** The configuration of BIRD as a reflector of iNOF in a lab: clients, and zones as static routes. */
import { zoneRoutes } from '../../lib/inof/routes.js'
import { printable } from '../../lib/printable.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { prefixAddress } from '../../lib/wire/bgp/prefix.js'
import { formatIpv4, HostAddress } from '../../lib/wire/net/address.js'
import {
  CLUSTER_ID,
  OUTSIDE_DEVICE,
  RESTART_SECONDS,
  reflectorAddresses,
  switchAddress,
  zonesOf,
} from './inof-network.js'

/** @param index of the reflector, from 0 */
export function birdConfig(scenario: Scenario, index: number): string {
  const { as, reflectors, holdSeconds, autoJoin, ttlSecurity, password } = scenario.inof!
  const address = reflectorAddresses(reflectors)[index]!
  const hosts = new Map(scenario.hosts.map(host => [host.name, HostAddress.parse(host.address).ipv4]))
  const routes = zonesOf(scenario.inof!).flatMap(({ zone, hosts: names }) =>
    zoneRoutes(
      as,
      zone,
      names.map(name => hosts.get(name)!),
      autoJoin,
    ),
  )
  const zones = routes.map(({ prefix, largeCommunities }) => {
    const adds = largeCommunities.map(
      ({ global, local1, local2 }) => `    bgp_large_community.add((${global}, ${local1}, ${local2}));\n`,
    )
    return `  route ${formatIpv4(prefixAddress(prefix))}/32 blackhole {\n${adds.join('')}  };\n`
  })
  // In quotes a symbol may have hyphens. A bare name may be a word of BIRD's language.
  const clients = scenario.switches.map(
    ({ name, id }) =>
      `protocol bgp 'client-${name}' from inof_switch { neighbor ${switchAddress(id)} as ${as}; }\n`,
  )
  const protection = `${ttlSecurity ? '  ttl security on;\n' : ''}${password === undefined ? '' : `  password "${password}";\n`}`
  return `# Reflector ${index + 1} of ${reflectors} of ${printable(scenario.name)}, for BIRD 2.
log stderr { warning, error, fatal, bug, auth };
router id ${address};
protocol device {}
protocol direct { ipv4; interface "${OUTSIDE_DEVICE}"; }
# Zones: ${as}:16:ADDRESS is a member, ${as}:17:1 lets free hosts join the default zone.
protocol static zones {
  ipv4;
${zones.join('')}}
template bgp inof_switch {
  local ${address} as ${as};
  strict bind on;
  passive on;
  hold time ${holdSeconds};
  multihop 2;
${protection}  rr client;
  rr cluster id ${formatIpv4(CLUSTER_ID)};
  graceful restart on;
  graceful restart time ${RESTART_SECONDS};
  ipv4 { import all; export where source ~ [RTS_BGP, RTS_STATIC]; };
}
${clients.join('')}`
}
