import { liveLines } from './live-lines.js'
import { StatusLine } from './status-line.js'

/**
 * Says on a terminal what the command waits for, until the returned function is called. Does nothing
 * elsewhere.
 */
export function waiting(text: string, stream: NodeJS.WriteStream = process.stderr): () => void {
  const lines = liveLines(stream)
  if (lines === null) return () => {}
  const line = new StatusLine()
  lines.drawNow(columns => [line.layout(columns, { parts: [{ text, rank: 0, message: true }] })])
  return () => lines.close()
}
