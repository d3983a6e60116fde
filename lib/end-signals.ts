/** What ends a command before it is done: signals, and a reader of its output that has gone. */

/** An event of `process`, once nobody reads any more what it says (`weir perf … | head`). It is heard as a terminal that hangs up is. */
const READER_GONE = 'weir:readerGone'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Signals that end a command. */
export type EndSignal = (typeof SIGNALS)[number]

/**
 * Has `listener` hear of each of them, until what is returned is called. (No signal is made up for a reader that has gone: libraries that listen for
 * signals end the process when they hear one.)
 */
export function onEndSignal(listener: (signal: EndSignal) => void): () => void {
  const listeners = SIGNALS.map(name => [name as string, () => listener(name)] as const)
  const all = [...listeners, [READER_GONE, () => listener('SIGHUP')] as const]
  for (const [name, heard] of all) process.on(name, heard)
  return () => {
    for (const [name, heard] of all) process.removeListener(name, heard)
  }
}

/** Says that nobody reads any more. */
export function tellReaderGone(): void {
  ;(process as NodeJS.EventEmitter).emit(READER_GONE)
}
