/** The Unix socket by which a client of this daemon writes what is sent, or reads what is fetched. */
import { connect, type Socket } from 'node:net'
import { WeirError } from '../../errors.js'
import type { TaskOptions } from './task-options.js'

/**
 * Connects to the client's socket; `signal` ends it. Throws WEIR_BAD_ARGUMENT where nobody listens, and if there are to be retries: what has
 * left a pipe cannot be moved again.
 */
export async function openPipe(
  path: string,
  { retries = 0 }: TaskOptions,
  signal: AbortSignal,
): Promise<Socket> {
  if (retries > 0)
    throw new WeirError('WEIR_BAD_ARGUMENT', 'a pipe cannot be read again: there are no retries')
  return await new Promise((resolve, reject) => {
    const socket = connect({ path })
    const onAbort = () => socket.destroy()
    signal.addEventListener('abort', onAbort, { once: true })
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort)
      reject(new WeirError('WEIR_CANCELLED', 'cancelled'))
    })
    socket.once('error', cause =>
      reject(new WeirError('WEIR_BAD_ARGUMENT', `nobody listens on ${path}: ${cause.message}`, { cause })),
    )
    socket.once('connect', () => resolve(socket))
    if (signal.aborted) onAbort()
  })
}
