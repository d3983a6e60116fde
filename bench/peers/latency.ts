/** Other programs that answer a small message: median of half the round trip, ns. */

import { WeirError } from '../../lib/errors.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import type { LatencySummary } from '../../lib/perf/latency.js'
import type { Measured } from '../support/rounds.js'
import { isInstalled, Program } from '../support/run-program.js'
import type { TwoHosts } from '../support/two-hosts.js'
import type { Peer } from './bandwidth.js'
import { pingPongClient, pingPongServer, type Way } from './udp-ping-pong.js'

const SOCKPERF_PORT = '5296'
const GRACE_MS = 15_000
/** sockperf's server does not report when it is ready. */
const SOCKPERF_START_MS = 500

export const SYSTEM_CALLS = 'UDP by system calls'
export const NODE_DGRAM = 'node:dgram'

/** @param bytes payload of a message, 14 (sockperf's least) to 1400 */
export function latencyPeers(hosts: TwoHosts, bytes: number, seconds: number): Peer[] {
  const sockperfMissing = isInstalled('sockperf') ? null : 'sockperf is not installed'
  return [
    { name: 'sockperf UDP', missing: sockperfMissing, measure: () => sockperf(hosts, bytes, seconds) },
    {
      name: SYSTEM_CALLS,
      missing: libcFault(),
      measure: () => pingPong('libc', hosts, bytes, seconds),
    },
    { name: NODE_DGRAM, missing: null, measure: () => pingPong('dgram', hosts, bytes, seconds) },
  ]
}

async function sockperf({ a, b }: TwoHosts, bytes: number, seconds: number): Promise<Measured> {
  const where = ['-i', b.address, '-p', SOCKPERF_PORT]
  const server = new Program([...b.within, 'sockperf', 'server', ...where])
  try {
    await new Promise(resolve => setTimeout(resolve, SOCKPERF_START_MS))
    const words = ['sockperf', 'ping-pong', ...where, '-m', String(bytes), '-t', String(seconds)]
    const text = await new Program([...a.within, ...words]).output(seconds * 1000 + GRACE_MS)
    const us = /percentile 50\.0+ += +([\d.]+)/.exec(text)?.[1]
    if (us === undefined) throw new WeirError('WEIR_UNSUPPORTED', 'sockperf printed no median')
    return { value: Number(us) * 1000 }
  } finally {
    await server.end()
  }
}

async function pingPong(way: Way, { a, b }: TwoHosts, bytes: number, seconds: number): Promise<Measured> {
  const server = new Program([...b.within, ...pingPongServer(way, b.address)])
  try {
    await server.says(/ready/)
    const client = new Program([...a.within, ...pingPongClient(way, b.address, bytes, seconds)])
    const { p50 } = JSON.parse(await client.output(seconds * 1000 + GRACE_MS)) as LatencySummary
    return { value: p50 }
  } finally {
    await server.end()
  }
}
