/** Settings of all hosts, and what is sampled. */
import * as z from 'zod'
import { PATH_OPTIONS, type PathOption } from '../../cc/path-options.js'
import { DEFAULT_TELEMETRY, TELEMETRY_OPTIONS, type TelemetryOption } from '../../cc/telemetry-options.js'
import type { TelemetrySettings } from '../../cc/telemetry-settings.js'
import { formatDuration } from '../../units/units.js'
import { FORMAT_NAMES } from '../../wire/telemetry/telemetry.js'
import { sentence } from './controllers.js'
import * as f from './fields.js'
import { key, mapping, part } from './keys.js'
import { portSchema } from './network.js'

/** Slots that a NIC may ask for in a shim. */
export const INT_HOPS_MAX = 15

export const transportSchema = mapping(
  { title: 'transport', about: 'Settings of the reliable transport, of all hosts.' },
  {
    pathMtu: key(f.oneOf([256, 512, 1024, 2048, 4096]), {
      description: 'Payload bytes of a full packet.',
      default: 1024,
      example: 4096,
    }),
    ackEvery: key(f.whole(1, 256), {
      description: 'The receiver acknowledges at least every so many packets.',
      default: 1,
      example: 16,
    }),
    retryCount: key(f.whole(0, 7), {
      description: 'Timeouts or sequence NAKs in a row before a connection fails (IBA: retry count).',
      default: 7,
      example: 3,
    }),
    rnrRetryCount: key(f.whole(0, 7), {
      description: 'RNR NAKs in a row before a connection fails; 7: no limit.',
      default: 7,
      example: 3,
    }),
    ackTimeout: key(f.duration, {
      description:
        'Without an acknowledgement for this long the sender retransmits; 0: 67 ms, or four round trips of the longest path where that is more. Labs retransmit by RFC 6298 as well.',
      default: 0,
      example: '10ms',
    }),
    recovery: key(f.oneOf(['selective', 'goBackN']), {
      description: 'After a loss the sender retransmits what is missing, or everything from the loss on.',
      default: 'selective',
      example: 'goBackN',
    }),
    start: key(f.oneOf(['line-rate', 'careful']), {
      description:
        'Flows begin at line rate with a window of line rate x T, as in the papers, or with ten packets.',
      default: 'line-rate',
      example: 'careful',
    }),
    key: key(f.key, {
      description:
        'Secret of all hosts and switches, by which feedback is authenticated. Results do not contain it.',
      usual: 'feedback is not authenticated',
      example: 'correct horse battery staple',
    }),
  },
)

export const intSchema = mapping(
  { title: 'int', about: 'How telemetry lies in data packets.' },
  {
    format: key(f.oneOf(FORMAT_NAMES), {
      description:
        "Encapsulation: Weir's shim with slots of 24 bytes (`wide`) or of 8 bytes as in the HPCC paper (`compact`), INT-MD 2.1 of P4.org, IFA 2.0, or the pre-allocated trace of IOAM (RFC 9197).",
      default: 'wide',
      example: 'compact',
    }),
    hops: key(f.whole(1, INT_HOPS_MAX), {
      description: 'Switches that may write into a packet.',
      usual:
        'the number of switches on the longest path of the traffic, without traffic on that of any two hosts',
      example: 5,
    }),
    ifaProtocol: key(f.whole(0, 255), {
      description:
        'IP protocol of IFA, for which IANA has assigned none. Not that of UDP (17) or of IPv6 options (0).',
      default: 253,
      example: 131,
      with: { format: 'ifa' },
    }),
  },
)

type Example = { example: unknown; with?: Record<string, unknown>; usual?: string }

