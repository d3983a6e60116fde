/** Hosts, links and routes of a scenario file. */
import * as z from 'zod'
import { NAMES_PATTERN } from '../model/names.js'
import * as f from './fields.js'
import { key, mapping, requiredKey, requiredPart } from './keys.js'

export const linkDefaultsSchema = mapping(
  { title: 'link', about: 'Rate and delay of every link that does not give its own.' },
  {
    rate: key(f.rate, {
      description: 'Rate of a link, in each direction. The link of a host has 1Tbps at most.',
      default: '1Gbps',
      example: '10Gbps',
    }),
    delay: key(f.duration, {
      description: 'Propagation delay of a link, one way.',
      default: '10us',
      example: '1.5us',
    }),
  },
)

export const hostSchema = mapping(
  {
    title: 'a host',
    about: 'An item of `hosts` is a name (`h1`), a range of names (`h1..h16`), or a mapping with these keys.',
  },
  {
    name: requiredKey(f.names, { description: 'Name of the host.', example: 'h1' }),
    address: key(f.address, {
      description: 'IPv4 address of the host. It belongs to one host, so `name` is no range.',
      usual: '`10.0.0.1`, `10.0.0.2` … in the order of the hosts, those that are taken left out',
      example: '10.0.0.9',
    }),
  },
)

export const linkSchema = mapping(
  {
    title: 'a link',
    about:
      'An item of `links` is text such as `h1--s1`, or a mapping with these keys. A range stands for all its names: `h1..h4--s1` are four links. A host has one link, to a switch or (in virtual time) to another host.',
  },
  {
    ends: requiredKey(
      f.written('two names or ranges, joined by `--`', `^${NAMES_PATTERN}--${NAMES_PATTERN}$`),
      {
        description:
          'The nodes that the link joins. Every name on the left is joined with every name on the right.',
        example: 's1--s2',
      },
    ),
    rate: key(f.rate, {
      description: 'Rate of the link, in each direction.',
      usual: '`link.rate`',
      example: '100Gbps',
    }),
    delay: key(f.duration, {
      description: 'Propagation delay, one way.',
      usual: '`link.delay`',
      example: '100us',
    }),
    count: key(f.whole(1, 64), {
      description:
        'Parallel links between the same two switches. The flow hash spreads the flows over them; `s1:s2#0`, `s1:s2#1` … are their ports.',
      default: 1,
      example: 2,
    }),
  },
)

const PEER = '^(?:[0-9]+|[A-Za-z][A-Za-z0-9_-]*)(?:#[0-9]+)?$'

export const routeSchema = mapping(
  {
    title: 'a route',
    about:
      'A static route overrides the shortest path at one switch: for good, or for a while, as when routing converges and a forwarding loop stands for some time.',
    json: { dependentRequired: { duration: ['start'] } },
  },
  {
    switch: requiredKey(f.text, { description: 'The switch that the route is for.', example: 's1' }),
    to: requiredKey(f.names, {
      description:
        'The host that packets go to, or a range of hosts. For hosts behind an end of tunnels: the switch that is the end.',
      example: 'h3',
    }),
    via: requiredPart(
      z
        .union([f.written('neighbour', PEER), f.whole(0, 255)])
        .meta({ words: 'neighbour (`s2`, `s2#1`), or number of a port' }),
      {
        description:
          'Where the switch sends the packets: to another switch, or to the host itself. `s2` stands for all parallel links to it, `s2#1` for the second of them.',
        example: 's2',
      },
    ),
    start: key(f.duration, {
      description: 'When the route begins to hold, from the start of the traffic.',
      usual: 'the route holds from the very beginning',
      example: '100ms',
    }),
    duration: key(f.positiveDuration, {
      description: 'For how long it holds. It needs `start`.',
      usual: 'to the end of the run',
      example: '200ms',
      with: { start: '100ms' },
    }),
  },
)

/** A port of a switch in a scenario file. */
export const portSchema = f.written(
  'port (`s1:s2`, `s1:s2#1`, `s1:0`)',
  '^[A-Za-z][A-Za-z0-9_-]*:(?:[0-9]+|[A-Za-z][A-Za-z0-9_-]*)(?:#[0-9]+)?$',
)

export const preventionSchema = mapping(
  {
    title: 'deadlockPrevention',
    about:
      'Packets that come in and go out by ports of one group move to another priority: the ring ports of a switch, the uplinks of a leaf.',
  },
  {
    groups: requiredPart(
      z.array(z.array(portSchema).min(1)).min(1).meta({ words: 'list of lists of ports' }),
      {
        description: 'Groups of ports, each of one switch; at most 31 a switch.',
        example: [['s1:h1', 's1:h2']],
      },
    ),
    from: key(f.whole(0, 7), {
      description: 'Priority of the packets that are looked at.',
      default: 3,
      example: 3,
    }),
    to: requiredKey(f.whole(0, 7), {
      description:
        'Priority that they move to. A lossy one pauses nobody any more; a lossless one loses nothing.',
      example: 4,
    }),
    dscp: key(f.whole(0, 63), {
      description: 'DSCP that packets get as they move. The switches must map it to `to`.',
      usual: '8 x `to`, or the lowest DSCP that the switch maps to `to`',
      example: 33,
    }),
  },
)
