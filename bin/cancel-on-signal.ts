import { type EndSignal, onEndSignal } from '../lib/end-signals.js'
import { signalExitCode } from './failure.js'

/**
 * Ctrl-C and signals to end: the first one aborts `cancelled`, with its name as the reason, so that the
 * command ends in order; the second one ends it at once. Returns what undoes it.
 */
export function cancelOnSignal(cancelled: AbortController): () => void {
  return onEndSignal((signal: EndSignal) => {
    if (cancelled.signal.aborted) process.exit(signalExitCode(signal))
    cancelled.abort(signal)
  })
}
