/** The settings of a run. The same bounds hold at both ends. */
import { WeirError } from '../errors.js'
import type { Mode, Op } from './messages.js'

/** Bytes of the largest message. */
export const SIZE_MAX = 64 << 20
/** Data connections of a run. */
const QPS_MAX = 512
/** Messages in flight on one connection, if the send queue has room for them. */
const DEPTH_MAX = 65_536
/** Longest run: a day. */
export const DURATION_MAX_NS = 86_400e9
/** Most messages of one connection. */
const ITERATIONS_MAX = 1e12

export interface PerfSettings {
  op: Op
  mode: Mode
  /** Bytes of a message, 1 to SIZE_MAX. */
  size: number
  /** Data connections, 1 to QPS_MAX; 1 for PING_PONG. */
  qps: number
  /** Messages in flight on each connection, 1 to DEPTH_MAX; 1 for PING_PONG. */
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
const PATH_MTUS = [256, 512, 1024, 2048, 4096]

/**
 * Returns the messages in flight on each connection: those asked for, as far as there is room. READ responses
 * are not limited by a window, so all outstanding READs together must fit into the receive buffer.
 */
export function depthWithin(
  settings: Pick<PerfSettings, 'op' | 'depth' | 'size' | 'qps'>,
  limits: HostLimits,
): number {
  const { op, depth, size, qps } = settings
  const room = Math.min(depth, limits.queueDepth)
  if (op !== 'READ') return room
  const budget = limits.receiveBudgetBytes ?? Number.POSITIVE_INFINITY
  return Math.max(1, Math.min(room, READS_MAX, Math.floor(budget / qps / size)))
}

/** Throws WEIR_BAD_ARGUMENT. */
export function checkSettings(settings: PerfSettings): void {
  const { op, mode, size, qps, depth, iterations, durationNs, warmupNs, bidirectional, pathMtu } = settings
  if (!isOp(op)) throw bad('op', 'write, send or read', op)
  if (!isMode(mode)) throw bad('the test', 'bw or lat', mode)
  whole('size', size, 1, SIZE_MAX)
  whole('qps', qps, 1, mode === 'PING_PONG' ? 1 : QPS_MAX)
  whole('depth', depth, 1, mode === 'PING_PONG' ? 1 : DEPTH_MAX)
  whole('iterations', iterations, 0, ITERATIONS_MAX)
  if (iterations === 0) whole('duration (ns)', durationNs, 1, DURATION_MAX_NS)
  whole('warmup (ns)', warmupNs, 0, DURATION_MAX_NS)
  if (pathMtu !== 0 && !PATH_MTUS.includes(pathMtu)) {
    throw bad('the path MTU', `one of ${PATH_MTUS.join(', ')}`, pathMtu)
  }
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

function whole(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw bad(name, `a whole number from ${least} to ${most}`, value)
}

function bad(name: string, range: string, value: unknown): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `perf: ${name} is ${range}, not ${value}`)
}
