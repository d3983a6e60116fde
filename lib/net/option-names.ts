/** What the calls of streams and messages read of their options, and what of it is checked before anything is opened. */
import { checkInstance, knownOptions, optionNames } from '../arguments.js'
import { WeirError } from '../errors.js'
import { Host } from '../host/host.js'
import { FLOW_OPTIONS } from '../host/option-names.js'
import type { WeirStreamOptions } from '../stream/weir-stream.js'
import type {
  MessageConnectOptions,
  MessageListenOptions,
  StreamConnectOptions,
  StreamListenOptions,
} from './net-options.js'
import type { HostChoice } from './own-host.js'

const MEMORY = { segmentBytes: true, receiveBytes: true, sendBytes: true, host: true, open: true } as const
const STREAM = { allowHalfOpen: true, highWaterMark: true } as const
const CONNECTION = {
  udpPort: true,
  patient: true,
  ...FLOW_OPTIONS,
  priority: true,
  signal: true,
} as const

const NAMES = {
  connect: optionNames<StreamConnectOptions>({ ...MEMORY, ...STREAM, ...CONNECTION }),
  connectMessages: optionNames<MessageConnectOptions>({ ...MEMORY, ...CONNECTION, messageBytesMax: true }),
  listen: optionNames<StreamListenOptions>({ ...MEMORY, ...STREAM, backlog: true, signal: true }),
  listenMessages: optionNames<MessageListenOptions>({
    ...MEMORY,
    backlog: true,
    signal: true,
    messageBytesMax: true,
  }),
} as const

type AllOptions = HostChoice & WeirStreamOptions & { signal?: AbortSignal }

/** The options of a call, with the inherited ones as its own. Throws WEIR_BAD_ARGUMENT for a name that nothing reads. */
export function checkedOptions<Options extends HostChoice>(
  what: keyof typeof NAMES,
  options: Options,
): Options {
  const known = knownOptions(what, NAMES[what], options)
  const { host, open, signal, ...stream }: AllOptions = known
  if (signal !== undefined) checkInstance(what, 'signal', AbortSignal, signal)
  checkStream(what, stream)
  if (host !== undefined && !(host instanceof Host)) throw bad(`${what}: host is a Host, from Host.open`)
  if (host !== undefined && open !== undefined)
    throw bad(`${what}: give a host, or the settings of one, and not both`)
  return known
}

/** Node.js checks them too late: when the stream is made, and a peer has connected. */
function checkStream(what: string, { allowHalfOpen, highWaterMark }: WeirStreamOptions): void {
  if (allowHalfOpen !== undefined && typeof allowHalfOpen !== 'boolean')
    throw bad(`${what}: allowHalfOpen is true or false, not ${String(allowHalfOpen)}`)
  if (highWaterMark === undefined || (Number.isSafeInteger(highWaterMark) && highWaterMark >= 0)) return
  throw bad(`${what}: highWaterMark is a whole number of bytes, 0 or more, not ${String(highWaterMark)}`)
}

function bad(text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', text)
}
