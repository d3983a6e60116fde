import { createSocket } from 'node:dgram'

/** Returns why a UDP socket cannot be bound there, or null if it can. Port 0: any. */
export async function udpFault(address: string, port: number): Promise<string | null> {
  const socket = createSocket('udp4')
  try {
    return await new Promise(resolve => {
      socket.once('error', (error: NodeJS.ErrnoException) =>
        resolve(error.code === 'EADDRINUSE' ? 'in use' : error.message),
      )
      socket.bind({ address, port, exclusive: true }, () => resolve(null))
    })
  } finally {
    socket.close()
  }
}
