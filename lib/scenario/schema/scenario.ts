/** The keys of a scenario file from its root on. */
import * as z from 'zod'
import { ccSchema } from './controllers.js'
import { eventSchema } from './events.js'
import * as f from './fields.js'
import { inofSchema } from './inof.js'
import { key, mapping, part, requiredPart } from './keys.js'
import { hostSchema, linkDefaultsSchema, linkSchema, preventionSchema, routeSchema } from './network.js'
import { intSchema, pathsSchema, telemetrySchema, transportSchema, watchSchema } from './settings.js'
import { switchSchema } from './switch.js'
import { flowSchema, incastSchema, workloadSchema } from './traffic.js'
import { vtepSchema } from './vtep.js'

const NO_CHANGE = 'each key at its default'

export const scenarioSchema = mapping(
  { title: 'a scenario', about: 'The keys at the root of a file. `hosts` and `links` are required.' },
  {
    name: key(f.text, {
      description: 'Name of the scenario, and of a lab that comes from it.',
      usual: "the file's name without `.yaml`",
      example: 'dumbbell',
    }),
    link: part(linkDefaultsSchema, {
      description: 'Rate and delay of every link that does not give its own.',
      usual: NO_CHANGE,
      example: { rate: '10Gbps', delay: '1us' },
    }),
    hosts: requiredPart(
      z
        .array(z.union([f.names, hostSchema]))
        .min(1)
        .meta({ words: 'list of names, ranges and mappings' }),
      { description: 'The hosts.', example: ['h1', 'h2..h3'] },
    ),
    switches: part(
      z
        .union([
          z.record(f.names.meta({ words: 'name' }), z.union([switchSchema, z.null()])),
          z.array(f.names),
          z.null(),
        ])
        .meta({ words: 'mapping of names or ranges to settings, or list of names' }),
      {
        description: 'The switches, and their settings. Every switch has a link.',
        usual: 'no switches',
        example: { s1: { buffer: '4MB' }, s2: null },
      },
    ),
    links: requiredPart(
      z.array(z.union([linkSchema.shape.ends, linkSchema])).meta({ words: 'list of links' }),
      {
        description: 'The links. Ports count per node from 0 in the order of the links.',
        example: ['h1--s1', 'h2--s1', { ends: 's1--s2', delay: '100us' }, 's2--h3'],
      },
    ),
    vtep: part(z.union([vtepSchema, z.array(vtepSchema)]).meta({ words: 'mapping, or list of mappings' }), {
      description: 'Virtual networks: hosts reach each other through VXLAN tunnels between switches.',
      usual: 'packets travel as hosts send them',
      example: { vni: 100, ends: ['s1', 's2'] },
    }),
    routes: part(z.array(routeSchema).meta({ words: 'list of mappings' }), {
      description: 'Static routes, which override the shortest paths.',
      usual: 'shortest paths alone',
      example: [{ switch: 's1', to: 'h3', via: 's2' }],
    }),
    spanningTrees: key(f.whole(1, 64), {
      description:
        'Flows are spread over so many spanning trees of the network, each with one path between two hosts (FNCC, section 3.1), 1 to 64.',
      usual: 'flows are spread over all shortest paths',
      example: 4,
    }),
    events: part(z.array(eventSchema).meta({ words: 'list of mappings' }), {
      description: 'What happens to the network while the traffic runs: links fail, operators act.',
      usual: 'nothing',
      example: [{ at: '2ms', link: 's1--s2', down: true }],
      with: {
        switches: {
          s1: { pfc: { xoff: '500KB', watchdog: { limit: { deadlocks: 3, window: '10s' } } } },
          s2: {},
        },
      },
    }),
    reroute: key(f.duration, {
      description:
        'So long after a link went down or came up, every switch uses the shortest paths of the links that are up then, as a routing protocol would have it.',
      usual: 'routes stay',
      example: '50ms',
    }),
    deadlockPrevention: part(preventionSchema, {
      description: 'Packets on paths that can close a circle of pauses move to another priority.',
      usual: 'every packet keeps its priority',
      example: { groups: [['s1:h1', 's1:h2']], to: 4 },
    }),
    inof: part(z.union([inofSchema, z.null()]), {
      description: 'Hosts announce themselves, and hear which others are there (iNOF).',
      usual: 'they do not',
      example: { reflectors: 1 },
    }),
    cc: part(ccSchema, {
      description: 'Congestion controller of every flow that does not name its own.',
      default: 'hpcc',
      example: { name: 'hpcc', eta: 0.9 },
    }),
    transport: part(transportSchema, {
      description: 'The reliable transport.',
      usual: NO_CHANGE,
      example: { pathMtu: 4096 },
    }),
    int: part(intSchema, {
      description: 'How telemetry lies in data packets.',
      usual: NO_CHANGE,
      example: { format: 'p4-int-md' },
    }),
    telemetry: part(telemetrySchema, {
      description: 'How telemetry is collected and returned.',
      usual: NO_CHANGE,
      example: { collect: 'probe' },
    }),
    paths: part(pathsSchema, {
      description: 'Path selection and admission.',
      usual: NO_CHANGE,
      example: { count: 8, move: 'drain' },
    }),
    baseRtt: key(f.baseRtt, {
      description:
        'T, the round-trip time of the empty network: one for all flows, or each connection measures its own, with idle probes; by its first round trips where flows begin carefully.',
      default: 'measured',
      example: '8.32us',
    }),
    traffic: part(
      z
        .array(z.union([flowSchema, incastSchema, workloadSchema]))
        .meta({ words: 'list of flows, incasts and workloads' }),
      {
        description:
          'What is sent: an entry with `workload` is a workload, one with `incast` an incast, any other a flow. `weir lab up` leaves it alone.',
        usual: 'no flows',
        example: [{ from: 'h1', to: 'h3', size: '10MB' }],
      },
    ),
    watch: part(watchSchema, {
      description: 'What is sampled.',
      usual: 'nothing is sampled',
      example: { queues: ['s1:s2'], every: '10us' },
    }),
    duration: key(f.positiveDuration, {
      description: 'The run ends at this time, whether or not its flows have.',
      usual: 'the run ends with its last flow',
      example: '10ms',
    }),
    seed: key(f.whole(0, Number.MAX_SAFE_INTEGER), {
      description:
        'Seed of every random choice: workloads, marking, connection numbers, and the hash that chooses among equal paths. `weir run --seed` overrides it, but for that hash.',
      default: 1,
      example: 7,
    }),
  },
)
