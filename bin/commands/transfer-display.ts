/** Progress of a file on a terminal. */
import type { Progress } from '../../lib/client/daemon-client.js'
import { printable } from '../../lib/printable.js'
import { formatBytes, formatDuration, formatRate } from '../../lib/units/units.js'
import { liveLines } from '../progress/live-lines.js'
import { type Part, percentOf, StatusLine } from '../progress/status-line.js'
import { timeLeft } from '../progress/time-left.js'

/** Shows the progress of a transfer. */
interface TransferDisplay {
  show(progress: Progress): void
  /** Removes the line. */
  stop(): void
}

/** Returns a line on a terminal that begins with the file's name. Elsewhere null. */
export function transferDisplay(
  file: string,
  stream: NodeJS.WriteStream = process.stderr,
): TransferDisplay | null {
  const lines = liveLines(stream)
  if (lines === null) return null
  const line = new StatusLine()
  const name = printable(file)
  return {
    show(progress) {
      const { bytes, totalBytes } = progress
      if (totalBytes === 0 && bytes > 0) {
        // Nobody knows how much is to come out of a pipe.
        lines.draw(columns => [line.layout(columns, { name, parts: howItGoes(progress) })])
        return
      }
      const share = totalBytes > 0 ? bytes / totalBytes : 0
      const parts = [{ text: percentOf(share), rank: 0 }, ...howItGoes(progress)]
      lines.draw(columns => [line.layout(columns, { name, share, parts })])
    },
    stop: () => lines.close(),
  }
}

/** Returns the figures after the bar. */
export function howItGoes(progress: Progress): Part[] {
  const { bytes, totalBytes, goodputBps, pathHops, pathQueueBytes, retransmittedBytes, state } = progress
  const { retry, retries, retryInMs, controller } = progress
  const which = `(${retry} of ${retries})`
  if (state === 'waiting') {
    const seconds = Math.ceil(retryInMs / 1000)
    return [{ text: `connection lost; trying again in ${seconds} s ${which}`, rank: 1, message: true }]
  }
  if (state === 'held') {
    const text = 'waiting: another transfer has the file open'
    return [{ text, rank: 1, message: true }]
  }
  if (state === 'connecting' && retry > 0)
    return [{ text: `connection lost; trying again now ${which}`, rank: 1, message: true }]
  const rate = goodputBps > 0 ? formatRate(Math.round(goodputBps)) : state
  const isOpen = totalBytes === 0 && bytes > 0
  const left = goodputBps > 0 ? ((totalBytes - bytes) * 8) / goodputBps : null
  const { files, totalFiles, rttNs, sealedWith } = progress
  const count = `${files.toLocaleString('en')} of ${totalFiles.toLocaleString('en')} files`
  const queue = pathHops > 0 ? formatBytes(pathQueueBytes) : '-'
  return [
    { text: rate, rank: 2 },
    ...(isOpen ? [] : [{ text: timeLeft(left), rank: 1 }]),
    ...(totalFiles > 0 ? [{ text: count, rank: 2 }] : []),
    isOpen
      ? { text: formatBytes(bytes), rank: 1 }
      : { text: `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`, rank: 4 },
    { text: `queue ${queue}`, rank: 5 },
    { text: `retransmitted ${formatBytes(retransmittedBytes)}`, rank: 6 },
    ...(controller === '' ? [] : [{ text: controller, rank: 7 }]),
    ...(rttNs > 0 ? [{ text: `RTT ${formatDuration(Math.round(rttNs / 1000) * 1000)}`, rank: 8 }] : []),
    ...(sealedWith === '' ? [] : [{ text: `sealed with ${printable(sealedWith)}`, rank: 9 }]),
  ]
}
