/** Other programs that carry bytes between two hosts: each runs for some seconds, from a to b. */
import { WeirError } from '../../lib/errors.js'
import type { Candidate, Measured } from '../support/rounds.js'
import { isInstalled, Program } from '../support/run-program.js'
import type { TwoHosts } from '../support/two-hosts.js'
import { type NodeTcpReport, nodeTcpClient, nodeTcpServer } from './node-tcp.js'

/** As long as a full packet of Weir's. */
const UDP_PAYLOAD_BYTES = 4096
const IPERF_PORT = '5297'
/** Time beyond the requested seconds. */
const GRACE_MS = 15_000

export interface Peer extends Candidate {
  /** Why it cannot be measured here, or null. */
  readonly missing: string | null
}

export function bandwidthPeers(hosts: TwoHosts, seconds: number): Peer[] {
  const iperf = isInstalled('iperf3') ? null : 'iperf3 is not installed'
  return [
    { name: 'iperf3 TCP', missing: iperf, measure: () => iperf3(hosts, seconds, []) },
    {
      name: 'iperf3 UDP 4 KiB',
      missing: iperf,
      measure: () => iperf3(hosts, seconds, ['-u', '-b', '0', '-l', String(UDP_PAYLOAD_BYTES)]),
    },
    { name: 'node:net TCP', missing: null, measure: () => nodeTcp(hosts, seconds) },
  ]
}

interface Iperf3Sum {
  bits_per_second: number
  bytes: number
  seconds: number
  lost_percent?: number
}

interface Iperf3Report {
  end: {
    sum_received?: Iperf3Sum
    sum?: Iperf3Sum
    cpu_utilization_percent: { host_total: number; remote_total: number }
  }
}

async function iperf3({ a, b }: TwoHosts, seconds: number, more: readonly string[]): Promise<Measured> {
  const server = new Program([
    ...b.within,
    'iperf3',
    '-s',
    '-1',
    '-B',
    b.address,
    '-p',
    IPERF_PORT,
    '--forceflush',
  ])
  try {
    await server.says(/listening/)
    const words = ['iperf3', '-c', b.address, '-p', IPERF_PORT, '-t', String(seconds), '-J', ...more]
    const text = await new Program([...a.within, ...words]).output(seconds * 1000 + GRACE_MS)
    const { end } = JSON.parse(text) as Iperf3Report
    const sum = more.includes('-u') ? end.sum : end.sum_received
    if (sum === undefined) throw new WeirError('WEIR_UNSUPPORTED', 'iperf3 printed no sum')
    const value = sum.bits_per_second * (1 - (sum.lost_percent ?? 0) / 100)
    const { host_total, remote_total } = end.cpu_utilization_percent
    return {
      value,
      cpu: { client: perGB(host_total / 100, value), server: perGB(remote_total / 100, value) },
    }
  } finally {
    await server.end()
  }
}

async function nodeTcp({ a, b }: TwoHosts, seconds: number): Promise<Measured> {
  const server = new Program([...b.within, ...nodeTcpServer(b.address)])
  try {
    await server.says(/ready/)
    const text = await new Program([...a.within, ...nodeTcpClient(b.address, seconds)]).output(
      seconds * 1000 + GRACE_MS,
    )
    await server.says(/}/)
    const sent = JSON.parse(text) as NodeTcpReport
    const received = JSON.parse(server.stdout.split('\n')[1]!) as NodeTcpReport
    const value = (received.bytes * 8) / received.seconds
    const client = perGB(sent.cpuSeconds / sent.seconds, value)
    return { value, cpu: { client, server: perGB(received.cpuSeconds / received.seconds, value) } }
  } finally {
    await server.end()
  }
}

/** CPU seconds per 10^9 bytes of a process that uses `share` of a core while it carries `bps`. */
function perGB(share: number, bps: number): number {
  return bps > 0 ? (share * 8e9) / bps : Number.NaN
}
