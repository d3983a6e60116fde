/**
 * Weir's end of ibv_srq_pingpong: messages go to and fro on several queue pairs, which take their receives from one queue.
 *
 *   weir-srq-pingpong ADDRESS listen|connect [to=ADDRESS] [count=100] [size=4096] [mtu=1024] [qps=16]
 */
import { Access, type HostConnection, type HostQueuePair, WorkOpcode } from '../../lib/index.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { helloOf, hellos, peerSocket, pingPong } from './pingpong.js'
import { numberOf, runEnd } from './weir-end.js'

const count = numberOf('count', 100)
const size = numberOf('size', 4096)
const pathMtu = numberOf('mtu', 1024)
const qps = numberOf('qps', 16)

/** The program's messages are of one byte throughout, not of this one. */
const UNTOUCHED = 0x55
const RECEIVES = 64
/** The program sends QPN and PSN of so many queue pairs, most of which it does not have. */
const TOLD = 256

await runEnd(async ({ host, address, connects, to }) => {
  const socket = await peerSocket(address, to)
  const memory = new Uint8Array(new SharedArrayBuffer(size * (RECEIVES + 1)))
  const region = await host.register(memory, Access.LOCAL_WRITE)
  const sharedReceiveQueue = await host.createSharedReceiveQueue({ depth: RECEIVES })
  const post = (id: number) => {
    memory.fill(UNTOUCHED, size * (id + 1), size * (id + 2))
    sharedReceiveQueue.postReceive({ id, region, offset: size * (id + 1), length: size })
  }
  for (let id = 0; id < RECEIVES; id++) post(id)
  const remote = HostAddress.parse(String(socket.remoteAddress)).toString()
  const pairs: HostQueuePair[] = []
  while (pairs.length < qps) pairs.push(await host.createQueuePair(remote, { sharedReceiveQueue, pathMtu }))
  const told = Array.from({ length: TOLD }, (_, i) => pairs[i] ?? { qpn: 0, psn: 0 })
  const mine = Buffer.concat(told.map(({ qpn, psn }) => helloOf(address, qpn, psn)))
  const heard = hellos(socket, TOLD)
  if (connects) socket.write(mine)
  const peers = await heard
  const connections: HostConnection[] = []
  for (const [i, pair] of pairs.entries()) connections.push(await pair.connect(peers[i]!))
  socket.write(connects ? 'done\0' : mine)
  const ends = connections.map(connection => ({
    next: connection.next.bind(connection),
    send: () => connection.postSend({ id: 0, opcode: WorkOpcode.SEND, region, offset: 0, length: size }),
    take: ({ id }: { id: number }) => {
      const bytes = memory.subarray(size * (id + 1), size * (id + 2))
      if (bytes[0] === UNTOUCHED || bytes.some(byte => byte !== bytes[0]))
        throw new Error('a message is not what was sent')
      post(id)
    },
  }))
  const received = await pingPong(ends, { count, isClient: connects })
  await Promise.all(connections.map(connection => connection.disconnect()))
  await sharedReceiveQueue.close()
  socket.destroy()
  return received
})
