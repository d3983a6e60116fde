/** One flow for some seconds, by Weir or by the kernel's TCP. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../../lib/errors.js'
import { Program } from '../support/run-program.js'
import type { Load, NetworkPath, PathCounts, Span } from './path.js'

/** The first port of iperf3's servers. Each flow has a server of its own. */
const IPERF_PORT = 5310
const GRACE_MS = 60_000
/** Before a single flow begins, the rest of the previous one drains for this time. */
const DRAIN_MS = 500

interface FlowFigures {
  goodputBps: number
  bytes: number
  retransmittedBytes: number
}

/**
 * Prepares a flow, and returns a function that begins it, so that flows on a shared path can begin at the
 * same time.
 */
export type PrepareFlow = (
  path: NetworkPath,
  sender: 0 | 1,
  span: Span,
  load: Load,
) => Promise<() => Promise<FlowFigures>>

/** `weir perf bw --op write` by a sender's daemon. */
export const weirFlow: PrepareFlow =
  async ({ senders, receiver }, sender, { settleSeconds, seconds }, load) =>
  async () => {
    const reply = await senders[sender].client.perf({
      host: receiver.address,
      test: 'bw',
      op: 'write',
      size: load.messageBytes,
      qps: 1,
      depth: load.depth,
      durationNs: seconds * 1e9,
      warmupNs: Math.max(1, settleSeconds * 1e9),
    })
    return { goodputBps: reply.goodputBps, bytes: reply.bytes, retransmittedBytes: reply.retransmittedBytes }
  }

/** A shell that runs the given program on request. Starting one in a lab takes a third of a second. */
const WHEN_TOLD = ['sh', '-c', 'echo ready; read -r word; exec "$@"', 'sh']

/** iperf3 with that congestion control of the kernel. */
export function tcpFlow(control: 'cubic' | 'bbr' | 'reno'): PrepareFlow {
  return async ({ senders, receiver }, sender, { settleSeconds, seconds }) => {
    const port = String(IPERF_PORT + sender)
    const listen = ['iperf3', '-s', '-1', '-B', receiver.address, '-p', port, '--forceflush']
    const span = ['-O', String(settleSeconds), '-t', String(seconds)]
    const words = ['iperf3', '-c', receiver.address, '-p', port, '-C', control, ...span, '-J']
    const server = new Program([...receiver.within, ...listen])
    const client = new Program([...senders[sender].within, ...WHEN_TOLD, ...words])
    try {
      await Promise.all([server.says(/listening/), client.says(/ready/)])
    } catch (error) {
      await Promise.all([server.end(), client.end()])
      throw error
    }
    return async () => {
      try {
        client.tell('go\n')
        const text = await client.output((settleSeconds + seconds) * 1000 + GRACE_MS)
        return figuresOf(JSON.parse(text.slice(text.indexOf('{'))))
      } finally {
        await server.end()
      }
    }
  }
}

interface Iperf3Report {
  error?: string
  start: { tcp_mss_default: number }
  end: { sum_sent: { retransmits: number }; sum_received: { bytes: number; bits_per_second: number } }
}

function figuresOf({ error, start, end }: Iperf3Report): FlowFigures {
  if (error !== undefined) throw new WeirError('WEIR_UNSUPPORTED', `iperf3: ${error}`)
  const { bytes, bits_per_second: goodputBps } = end.sum_received
  return { goodputBps, bytes, retransmittedBytes: end.sum_sent.retransmits * start.tcp_mss_default }
}

/** Flows that run at the same time, and what the path did with their packets in the measured time. */
export interface Trial extends PathCounts {
  flows: FlowFigures[]
}

/** The first flow is from the first sender, the second from the other one. */
export async function trial(
  path: NetworkPath,
  flows: readonly PrepareFlow[],
  span: Span,
  load: Load,
): Promise<Trial> {
  const starts = await Promise.all(flows.map((prepare, i) => prepare(path, i as 0 | 1, span, load)))
  await sleep(DRAIN_MS)
  let before = await path.counts()
  const ends = Promise.all(starts.map(start => start()))
  if (span.settleSeconds > 0) {
    // A flow that fails meanwhile ends the wait.
    await Promise.race([ends, sleep(1000 * span.settleSeconds)])
    before = await path.counts()
  }
  const figures = await ends
  const after = await path.counts()
  return {
    flows: figures,
    sentBytes: after.sentBytes - before.sentBytes,
    droppedByQueue: after.droppedByQueue - before.droppedByQueue,
    droppedAtRandom: after.droppedAtRandom - before.droppedAtRandom,
  }
}
