/** What the pingpong programs of rdma-core tell each other by TCP before they send. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { HostAddress } from '../../lib/wire/net/address.js'

const PORT = 18_515
/** `LID:QPN:PSN:GID` in hexadecimal digits, and a zero byte. */
const HELLO_BYTES = 52

export async function hello(socket: Socket): Promise<{ qpn: number; psn: number; remote: string }> {
  let text = ''
  while (text.length < HELLO_BYTES) text += String(await once(socket, 'data').then(([bytes]) => bytes))
  const [, qpn, psn, gid] = text.slice(0, HELLO_BYTES - 1).split(':')
  const remote = HostAddress.fromGid(Buffer.from(gid!, 'hex')).toString()
  return { qpn: Number.parseInt(qpn!, 16), psn: Number.parseInt(psn!, 16), remote }
}

export function helloOf(address: string, qpn: number, psn: number): Buffer {
  const hex = (value: number) => value.toString(16).padStart(6, '0')
  const gid = Buffer.from(HostAddress.parse(address).gid).toString('hex')
  return Buffer.from(`0000:${hex(qpn)}:${hex(psn)}:${gid}\0`)
}

/** @param to null: waits for the other end */
export async function peerSocket(address: string, to: string | null): Promise<Socket> {
  if (to !== null) {
    const socket = connect(PORT, to)
    await once(socket, 'connect')
    return socket
  }
  const server = createServer().listen(PORT, address)
  await once(server, 'listening')
  console.log('listening')
  const [socket] = await once(server, 'connection')
  server.close()
  return socket
}
