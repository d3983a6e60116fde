/** What the pingpong programs of rdma-core have in common: what they tell each other by TCP before they send, and how messages go to and fro. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Completion, workStatusName } from '../../lib/index.js'
import { HostAddress } from '../../lib/wire/net/address.js'

const PORT = 18_515
/** `LID:QPN:PSN:GID` in hexadecimal digits, and a zero byte. */
const HELLO_BYTES = 52

interface Hello {
  qpn: number
  psn: number
  remote: string
}

export async function hello(socket: Socket): Promise<Hello> {
  return (await hellos(socket, 1))[0]!
}

/** Those of so many queue pairs. */
export async function hellos(socket: Socket, count: number): Promise<Hello[]> {
  let text = ''
  // It stays while it waits: what comes while nobody listens is lost.
  const take = (bytes: Buffer) => {
    text += bytes
  }
  socket.on('data', take)
  while (text.length < count * HELLO_BYTES) await once(socket, 'data')
  socket.off('data', take)
  return Array.from({ length: count }, (_, i) =>
    helloIn(text.slice(i * HELLO_BYTES, (i + 1) * HELLO_BYTES - 1)),
  )
}

function helloIn(text: string): Hello {
  const [, qpn, psn, gid] = text.split(':')
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

/** A queue pair in this. */
interface PingPongEnd {
  next: (into: Completion) => Promise<boolean>
  /** Posts a message. */
  send: () => void
  /** Checks a message, and posts a receive for another one. Throws. */
  take: (completion: Completion) => void
}

/**
 * Sends `count` messages and takes as many, of all queue pairs together. On each, the next one leaves when the one before it has completed and the
 * other end's has come; the client's is the first. Returns how many came.
 */
export async function pingPong(
  ends: readonly PingPongEnd[],
  { count, isClient }: { count: number; isClient: boolean },
): Promise<number> {
  let [sent, left, received] = [0, 0, 0]
  let finish = () => {}
  const finished = new Promise<void>(resolve => {
    finish = resolve
  })
  const serve = async (end: PingPongEnd) => {
    const completion = new Completion()
    let awaited = isClient ? 2 : 1
    const send = () => {
      sent++
      end.send()
    }
    if (isClient && sent < count) send()
    while (received < count || left < count) {
      if (!(await end.next(completion))) throw new Error('a queue pair has ended')
      if (completion.status !== 0) throw new Error(workStatusName(completion.status))
      awaited--
      if (completion.isReceive) {
        received++
        end.take(completion)
      } else left++
      if (awaited > 0 || sent >= count) continue
      awaited = 2
      send()
    }
    finish()
  }
  // Other queue pairs wait for completions that do not come.
  await Promise.race([finished, Promise.all(ends.map(serve))])
  return received
}
