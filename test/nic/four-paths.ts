/**
 * Two NICs, and between them a network of four paths in the tap. The low two bits of the source port select
 * the path. Each has one switch with one link. The test sets its load by others and its queue.
 */
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as udp from '../../lib/wire/net/udp.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as delayedAck from '../../lib/wire/weir/delayed-ack.js'
import * as rate from '../../lib/wire/weir/rate.js'
import { type App, frameName, makePair, memoryOf, type Pair, RATE_BPS } from './pair.js'

export const T_NS = 10_000

export interface Passed {
  atNs: number
  /** Kind of the packet; `DATA` for requests with payload and READ responses. */
  kind: string
  fromA: boolean
  sourcePort: number
  psn: number
  /** The PSN up to which it acknowledges. -1: none. */
  acked: number
  wireBytes: number
}

interface FourPaths {
  pair: Pair
  /** Share of each path's link that others use, and its queue in bytes. */
  loads: number[]
  queues: number[]
  passed: Passed[]
  /** U of a path while the flow sends nothing: lines 4 and 5 of the listing. */
  utilization(sourcePort: number): number
}

export const pathOf = (sourcePort: number): number => sourcePort & 3

export function fourPaths(a: Partial<NicConfig>, b: Partial<NicConfig> = {}, seed = 1): FourPaths {
  // The tap's links carry any load.
  const more = { baseRttNs: T_NS, telemetry: { loadMax: 8 } }
  const pair = makePair({ a: { ...more, ...a }, b: { ...more, ...b }, seed })
  const loads = [0, 0, 0, 0]
  const queues = [0, 0, 0, 0]
  const passed: Passed[] = []
  const others = new Float64Array(8)
  const own = new Float64Array(8)
  let last = 0
  pair.tap.watch = (frame, now, fromA) => {
    for (let link = 0; link < 8; link++) others[link]! += (loads[link & 3]! * RATE_BPS * (now - last)) / 8e9
    last = now
    const name = frameName(frame)
    const isData =
      frame.payload >= 0 && frame.payloadLength > 0 && name.startsWith('RC_') && name !== 'RC_ACKNOWLEDGE'
    const { view } = frame
    const sourcePort = udp.sourcePort(view, frame.l4)
    const psn = frame.bth < 0 ? -1 : bth.psn(view, frame.bth)
    const kind = isData ? 'DATA' : name
    const acked = ackedBy(frame, name)
    passed.push({ atNs: now, kind, fromA, sourcePort, psn, acked, wireBytes: frame.wireLength })
    if (frame.shim < 0) return true
    // Both directions have links of their own.
    const path = pathOf(sourcePort)
    const link = path + (fromA ? 0 : 4)
    const bytes = Math.round(others[link]! + own[link]!)
    own[link]! += frame.wireLength
    intShim.stamp(view, frame.shim, frame.bth, {
      switchId: 10 + path,
      egressPort: link,
      rateBps: RATE_BPS,
      startNs: now,
      txBytes: bytes,
      qlenBytes: queues[path]!,
    })
    return true
  }
  const utilization = (port: number) =>
    loads[pathOf(port)]! + queues[pathOf(port)]! / ((RATE_BPS / 8e9) * T_NS)
  return { pair, loads, queues, passed, utilization }
}

function ackedBy(frame: Frame, name: string): number {
  const { view, payload } = frame
  if (name === 'RC_ACKNOWLEDGE') return bth.psn(view, frame.bth)
  const behind = name === 'RATE' ? rate.BYTES : name === 'NOTIFY' ? 0 : -1
  if (behind < 0) return -1
  const at = payload - behind - delayedAck.BYTES
  return delayedAck.acknowledges(view, at) ? delayedAck.psn(view, at) : -1
}

/** Packets with payload, of one end. */
export function data(passed: readonly Passed[], fromA = true): Passed[] {
  return passed.filter(({ kind, fromA: from }) => kind === 'DATA' && from === fromA)
}

/** Probes of paths, of one end. */
export function probes(passed: readonly Passed[], fromA = true): Passed[] {
  return passed.filter(({ kind, fromA: from }) => kind === opcodeName && from === fromA)
}

const opcodeName = Object.keys(Opcode).find(
  name => Opcode[name as keyof typeof Opcode] === Opcode.PATH_PROBE,
)!

/** Posts an RDMA WRITE of these bytes. Returns the memory where they arrive. */
export function writeTo(pair: Pair, app: App, id: number, bytes: Buffer): Buffer {
  const there = Buffer.alloc(bytes.length)
  const here = memoryOf(pair.a, bytes)
  const target = memoryOf(pair.b, there)
  const work = {
    id,
    opcode: WorkOpcode.RDMA_WRITE,
    region: here,
    offset: 0,
    length: bytes.length,
    remoteAddress: target.address,
    rkey: target.key,
  }
  if (!app.connection!.postSend(pair.network.now, work)) throw new Error('send queue full')
  pair.kick()
  return there
}

/**
 * Returns errors in the moves of one end's data, as the tap saw it: data on another path than before while
 * data on the old one had not been acknowledged. Empty: none.
 */
export function overtaking(passed: readonly Passed[]): string[] {
  const wrong: string[] = []
  let port = 0
  let sent = -1
  let acked = -1
  for (const { kind, fromA, sourcePort, psn, acked: newly, atNs } of passed) {
    if (kind === 'DATA' && fromA) {
      if (port !== 0 && sourcePort !== port && ahead(sent, acked)) {
        wrong.push(`at ${atNs}: port ${sourcePort} after ${port}, PSN ${sent} sent, ${acked} acknowledged`)
      }
      port = sourcePort
      sent = psn
    } else if (!fromA && newly >= 0) acked = newly
  }
  return wrong
}

function ahead(sent: number, acked: number): boolean {
  return sent >= 0 && acked !== sent
}
