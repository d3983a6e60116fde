/** TCP connections of the speakers of a lab to routers outside, in the main thread of the switch process. */
import type { Socket } from 'node:net'
import type { StreamCommand, StreamEvent } from '../../lib/bgp/outside-network.js'
import { closeSoon, connectTcp, type TcpProtection } from '../../lib/inof/tcp-socket.js'

const BGP_PORT = 179
/** Bytes of one connection that have been reported and not used yet. Above it the socket is not read, so the router has to wait. */
const UNUSED_BYTES_MAX = 1 << 18

interface Outside {
  socket: Socket
  unused: number
}

export class OutsideSockets {
  #report: (event: StreamEvent) => void
  readonly #protection: TcpProtection
  readonly #port: number
  readonly #connections = new Map<number, Outside>()

  constructor(report: (event: StreamEvent) => void, protection: TcpProtection, port = BGP_PORT) {
    this.#report = report
    this.#protection = protection
    this.#port = port
  }

  do(command: StreamCommand): void {
    const { id } = command
    const connection = this.#connections.get(id)
    switch (command.op) {
      case 'connect':
        this.#connect(id, command.from, command.to)
        return
      case 'write': {
        const bytes = command.bytes.length
        connection?.socket.write(command.bytes, error => {
          if (error == null) this.#report({ op: 'taken', id, bytes })
        })
        return
      }
      case 'used':
        if (connection === undefined) return
        connection.unused -= command.bytes
        if (connection.unused <= UNUSED_BYTES_MAX) connection.socket.resume()
        return
      case 'close':
        if (connection !== undefined) closeSoon(connection.socket)
    }
  }

  /** Nothing is reported any more. */
  close(): void {
    this.#report = () => {}
    for (const { socket } of this.#connections.values()) socket.destroy()
  }

  #connect(id: number, from: string, to: string): void {
    let isConnected = false
    const ended = () => {
      this.#connections.delete(id)
      this.#report({ op: isConnected ? 'closed' : 'failed', id })
    }
    const connected = () => {
      isConnected = true
      this.#report({ op: 'connected', id })
    }
    const socket = connectTcp({ from, to, port: this.#port }, this.#protection, connected, () => {})
    if (socket === null) {
      queueMicrotask(ended)
      return
    }
    const connection = { socket, unused: 0 }
    this.#connections.set(id, connection)
    socket.setNoDelay(true)
    socket.on('data', bytes => {
      connection.unused += bytes.length
      if (connection.unused > UNUSED_BYTES_MAX) socket.pause()
      this.#report({ op: 'bytes', id, bytes })
    })
    // An error is followed by `close`.
    socket.on('error', () => {})
    socket.once('close', ended)
  }
}
