/** `inof` of a scenario file. */
import * as z from 'zod'
import { ZONES_MAX } from '../../inof/zones.js'
import * as f from './fields.js'
import { key, mapping, part, requiredKey, requiredPart } from './keys.js'

const SECOND_NS = 1e9
const SECONDS_MAX = 65_535

const hostList = z.array(f.names).min(1).meta({ words: 'list of names and ranges' })

export const zoneSchema = mapping(
  { title: 'a zone', about: 'Hosts that hear of each other.' },
  {
    zone: requiredKey(f.whole(0, ZONES_MAX - 1), {
      description:
        'Its number. 0 is the default zone, whose members are those named here and, with `autoJoin`, the free hosts.',
      example: 7,
    }),
    hosts: requiredPart(hostList, { description: 'Its members.', example: ['h1', 'h2'] }),
  },
)

export const inofSchema = mapping(
  {
    title: 'inof',
    about:
      'Hosts announce themselves to their switch, switches tell each other by BGP, and hosts hear which members of their zones arrive, depart and fail, and which links fail.',
  },
  {
    zones: part(z.array(zoneSchema).meta({ words: 'list of zones' }), {
      description: 'Zones of their own.',
      usual: 'all hosts are in the default zone',
      example: [{ zone: 7, hosts: ['h1', 'h2'] }],
    }),
    autoJoin: key(f.yesNo, {
      description: 'Hosts that are in no zone join the default zone.',
      default: true,
      example: false,
    }),
    reflectors: key(f.whole(0, 8), {
      description: 'Route reflectors of the network. A single switch can do without.',
      default: 2,
      example: 1,
    }),
    external: key(f.yesNo, {
      description:
        'The reflectors are routers of your own, such as BIRD, in a lab: 172.30.0.1 and so on. `weir inof bird` prints their configuration. Then `delay` has no effect.',
      default: false,
      example: true,
    }),
    ttlSecurity: key(f.yesNo, {
      description:
        'Sessions with reflectors of your own take only packets that no router has forwarded (RFC 5082). Needs `external`.',
      default: false,
      example: true,
      with: { external: true },
    }),
    password: key(f.bgpPassword, {
      description:
        'Sessions with reflectors of your own are signed with MD5 (RFC 2385), where the kernel can do it. Results leave it out. Needs `external`.',
      usual: 'sessions are not signed',
      example: 'weir and dam',
      with: { external: true },
    }),
    hold: key(f.duration, {
      description: 'Hold time of BGP sessions: 0, or whole seconds from 3 on.',
      default: '3s',
      example: '9s',
    }),
    silence: key(f.positiveDuration, {
      description:
        'A switch forgets a host that has been silent for so long: whole seconds. Hosts announce themselves in a third of it.',
      default: '1s',
      example: '2s',
    }),
    delay: key(f.duration, {
      description: 'How long bytes take between a switch and a reflector. They have a network of their own.',
      default: '50us',
      example: '1ms',
    }),
    storage: part(hostList, {
      description: 'Hosts that announce themselves as hosts with storage.',
      usual: 'none',
      example: ['h1'],
    }),
    failover: key(f.yesNo, {
      description:
        'When a link between switches fails, flows that hear nothing take other paths at once, and send again what is not acknowledged.',
      default: true,
      example: false,
    }),
    as: key(f.whole(1, 0xffff_fffe), {
      description: 'Number of the autonomous system.',
      default: 65_000,
      example: 64_512,
    }),
  },
)

/** Whole seconds of a duration, or null. */
export function wholeSeconds(ns: number): number | null {
  const seconds = ns / SECOND_NS
  return Number.isInteger(seconds) && seconds <= SECONDS_MAX ? seconds : null
}
