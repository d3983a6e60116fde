/** Settings of a switch. In brackets SONiC's name for one. */
import * as z from 'zod'
import { RESERVED_ID_FIRST } from '../../wire/hop-records.js'
import * as f from './fields.js'
import { key, mapping, part, requiredKey } from './keys.js'

const WEIGHT_MAX = 100

const priorities = z.array(f.whole(0, 7)).min(1).meta({ words: 'list of priorities, 0 to 7' })

export const ecnSchema = mapping(
  {
    title: 'ecn',
    about:
      'Marking of egress queues [WRED_PROFILE]. Packets that are not ECN-capable are dropped instead of marked, except from lossless queues. A list of such mappings marks each priority its own way.',
  },
  {
    kmin: requiredKey(f.bytes, {
      description: 'Up to this queue nothing is marked [green_min_threshold].',
      example: '100KB',
    }),
    kmax: requiredKey(f.bytes, {
      description: 'Above this queue everything is marked [green_max_threshold].',
      example: '400KB',
    }),
    pmax: key(f.fraction, {
      description: 'Probability of a mark as the queue nears `kmax` [green_drop_probability].',
      default: 0.2,
      example: '1%',
    }),
    at: key(f.oneOf(['enqueue', 'dequeue']), {
      description: 'Packets are marked as they enter the queue, or as they leave it (Fast ECN).',
      default: 'enqueue',
      example: 'dequeue',
    }),
    priorities: key(priorities, {
      description: 'Priorities whose queues are marked.',
      default: [0, 1, 2, 3, 4, 5, 6, 7],
      example: [3],
    }),
  },
)

const limitSchema = mapping(
  { title: 'limit' },
  {
    deadlocks: requiredKey(f.whole(1, 500), {
      description: 'So many deadlocks of one queue within the window turn PFC off for its port and priority.',
      example: 3,
    }),
    window: requiredKey(f.positiveDuration, { description: 'The window.', example: '10s' }),
  },
)

export const watchdogSchema = mapping(
  {
    title: 'a watchdog',
    about: "Detection and clearance of PFC deadlocks. The names are those of SONiC's `pfcwd`.",
  },
  {
    detectionTime: key(f.positiveDuration, {
      description: 'A queue that its peer keeps paused for so long without a gap is deadlocked.',
      default: '200ms',
      example: '100ms',
    }),
    restorationTime: key(f.positiveDuration, {
      description: 'For how long the queue then ignores pauses.',
      default: '200ms',
      example: '400ms',
    }),
    action: key(f.oneOf(['drop', 'forward', 'alert']), {
      description:
        'What happens to a deadlocked queue: its packets are dropped, or sent as if nothing were paused, or nothing is done.',
      default: 'drop',
      example: 'forward',
    }),
    limit: part(limitSchema, {
      description:
        'When the watchdog turns PFC off, until an event (`pfcOn`) or `weir lab pfc` restores it. Not with `action: alert`.',
      usual: 'never',
      example: { deadlocks: 3, window: '10s' },
    }),
  },
)

export { limitSchema }

export const pfcSchema = mapping(
  {
    title: 'pfc',
    about:
      'Priority flow control (802.1Qbb). Give `xoff` or `alpha`. `pfc: off` is the default: a full buffer drops.',
    json: { oneOf: [{ required: ['xoff'] }, { required: ['alpha'] }] },
  },
  {
    xoff: key(f.positiveBytes, {
      description:
        'Bytes that came in by one port with one priority and have not left; above it the peer is paused [static_th].',
      usual: '`alpha` is the threshold',
      example: '500KB',
    }),
    alpha: key(f.between(1 / 1024, 128), {
      description:
        'Instead of `xoff`: the threshold is this times the shared memory that is free [dynamic_th, its logarithm to base 2].',
      usual: '`xoff` is the threshold',
      example: 1,
    }),
    xon: key(f.bytes, {
      description: 'At so many bytes the peer may go on [xon].',
      usual: '80 % of `xoff`; none with `alpha`',
      example: '300KB',
      with: { xoff: '500KB' },
    }),
    xonOffset: key(f.bytes, {
      description: 'The peer may go on at so many bytes below the threshold [xon_offset].',
      usual: '2288B with `alpha`; none with `xoff`',
      example: '4KB',
      with: { alpha: 1 },
    }),
    reserved: key(f.bytes, {
      description: 'Memory that each port and lossless priority has for itself [size].',
      default: 0,
      example: '4KB',
      with: { xoff: '500KB' },
    }),
    headroom: key(f.bytes, {
      description:
        'Room of each port and lossless priority for what still arrives after a pause [xoff of a buffer profile].',
      usual: 'what the link can bring: 2 x delay x rate + 3 frames + 60B',
      example: '50KB',
      with: { xoff: '500KB' },
    }),
    quanta: key(f.whole(1, 65_535), {
      description:
        'Length of a pause, in 512 bit times. A pause is repeated at half time while it is needed.',
      default: 65_535,
      example: 1000,
      with: { xoff: '500KB' },
    }),
    priorities: key(priorities, {
      description: 'Lossless priorities [pfc_enable].',
      default: [3],
      example: [3, 4],
      with: { xoff: '500KB' },
    }),
    watchdog: part(watchdogSchema, {
      description: 'Detection of deadlocks.',
      usual: 'nothing is detected',
      example: { detectionTime: '200ms', action: 'drop' },
      with: { xoff: '500KB' },
    }),
  },
)

