/** What a transfer's `--json` has said, as one report. */
import type { FileReport, TransferReport } from '../../bin/commands/transfer-item.js'

interface TransferEvent extends Record<string, unknown> {
  event: string
  timeMs: number
}

export function eventsOf(stdout: string): TransferEvent[] {
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as TransferEvent)
}

export function reportOf(stdout: string): TransferReport {
  const events = eventsOf(stdout)
  const files = events.filter(({ event }) => event === 'file') as unknown as FileReport[]
  const { event, bytes, seconds, code, message, file } = events.at(-1) as unknown as Record<string, never>
  return { files, bytes, seconds, ...(event === 'failed' ? { error: { code, message, file } } : {}) }
}
