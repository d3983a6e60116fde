/** What the calls of a host read of their options. */
import { checkInstance, checkObject, knownOptions, optionNames } from '../arguments.js'
import { WeirError } from '../errors.js'
import type { AddressOptions } from '../nic/paced/address-handle.js'
import type { ListenOptions } from './host-listener.js'
import type {
  HostConnectOptions,
  HostDatagramOptions,
  HostOptions,
  HostQueuePairOptions,
  HostSharedReceiveQueueOptions,
  HostUnreliableOptions,
} from './host-options.js'
import type { ResolveOptions } from './messages.js'

/** What every queue pair of a host may have. */
const SHARED = { domain: true, sharedReceiveQueue: true } as const
const ADDRESS = { udpPort: true, priority: true } as const

/** What a connection says of its flow, also where a stream or messages use it. */
export const FLOW_OPTIONS = {
  cc: true,
  telemetry: true,
  paths: true,
  pathMtu: true,
  baseRttNs: true,
  sourcePort: true,
} as const

const RELIABLE = {
  ...SHARED,
  ...ADDRESS,
  receives: true,
  ...FLOW_OPTIONS,
} as const

const OPTION_NAMES = {
  'Host.open': optionNames<HostOptions>({
    address: true,
    port: true,
    io: true,
    sourcePorts: true,
    byFlags: true,
    interface: true,
    lineRateBps: true,
    cc: true,
    anyCc: true,
    inof: true,
    connections: true,
    queueDepth: true,
    pathMtu: true,
    baseRttNs: true,
    ackTimeoutNs: true,
    ackEveryPackets: true,
    retryCount: true,
    keepAliveNs: true,
    start: true,
    recovery: true,
    priority: true,
    dscpOfPriority: true,
    cnpPriority: true,
    untaggedCnps: true,
    int: true,
    icrc: true,
    ifaProtocol: true,
    telemetry: true,
    paths: true,
    secret: true,
    identity: true,
    peers: true,
    acceptNew: true,
    allowClear: true,
    busyPoll: true,
    overlay: true,
    onDefect: true,
  }),
  connect: optionNames<HostConnectOptions>({ ...RELIABLE, patient: true, privateData: true, signal: true }),
  listen: optionNames<ListenOptions>({ ...SHARED, backlog: true, privateData: true }),
  createQueuePair: optionNames<HostQueuePairOptions>({ ...RELIABLE, type: true }),
  'createQueuePair of type uc': optionNames<HostUnreliableOptions>({
    ...SHARED,
    ...ADDRESS,
    type: true,
    receives: true,
    pathMtu: true,
  }),
  createDatagramPair: optionNames<HostDatagramOptions>({ ...SHARED, qkey: true, pathMtu: true }),
  createSharedReceiveQueue: optionNames<HostSharedReceiveQueueOptions>({ depth: true, domain: true }),
  createAddress: optionNames<AddressOptions>(ADDRESS),
  resolveDatagrams: optionNames<ResolveOptions>({ udpPort: true, privateData: true }),
} as const

type Mode = 'cc' | 'int' | 'overlay'
/** Options that are objects of their own. */
const MODES = {
  cc: optionNames<NonNullable<HostOptions['cc']>>({ name: true, options: true }),
  int: optionNames<NonNullable<HostOptions['int']>>({ format: true, hops: true }),
  overlay: optionNames<NonNullable<HostOptions['overlay']>>({ vni: true, local: true, peer: true }),
} as const

/** The same, whose names their readers check. */
const TABLES = ['telemetry', 'paths', 'inof'] as const
const FLAGS = ['busyPoll', 'anyCc', 'acceptNew', 'patient'] as const

/** The options of a call, with the inherited ones as its own. Throws WEIR_BAD_ARGUMENT for a name that nothing reads. */
export function checkedOptions<Options extends object>(
  what: keyof typeof OPTION_NAMES,
  options: Options,
): Options {
  const known = knownOptions(what, OPTION_NAMES[what], options)
  const members = known as Partial<Record<Mode | (typeof TABLES)[number], object>>
  for (const mode of Object.keys(MODES) as Mode[])
    if (members[mode] !== undefined)
      members[mode] = knownOptions(`${what}, ${mode}`, MODES[mode], members[mode])
  for (const name of TABLES) if (members[name] !== undefined) checkObject(what, name, members[name])
  const flags = known as Partial<Record<(typeof FLAGS)[number], unknown>>
  for (const name of FLAGS)
    if (flags[name] !== undefined && typeof flags[name] !== 'boolean')
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `${what}: ${name} is true or false, not ${String(flags[name])}`,
      )
  const { dscpOfPriority } = known as Partial<HostOptions>
  if (dscpOfPriority !== undefined) checkInstance(what, 'dscpOfPriority', Array, dscpOfPriority)
  const cc = members.cc as { options?: unknown } | undefined
  if (cc?.options !== undefined) {
    checkObject(what, 'cc.options', cc.options)
    // A caller may change its own object between two connections. What follows from options is kept by the object that has them.
    cc.options = { ...cc.options }
  }
  return known
}
