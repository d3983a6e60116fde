/** What `weir perf` prints of a measurement. */
import type { PerfReply, PerfRequest } from '../../lib/client/daemon-client.js'

export type Test = 'bw' | 'lat'

/**
 * What `--json` prints: one of these, or with `--all` an array of them. Null is what was not measured: when a host stood
 * still, no message was completed, and that says nothing of the path.
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
  /** From the begin of counting to the last completion. */
  seconds: number
  messages: number
  bytes: number
  /** Both directions together, if bidirectional; null if one of them is not known. */
  goodputBps: number | null
  /** The best 100 ms; of both directions, each its own, if bidirectional. */
  peakBps: number | null
  messagesPerSecond: number | null
  /** bw: from post to completion. lat: half of the way there and back; of read all of it. */
  latencyUs: LatencyUs | null
  /** Counts of times from `fromUs` to below that of the next. */
  histogram: { fromUs: number; count: number }[]
  retransmittedBytes: number
  /** Packets among them that had not been lost. */
  spuriousRetransmissions: number
  /** CPU time of the daemons per 10^9 payload bytes of both directions. */
  cpuSecondsPerGB: { local: number; remote: number } | null
  /** The other end's part, if bidirectional. */
  remote: { messages: number; bytes: number; goodputBps: number | null } | null
  pathMtu: number
  baseRttUs: number
  /** The controller that decides about what this end sends, and why it is that one. */
  controller: string
  controllerReason: string
  io: string
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
  const { messages, bytes, seconds, retransmittedBytes, spuriousRetransmissions, depth, pathMtu, io } = reply
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
    histogram: reply.latency?.histogram.map(({ fromNs, count }) => ({ fromUs: fromNs / 1000, count })) ?? [],
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
    baseRttUs: us(reply.baseRttNs),
    controller: reply.controller,
    controllerReason: reply.controllerReason,
    io,
  }
}

function us(ns: number): number {
  return Math.round(ns) / 1000
}
