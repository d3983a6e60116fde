/**
 * Weir's end of ibv_ud_pingpong: both ends exchange QPN and GID by TCP, and then send datagrams in turns.
 *
 *   weir-ud-pingpong ADDRESS listen|connect [to=ADDRESS] [count=100] [size=1024]
 */
import { once } from 'node:events'
import { Access, WorkOpcode } from '../../lib/index.js'
import { hello, helloOf, peerSocket, pingPong } from './pingpong.js'
import { numberOf, runEnd } from './weir-end.js'

const count = numberOf('count', 100)
const size = numberOf('size', 1024)

/** Q_Key of ibv_ud_pingpong. */
const QKEY = 0x1111_1111
const GRH_BYTES = 40
const FILL = 0x7b
const RECEIVES = 100

await runEnd(async ({ host, address, connects, to: server }) => {
  const socket = await peerSocket(address, server)
  const memory = new Uint8Array(new SharedArrayBuffer(2 * size + GRH_BYTES)).fill(FILL, 0, size)
  const region = await host.register(memory, Access.LOCAL_WRITE)
  const receive = { id: 0, region, offset: size, length: GRH_BYTES + size }
  const pair = await host.createDatagramPair({ qkey: QKEY })
  for (let n = 0; n < RECEIVES; n++) pair.postReceive(receive)
  const heard = hello(socket)
  if (connects) socket.write(helloOf(address, pair.qpn, 0))
  const { qpn, remote } = await heard
  socket.write(connects ? 'done\0' : helloOf(address, pair.qpn, 0))
  if (!connects) await once(socket, 'data')
  const to = { address: (await host.createAddress(remote)).id, qpn, qkey: QKEY }
  const end = {
    next: pair.next.bind(pair),
    send: () => pair.postSend({ id: 0, opcode: WorkOpcode.SEND, region, offset: 0, length: size, to }),
    take: () => {
      if (memory.subarray(size + GRH_BYTES).some(byte => byte !== FILL))
        throw new Error('a message is not what was sent')
      memory.fill(0, size)
      pair.postReceive(receive)
    },
  }
  const received = await pingPong([end], { count, isClient: connects })
  socket.destroy()
  return received
})
