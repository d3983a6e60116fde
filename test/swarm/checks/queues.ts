/** Checks that the queues of a switch agree with its memory, and fit into it. */
import type { Fail } from './fail.js'

/** Bytes that wait in one switch. */
interface QueuedBytes {
  name: string
  /** By egress port, as its gauge and as its queues count them. */
  gauges: readonly number[]
  queues: readonly number[]
  usedBytes: number
  bufferBytes: number
}

export function checkQueues({ name, gauges, queues, usedBytes, bufferBytes }: QueuedBytes, fail: Fail): void {
  for (const [port, bytes] of gauges.entries())
    if (bytes !== queues[port])
      fail(`${name}, port ${port}: ${bytes} bytes wait, its queues have ${queues[port]}`)
  const sum = queues.reduce((all, bytes) => all + bytes, 0)
  if (sum !== usedBytes) fail(`${name}: ${usedBytes} bytes in use, its ports have ${sum}`)
  if (usedBytes > bufferBytes) fail(`${name}: ${usedBytes} bytes in use of ${bufferBytes}`)
}

/**
 * The queue of flows with windows is never longer than these windows allow: line rate x T each, with which
 * all begin and which none exceeds (HPCC++, W_init).
 *
 * @param flows that share the queue
 * @param overheadShare headers and telemetry in addition to payload
 */
export function checkPeak(
  name: string,
  peakBytes: number,
  flows: number,
  windowBytes: number,
  overheadShare: number,
  fail: Fail,
): void {
  const most = flows * windowBytes * (1 + overheadShare)
  if (peakBytes > most) fail(`${name}: ${peakBytes} bytes waited, windows allow ${Math.ceil(most)}`)
}
