/** TCP connections of the speakers of a lab to routers outside, in the main thread of the switch process. */
import { connect, type Socket } from 'node:net'
import type { StreamCommand, StreamEvent } from '../../lib/bgp/outside-network.js'

const BGP_PORT = 179

export class OutsideSockets {
  #report: (event: StreamEvent) => void
  readonly #sockets = new Map<number, Socket>()

  constructor(report: (event: StreamEvent) => void) {
    this.#report = report
  }

  do(command: StreamCommand): void {
    const { id } = command
    switch (command.op) {
      case 'connect':
        this.#connect(id, command.from, command.to)
        return
      case 'write': {
        const bytes = command.bytes.length
        this.#sockets.get(id)?.write(command.bytes, error => {
          if (error == null) this.#report({ op: 'taken', id, bytes })
        })
        return
      }
      case 'close':
        this.#sockets.get(id)?.destroySoon()
    }
  }

  /** Nothing is reported any more. */
  close(): void {
    this.#report = () => {}
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #connect(id: number, from: string, to: string): void {
    const socket = connect({ host: to, port: BGP_PORT, localAddress: from })
    let isConnected = false
    this.#sockets.set(id, socket)
    socket.setNoDelay(true)
    socket.once('connect', () => {
      isConnected = true
      this.#report({ op: 'connected', id })
    })
    socket.on('data', bytes => this.#report({ op: 'bytes', id, bytes }))
    // An error is followed by `close`.
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#sockets.delete(id)
      this.#report({ op: isConnected ? 'closed' : 'failed', id })
    })
  }
}
