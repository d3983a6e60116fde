import { tellReaderGone } from '../lib/end-signals.js'

let told = false

/** True once nobody reads any more what this process says. */
export function nobodyReads(): boolean {
  return told
}

/**
 * A reader that has seen enough (`weir perf … | head`) is no failure. Commands that have something to end hear of it, as of a
 * terminal that hangs up (`onEndSignal`), once. The others go on to their end, which is near, unheard.
 */
export function heedClosedPipes(): void {
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (told) return
    told = true
    tellReaderGone()
  }
  process.stdout.on('error', onError)
  process.stderr.on('error', onError)
}
