import { tellReaderGone } from '../lib/end-signals.js'

let gone = false

/** Returns true once the reader of this process's output is gone. */
export function nobodyReads(): boolean {
  return gone
}

/**
 * Handles errors of the output. A closed pipe (`weir perf … | head`) is no failure. A full disk is one (`weir
 * dump FILE > here`). Commands that have to end something get both as an end signal, like a terminal that
 * hangs up (`onEndSignal`), once. Other commands are nearly over and continue to their end. `report` gets
 * failures.
 */
export function heedClosedPipes(report: (error: Error) => void): void {
  const onError = (error: NodeJS.ErrnoException) => {
    if (gone) return
    gone = true
    if (error.code !== 'EPIPE') report(error)
    tellReaderGone()
  }
  process.stdout.on('error', onError)
  process.stderr.on('error', onError)
}
