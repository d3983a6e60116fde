import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/**
 * Returns UDP ports of an address that are free now, all different. Another process may bind one before the
 * caller does, so the caller must be ready to try again with others.
 */
export async function freePorts(count: number, address: string): Promise<number[]> {
  const sockets = Array.from({ length: count }, () => createSocket(address.includes(':') ? 'udp6' : 'udp4'))
  try {
    return await Promise.all(
      sockets.map(async socket => {
        const listening = once(socket, 'listening')
        socket.bind({ address, port: 0, exclusive: true })
        await listening
        return socket.address().port
      }),
    )
  } finally {
    for (const socket of sockets) socket.close()
  }
}
