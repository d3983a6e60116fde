let told = false

/** True once nobody reads any more what this process says. */
export function nobodyReads(): boolean {
  return told
}

/**
 * A reader that has seen enough (`weir perf … | head`) is no failure. Commands that have something to end hear of it as of a
 * terminal that hangs up: SIGHUP, once. The others go on to their end, which is near, unheard. (Not SIGPIPE: who listens for
 * it gets it for sockets, too.)
 */
export function heedClosedPipes(): void {
  const onError = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (told) return
    told = true
    process.emit('SIGHUP', 'SIGHUP')
  }
  process.stdout.on('error', onError)
  process.stderr.on('error', onError)
}
