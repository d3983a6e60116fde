import { signalExitCode } from './failure.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Ctrl-C, and being told to end: the first signal aborts `cancelled`, with its name as the reason, so that the
 * command ends in order; the second one ends it at once. Returns what undoes it.
 */
export function cancelOnSignal(cancelled: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    if (cancelled.signal.aborted) process.exit(signalExitCode(signal))
    cancelled.abort(signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return () => {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal)
  }
}
