/** What a terminal shows while a file is on its way. */
import { Presets, SingleBar } from 'cli-progress'
import type { Progress } from '../../lib/client/daemon-client.js'
import { printable } from '../../lib/printable.js'
import { formatBytes, formatRate } from '../../lib/units/units.js'

/** Shows how a transfer stands. */
export interface TransferDisplay {
  show(progress: Progress): void
  /** Leaves nothing behind. */
  stop(): void
}

const BAR_COLUMNS = 10
/** Of the bar, the percentage and the longest text behind them. */
const OTHER_COLUMNS = 70
const NAME_COLUMNS_MIN = 8

/** On a terminal a bar behind the file's name, elsewhere null. */
export function transferDisplay(
  file: string,
  stream: NodeJS.WriteStream = process.stderr,
): TransferDisplay | null {
  if (!stream.isTTY) return null
  const name = within(Math.max(NAME_COLUMNS_MIN, stream.columns - OTHER_COLUMNS), printable(file))
  const format = '{name} {bar} {percentage}%  {how}'
  const options = { format, stream, hideCursor: true, clearOnComplete: true, barsize: BAR_COLUMNS }
  const bar = new SingleBar(options, Presets.shades_classic)
  return {
    show(progress) {
      const { bytes, totalBytes } = progress
      const payload = { name, how: howItGoes(progress) }
      if (!bar.isActive) bar.start(Math.max(1, totalBytes), bytes, payload)
      else {
        // Of a get, the size comes with the server's answer.
        bar.setTotal(Math.max(1, totalBytes))
        bar.update(bytes, payload)
      }
    },
    stop: () => bar.stop(),
  }
}

/** What is too long for its place ends with an ellipsis. */
function within(columns: number, text: string): string {
  const characters = [...text]
  return characters.length <= columns ? text : `${characters.slice(0, columns - 1).join('')}…`
}

/** What stands behind the bar. */
export function howItGoes(progress: Progress): string {
  const { bytes, totalBytes, goodputBps, pathHops, pathQueueBytes, retransmittedBytes, state } = progress
  const { retry, retries, retryInMs } = progress
  const which = `(${retry} of ${retries})`
  if (state === 'waiting') return `connection lost; trying again in ${Math.ceil(retryInMs / 1000)} s ${which}`
  if (state === 'connecting' && retry > 0) return `connection lost; trying again now ${which}`
  const rate = goodputBps > 0 ? formatRate(Math.round(goodputBps)) : state
  const left = goodputBps > 0 ? `${Math.ceil(((totalBytes - bytes) * 8) / goodputBps)}s` : '-'
  const queue = pathHops > 0 ? formatBytes(pathQueueBytes) : '-'
  return `${rate}  ${left} left  queue ${queue}  retrans ${formatBytes(retransmittedBytes)}`
}