export const directSchema = mapping(
  {
    title: 'direct',
    about: 'Telemetry that a congested switch sends by itself (draft-pan-tsvwg-hpccplus-01, section 6.3).',
  },
  {
    threshold: requiredKey(f.positiveBytes, {
      description: 'A packet that finds so much in its egress queue, itself included, is answered.',
      example: '50KB',
    }),
    interval: key(f.positiveDuration, {
      description: 'A flow is answered once in this time at most.',
      default: '10us',
      example: '20us',
    }),
    to: key(f.oneOf(['sender', 'receiver']), {
      description: 'Who gets the direct responses.',
      usual: '`receiver` if the controller of the scenario works there, else `sender`',
      example: 'sender',
    }),
    of: key(f.oneOf(['all', 'subscribed']), {
      description: 'All packets that collect telemetry, or only those that ask (`telemetry.subscribe`).',
      default: 'all',
      example: 'subscribed',
    }),
  },
)

export const switchTelemetrySchema = mapping(
  { title: 'telemetry of a switch', about: 'What the switch writes about its load.' },
  {
    queue: key(f.oneOf(['port', 'own', 'sojourn']), {
      description:
        "The queue length that is written: of the whole port, of the packet's own queue, or the packet's time in the switch as the bytes that the link sends in that time.",
      default: 'port',
      example: 'sojourn',
    }),
    rate: key(f.oneOf(['link', 'share']), {
      description:
        "The rate that is written: the link's, or what `scheduler` guarantees the packet's priority, with the bytes and the queue of that priority alone.",
      default: 'link',
      example: 'share',
    }),
    ratioOnly: key(f.yesNo, {
      description:
        'Every link is described as if it had 100 Gbit/s, bytes and queue scaled, for paths across operators.',
      default: false,
      example: true,
    }),
    direct: part(directSchema, {
      description: 'The switch answers senders or receivers by itself.',
      usual: 'the switch sends nothing by itself',
      example: { threshold: '50KB' },
    }),
  },
)

const PRIORITY_KEY = z.string().meta({ pattern: '^[0-7]$' })

export const switchSchema = mapping(
  {
    title: 'a switch',
    about:
      '`switches` is a mapping of names, or ranges of names, to these keys, or a list of names (`[s1, s2]`). Everything has one of eight priorities, 0 to 7, which is traffic class, queue and priority group in one; a higher one is served first. Every switch has a link.',
  },
  {
    id: key(f.whole(1, RESERVED_ID_FIRST - 1), {
      description: 'What the switch writes into telemetry, unique among the switches.',
      usual: '1, 2 … in the order of the switches, those that are taken left out',
      example: 7,
    }),
    buffer: key(f.positiveBytes, {
      description: 'Packet memory that all ports share.',
      default: '32MB',
      example: '4MB',
    }),
    queueBytesMax: key(f.positiveBytes, {
      description: 'Bytes that may wait in one lossy egress queue.',
      usual: 'the whole buffer',
      example: '1MB',
    }),
    ecn: part(z.union([ecnSchema, z.array(ecnSchema)]).meta({ words: 'mapping, or list of mappings' }), {
      description: 'Marking of egress queues.',
      usual: 'nothing is marked',
      example: { kmin: '100KB', kmax: '400KB' },
    }),
    pfc: part(z.union([pfcSchema, z.literal('off'), z.literal(false)]).meta({ words: 'mapping, or `off`' }), {
      description: 'Priority flow control.',
      default: 'off',
      example: { xoff: '500KB' },
    }),
    dscpToTc: part(
      z
        .record(z.string().meta({ pattern: '^0*(?:[0-9]|[1-5][0-9]|6[0-3])$' }), f.whole(0, 7))
        .meta({ words: 'mapping of DSCP (0 to 63) to priority (0 to 7)' }),
      {
        description: 'Priority by DSCP [DSCP_TO_TC_MAP]. A DSCP that the map does not name has priority 0.',
        usual: 'DSCP / 8, the class selectors',
        example: { 26: 3, 48: 6 },
      },
    ),
    pcpToTc: part(
      z.record(PRIORITY_KEY, f.whole(0, 7)).meta({ words: 'mapping of PCP (0 to 7) to priority (0 to 7)' }),
      {
        description:
          'Priority by the PCP of the VLAN tag [DOT1P_TO_TC_MAP]. A PCP that the map does not name has priority 0.',
        usual: 'the DSCP decides',
        example: { 3: 3, 5: 5 },
      },
    ),
    scheduler: part(
      z
        .union([
          z.literal('strict'),
          z.record(PRIORITY_KEY, z.union([f.whole(1, WEIGHT_MAX), z.literal('strict')])),
        ])
        .meta({ words: `\`strict\`, or mapping of priority to weight (1 to ${WEIGHT_MAX}) or \`strict\`` }),
      {
        description:
          'Weights of deficit round robin by priority [SCHEDULER]. A priority that the map does not name is strict.',
        default: 'strict',
        example: { 0: 30, 3: 70 },
      },
    ),
    telemetry: part(
      z
        .union([switchTelemetrySchema, z.literal('off'), z.literal(false)])
        .meta({ words: 'mapping, or `off`' }),
      {
        description:
          'What the switch writes about its load, and whether it answers by itself. `off`: it writes nothing into packets that collect telemetry, as a switch that knows no INT.',
        usual: 'each key at its default',
        example: { queue: 'sojourn' },
      },
    ),
  },
)

export { WEIGHT_MAX }
