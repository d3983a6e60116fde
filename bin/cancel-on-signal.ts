import { type EndSignal, onEndSignal } from '../lib/end-signals.js'
import { signalExitCode } from './failure.js'

/**
 * Handles Ctrl-C and signals to end. The first one aborts `cancelled`, with its name as the reason, so that
 * the command ends in order. The second one ends the process at once. Returns a function that removes the
 * handlers.
 */
export function cancelOnSignal(cancelled: AbortController): () => void {
  return onEndSignal((signal: EndSignal) => {
    if (cancelled.signal.aborted) process.exit(signalExitCode(signal))
    cancelled.abort(signal)
  })
}
