/** The settings of a run. The same bounds hold at both ends. */
import { WeirError } from '../errors.js'
import { flowBytesOf } from '../nic/feedback/host-share.js'
import { checkValue } from '../options/check-options.js'
import type { ValueOption } from '../options/option.js'
import type { Mode, Op } from './messages.js'
import { DEPTH, DURATION, ITERATIONS, PATH_MTU, QPS, SIZE, WARMUP } from './perf-options.js'

export interface PerfSettings {
  op: Op
  mode: Mode
  /** Bytes of a message, as `SIZE` of `perf-options.ts`. */
  size: number
  /** Data connections, as `QPS`; 1 for PING_PONG. */
  qps: number
  /** Messages in flight on each, as `DEPTH`; 1 for PING_PONG. */
  depth: number
  /** Messages of each connection. 0: until `durationNs` is over. */
  iterations: number
  /** How long to count, if `iterations` is 0. */
  durationNs: number
  /** How long to send before counting, in runs by duration. */
  warmupNs: number
  /** STREAM: the other end sends at the same time. */
  bidirectional: boolean
  /** Both ends poll for packets without sleeping. */
  busyPoll: boolean
  /** Payload bytes of a packet; 0: the NIC's. */
  pathMtu: number
}

/** The capacity of a host. */
export interface HostLimits {
  /** Work requests of one queue. */
  queueDepth: number
  /** Payload bytes that its receive buffer takes at once. Absent: no bound. */
  receiveBudgetBytes?: number | undefined
}

/** READs and atomics that a queue pair has outstanding (its initiator depth). */
const READS_MAX = 16

/**
 * Returns the messages in flight on each connection: those asked for, as far as there is room. READ responses
 * are not limited by a window, so all outstanding READs together must fit into as much of the receive buffer as
 * this host asks for at a time (`ReadRoom`).
 */
export function depthWithin(
  settings: Pick<PerfSettings, 'op' | 'depth' | 'size' | 'qps'>,
  limits: HostLimits,
): number {
  const { op, depth, size, qps } = settings
  const room = Math.min(depth, limits.queueDepth)
  if (op !== 'READ') return room
  const budget = flowBytesOf(limits.receiveBudgetBytes ?? Number.POSITIVE_INFINITY)
  return Math.max(1, Math.min(room, READS_MAX, Math.floor(budget / qps / size)))
}

/** Throws WEIR_BAD_ARGUMENT. */
export function checkSettings(settings: PerfSettings): void {
  const { op, mode, size, qps, depth, iterations, durationNs, warmupNs, bidirectional, pathMtu } = settings
  if (!isOp(op)) throw bad('op', 'write, send or read', op)
  if (!isMode(mode)) throw bad('the test', 'bw or lat', mode)
  const one = mode === 'PING_PONG'
  // Half a byte is a size to no text, but to a program.
  check({ ...SIZE, kind: 'count' }, 'size', size)
  check(one ? { ...QPS, max: 1 } : QPS, 'qps', qps)
  check(one ? { ...DEPTH, max: 1 } : DEPTH, 'depth', depth)
  if (iterations === 0) check(DURATION, 'duration (ns)', durationNs)
  else check(ITERATIONS, 'iterations', iterations)
  check(WARMUP, 'warmup (ns)', warmupNs)
  if (pathMtu !== 0) check(PATH_MTU, 'the path MTU', pathMtu)
  if (bidirectional && mode === 'PING_PONG') {
    throw new WeirError('WEIR_BAD_ARGUMENT', 'perf: lat goes both ways as it is; bidirectional is for bw')
  }
}

export function isOp(op: unknown): op is Op {
  return op === 'WRITE' || op === 'SEND' || op === 'READ'
}

export function isMode(mode: unknown): mode is Mode {
  return mode === 'STREAM' || mode === 'PING_PONG'
}

function check(option: ValueOption, name: string, value: number): void {
  checkValue('perf', { ...option, name }, value)
}

function bad(name: string, range: string, value: unknown): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `perf: ${name} is ${range}, not ${value}`)
}
