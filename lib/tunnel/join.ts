import type { Socket } from 'node:net'
import type { WeirStream } from '../stream/weir-stream.js'

/**
 * Joins a TCP connection to a stream: bytes flow both ways, as fast as the slower one takes them. The end of a direction ends that direction of
 * the other one. What resets one resets the other. `onEnded` is called once, when both are over: with what reset them, or null.
 */
export function join(socket: Socket, stream: WeirStream, onEnded: (cause: Error | null) => void): void {
  let left = 2
  let cause: Error | null = null
  const reset = (error: Error) => {
    cause ??= error
    stream.destroy(new Error('the TCP connection was reset'))
    socket.resetAndDestroy()
  }
  socket.on('error', reset)
  stream.on('error', reset)
  for (const one of [socket, stream]) {
    one.once('close', () => {
      // One that is over before both directions have ended was destroyed.
      if (!one.readableEnded || !one.writableFinished) reset(new Error('this daemon has ended it'))
      if (--left === 0) onEnded(cause)
    })
  }
  socket.pipe(stream)
  stream.pipe(socket)
}
