/**
 * Weir's end of ibv_rc_pingpong, or with type=uc of ibv_uc_pingpong, which do without the connection manager: both ends exchange QPN, PSN and GID by TCP.
 *
 *   weir-pingpong ADDRESS listen|connect [to=ADDRESS] [count=100] [size=4096] [mtu=1024] [type=rc]
 */
import { Access, type HostConnection, type HostUnreliable, WorkOpcode } from '../../lib/index.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { hello, helloOf, peerSocket, pingPong } from './pingpong.js'
import { numberOf, runEnd, textOf } from './weir-end.js'

const count = numberOf('count', 100)
const size = numberOf('size', 4096)
const pathMtu = numberOf('mtu', 1024)
const isUnreliable = textOf('type', 'rc') === 'uc'

const FILL = 0x7b
const RECEIVES = 100

await runEnd(async ({ host, address, connects, to }) => {
  const socket = await peerSocket(address, to)
  const memory = new Uint8Array(new SharedArrayBuffer(size * 2)).fill(FILL, 0, size)
  const region = await host.register(memory, Access.LOCAL_WRITE)
  const receives = Array.from({ length: RECEIVES }, (_, id) => ({ id, region, offset: size, length: size }))
  const remote = HostAddress.parse(String(socket.remoteAddress)).toString()
  const pair = isUnreliable
    ? await host.createQueuePair(remote, { type: 'uc', receives, pathMtu })
    : await host.createQueuePair(remote, { receives, pathMtu })
  const heard = hello(socket)
  if (connects) socket.write(helloOf(address, pair.qpn, pair.psn))
  const connection: HostConnection | HostUnreliable = await pair.connect(await heard)
  socket.write(connects ? 'done\0' : helloOf(address, pair.qpn, pair.psn))
  const end = {
    next: connection.next.bind(connection),
    send: () => connection.postSend({ id: 0, opcode: WorkOpcode.SEND, region, offset: 0, length: size }),
    take: () => {
      if (memory.subarray(size).some(byte => byte !== FILL)) throw new Error('a message is not what was sent')
      memory.fill(0, size)
      connection.postReceive(receives[0]!)
    },
  }
  const received = await pingPong([end], { count, isClient: connects })
  await connection.disconnect()
  socket.destroy()
  return received
})
