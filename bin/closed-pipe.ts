import { tellReaderGone } from '../lib/end-signals.js'

let gone = false

/** True once nobody reads any more what this process says. */
export function nobodyReads(): boolean {
  return gone
}

/**
 * A reader that has seen enough (`weir perf … | head`) is no failure; a disk that is full is one (`weir dump FILE > here`).
 * Commands that have something to end hear of both, as of a terminal that hangs up (`onEndSignal`), once. The others go on to
 * their end, which is near, unheard. `report` gets what is a failure.
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
