/** One flow of some seconds, by Weir or by the kernel's TCP. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../../lib/errors.js'
import { Program } from '../support/run-program.js'
import type { Load, NetworkPath } from './path.js'

/** The first port of iperf3's servers: each flow has a server of its own. */
const IPERF_PORT = 5310
const GRACE_MS = 60_000
/** Before a flow begins that has the path for itself, what the one before left behind drains. */
const DRAIN_MS = 500

export interface FlowFigures {
  goodputBps: number
  bytes: number
  retransmittedBytes: number
}

export type StartFlow = (
  path: NetworkPath,
  sender: 0 | 1,
  seconds: number,
  load: Load,
) => Promise<FlowFigures>

/** `weir perf bw --op write` by a sender's daemon. */
export const weirFlow: StartFlow = async ({ senders, receiver }, sender, seconds, load) => {
  const reply = await senders[sender].client.perf({
    host: receiver.address,
    test: 'bw',
    op: 'write',
    size: load.messageBytes,
    qps: 1,
    depth: load.depth,
    durationNs: seconds * 1e9,
    warmupNs: 1,
  })
  return { goodputBps: reply.goodputBps, bytes: reply.bytes, retransmittedBytes: reply.retransmittedBytes }
}

/** iperf3 with that congestion control of the kernel. */
export function tcpFlow(control: 'cubic' | 'bbr' | 'reno'): StartFlow {
  return async ({ senders, receiver }, sender, seconds) => {
    const port = String(IPERF_PORT + sender)
    const listen = ['iperf3', '-s', '-1', '-B', receiver.address, '-p', port, '--forceflush']
    const server = new Program([...receiver.within, ...listen])
    try {
      await server.says(/listening/)
      const words = ['iperf3', '-c', receiver.address, '-p', port, '-C', control, '-t', String(seconds), '-J']
      const text = await new Program([...senders[sender].within, ...words]).output(seconds * 1000 + GRACE_MS)
      return figuresOf(JSON.parse(text))
    } finally {
      await server.end()
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

/** Flows that run at the same time, and what the path dropped meanwhile. */
export interface Trial {
  flows: FlowFigures[]
  droppedPackets: number
}

/** The first flow is of the first sender, the second of the other one. */
export async function trial(
  path: NetworkPath,
  starts: readonly StartFlow[],
  seconds: number,
  load: Load,
): Promise<Trial> {
  await sleep(DRAIN_MS)
  const before = await path.dropped()
  const flows = await Promise.all(starts.map((start, i) => start(path, i as 0 | 1, seconds, load)))
  return { flows, droppedPackets: (await path.dropped()) - before }
}