/** A value other than the default for each setting of telemetry. */
const TELEMETRY_EXAMPLES: Readonly<Record<keyof TelemetrySettings, Example>> = {
  collect: { example: 'probe' },
  everyPackets: { example: 8 },
  everyBytes: { example: '64KB' },
  probeShare: { example: '5%', with: { collect: 'probe' } },
  plain: { example: true, with: { everyPackets: 8 } },
  answer: { example: 'notify' },
  hops: { example: 'busiest' },
  subscribe: { example: 'flag' },
  subscribeEvery: { example: 16, with: { subscribe: 'flag' } },
  subscribeDscp: { example: 27, with: { subscribe: 'dscp' } },
  loadMax: { example: 4, usual: '1; 1000 where a switch has `telemetry.rate: share`' },
  hostHop: { example: true, usual: '`false`: the hosts of a scenario are no part of its network' },
}

export const telemetrySchema = mapping(
  {
    title: 'telemetry',
    about: 'How all hosts collect telemetry and return it. Sections are those of the drafts named.',
  },
  Object.fromEntries(TELEMETRY_OPTIONS.map(option => [option.name, telemetryKey(option)])),
)

function telemetryKey(option: TelemetryOption) {
  const { usual, ...example } = TELEMETRY_EXAMPLES[option.name]
  return key(telemetryField(option), {
    description: `${sentence(option.doc)} (${option.source})`,
    ...(usual === undefined ? { default: DEFAULT_TELEMETRY[option.name] } : { usual }),
    ...example,
  })
}

function telemetryField(option: TelemetryOption) {
  switch (option.kind) {
    case 'choice':
      return f.oneOf(option.choices)
    case 'flag':
      return f.yesNo
    case 'bytes':
      return f.bytesBetween(option.min, option.max)
    case 'share':
      return f.share(option.min, option.max)
    default:
      return f.whole(option.min, option.max)
  }
}

/** A value other than the default for each setting of paths. */
const PATH_EXAMPLES: Readonly<Record<string, Example>> = {
  count: { example: 8 },
  start: { example: 'hash', with: { count: 8 } },
  move: { example: 'drain', with: { count: 8 } },
  margin: { example: 0.2, with: { count: 8, move: 'drain' } },
  interval: { example: '1ms', with: { count: 8 } },
  admission: { example: 0.9 },
  admissionWait: { example: '10ms', with: { admission: 0.9 } },
  admissionQueue: { example: 16, with: { admission: 0.9, admissionWait: '10ms' } },
}

export const pathsSchema = mapping(
  { title: 'paths', about: 'Path selection and admission by telemetry, of all hosts.' },
  Object.fromEntries(PATH_OPTIONS.map(option => [option.name, pathKey(option)])),
)

function pathKey(option: PathOption) {
  const { kind, name } = option
  return key(pathField(option), {
    description: sentence(option.doc),
    default: kind === 'duration' ? formatDuration(option.default) : option.default,
    ...PATH_EXAMPLES[name]!,
  })
}

function pathField(option: PathOption) {
  switch (option.kind) {
    case 'choice':
      return f.oneOf(option.choices)
    case 'duration':
      return f.durationUpTo(option.max)
    case 'number':
      return f.between(option.min, option.max)
    default:
      return f.whole(option.min, option.max)
  }
}

export const watchSchema = mapping(
  {
    title: 'watch',
    about:
      'What is sampled during the run, for `series` and `summary` of the JSON. Without `watch` nothing is sampled.',
  },
  {
    queues: part(
      z
        .union([z.literal('all'), z.array(portSchema)])
        .meta({ words: '`all`, or list of ports (`s1:s2`, `s1:s2#1`, `s1:0`)' }),
      {
        description:
          'Ports of switches whose queue and sent bytes are sampled. `s1:s2` names all parallel links of s1 to s2, `s1:s2#1` the second of them, `s1:0` a port by its number; `all` are all ports of all switches.',
        default: [],
        example: 'all',
      },
    ),
    every: key(f.positiveDuration, {
      description:
        'Interval of the samples, of flows too, at least 100ns. A run keeps a million samples at most.',
      default: '100us',
      example: '10ms',
    }),
    flows: key(f.yesNo, {
      description:
        'Rate, window, bytes in flight and bytes acknowledged of each flow are sampled as well. In virtual time not beyond 64 flows; in real time every 500ms, without bytes in flight.',
      default: true,
      example: false,
    }),
  },
)
