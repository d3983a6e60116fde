/** Report of a measurement by `weir perf`. */
import type { PerfReply, PerfRequest } from '../../lib/client/daemon-client.js'
import type { LatencySummary } from '../../lib/perf/latency.js'

export type Test = 'bw' | 'lat'

/**
 * Output of `--json`: one report, or with `--all` an array of them. Null stands for a value that was not
 * measured. When a host stood still, no message was completed, which says nothing about the path.
 */
export interface PerfReport {
  test: Test
  op: string
  host: string
  /** Bytes of a message. */
  size: number
  qps: number
  /** Messages in flight on each QP. */
  depth: number
  bidirectional: boolean
  /** Time from the beginning of the count to the last completion. */
  seconds: number
  messages: number
  bytes: number
  /** Sum of both directions, if bidirectional. Null if one of them is not known. */
  goodputBps: number | null
  /** Goodput of the best 100 ms. If bidirectional, the sum of each direction's best. */
  peakBps: number | null
  messagesPerSecond: number | null
  /** bw: from post to completion. lat: half of the round trip; for read and atomic all of it. */
  latencyUs: LatencyUs | null
  /** Counts of times from `fromUs` to below the next entry's. */
  histogram: { fromUs: number; count: number }[]
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  /** CPU time of the daemons per 10^9 payload bytes of both directions. */
  cpuSecondsPerGB: { local: number; remote: number } | null
  /** The other end's figures, if bidirectional. */
  remote: { messages: number; bytes: number; goodputBps: number | null } | null
  /** Payload of a full packet, and the longest IP packet of this host's interface. */
  pathMtu: number
  mtu: number
  /** Null: nothing measures it. */
  baseRttUs: number | null
  /** The controller of what this end sends, and why it was chosen. */
  controller: string
  controllerReason: string
  io: string
  /** Who is at the other end of sealed connections, '' in the clear; and whether the payload is sealed. */
  sealedWith: string
  payload: 'sealed' | 'clear'
}

interface LatencyUs {
  min: number
  p50: number
  p90: number
  p99: number
  p999: number
  p9999: number
  max: number
  mean: number
  stdev: number
}

export function reportOf(request: PerfRequest, reply: PerfReply): PerfReport {
  const { test, op, host, size, qps, bidirectional } = request
  const { messages, bytes, seconds, retransmittedBytes, spuriousRetransmissions, depth, pathMtu, mtu, io } =
    reply
  const { remoteMessages, remoteBytes } = reply
  const isKnown = messages > 0 && seconds > 0
  const isRemoteKnown = remoteMessages > 0
  const isSumKnown = isKnown && (isRemoteKnown || !bidirectional)
  const latency = isKnown ? reply.latency : null
  const gigabytes = (bytes + (bidirectional ? remoteBytes : 0)) / 1e9
  return {
    test: test as Test,
    op,
    host,
    size,
    qps,
    depth,
    bidirectional,
    seconds,
    messages,
    bytes,
    goodputBps: isSumKnown ? reply.goodputBps + reply.remoteGoodputBps : null,
    peakBps: isSumKnown ? reply.peakBps + (bidirectional ? reply.remotePeakBps : 0) : null,
    messagesPerSecond: isKnown ? messages / seconds : null,
    ...latencyOf(latency, reply.latency),
    retransmittedBytes,
    spuriousRetransmissions,
    cpuSecondsPerGB:
      gigabytes > 0
        ? { local: reply.cpuSeconds / gigabytes, remote: reply.remoteCpuSeconds / gigabytes }
        : null,
    remote: bidirectional
      ? {
          messages: remoteMessages,
          bytes: remoteBytes,
          goodputBps: isRemoteKnown ? reply.remoteGoodputBps : null,
        }
      : null,
    pathMtu,
    mtu,
    baseRttUs: us(reply.baseRttNs),
    controller: reply.controller,
    controllerReason: reply.controllerReason,
    io,
    sealedWith: reply.sealedWith,
    // Nothing seals memory that WRITEs and READs move.
    payload: reply.sealedWith !== '' && op === 'send' ? 'sealed' : 'clear',
  }
}

/** Times as a report has them. @param counted those of the histogram, where the others say nothing */
export function latencyOf(
  latency: LatencySummary | null,
  counted: LatencySummary | null = latency,
): Pick<PerfReport, 'latencyUs' | 'histogram'> {
  return {
    latencyUs: latency && {
      min: us(latency.min),
      p50: us(latency.p50),
      p90: us(latency.p90),
      p99: us(latency.p99),
      p999: us(latency.p999),
      p9999: us(latency.p9999),
      max: us(latency.max),
      mean: us(latency.mean),
      stdev: us(latency.stdev),
    },
    histogram: counted?.histogram.map(({ fromNs, count }) => ({ fromUs: fromNs / 1000, count })) ?? [],
  }
}

function us(ns: number): number {
  return Math.round(ns) / 1000
}
