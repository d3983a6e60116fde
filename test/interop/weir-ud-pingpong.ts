/**
 * Weir's end of ibv_ud_pingpong: both ends exchange QPN and GID by TCP, and then send datagrams in turns.
 *
 *   weir-ud-pingpong ADDRESS listen|connect [to=ADDRESS] [count=100] [size=1024]
 */
import { once } from 'node:events'
import { Access, Completion, Host, WorkOpcode, workStatusName } from '../../lib/index.js'
import { hello, helloOf, peerSocket } from './pingpong-hello.js'

const [address, side, ...rest] = process.argv.slice(2)
const given = new Map(rest.map(pair => pair.split('=', 2) as [string, string]))
const count = Number(given.get('count') ?? 100)
const size = Number(given.get('size') ?? 1024)

/** Q_Key of ibv_ud_pingpong. */
const QKEY = 0x1111_1111
const GRH_BYTES = 40
const FILL = 0x7b
const RECEIVES = 100

const host = await Host.open({ address: address! })
try {
  const socket = await peerSocket(address!, side === 'connect' ? given.get('to')! : null)
  const memory = new Uint8Array(new SharedArrayBuffer(2 * size + GRH_BYTES)).fill(FILL, 0, size)
  const region = await host.register(memory, Access.LOCAL_WRITE)
  const receive = { id: 0, region, offset: size, length: GRH_BYTES + size }
  const pair = await host.createDatagramPair({ qkey: QKEY })
  for (let n = 0; n < RECEIVES; n++) pair.postReceive(receive)
  const heard = hello(socket)
  if (side === 'connect') socket.write(helloOf(address!, pair.qpn, 0))
  const { qpn, remote } = await heard
  socket.write(side === 'connect' ? 'done\0' : helloOf(address!, pair.qpn, 0))
  if (side !== 'connect') await once(socket, 'data')
  const to = { address: (await host.createAddress(remote)).id, qpn, qkey: QKEY }
  const send = () => pair.postSend({ id: 0, opcode: WorkOpcode.SEND, region, offset: 0, length: size, to })
  const done = new Completion()
  if (side === 'connect') send()
  for (let sent = side === 'connect' ? 1 : 0, left = 0, received = 0; received < count || left < count; ) {
    await pair.next(done)
    if (done.status !== 0) throw new Error(workStatusName(done.status))
    if (!done.isReceive) left++
    else {
      received++
      if (memory.subarray(size + GRH_BYTES).some(byte => byte !== FILL))
        throw new Error(`message ${received} is not what was sent`)
      memory.fill(0, size)
      pair.postReceive(receive)
      if (sent++ < count) send()
    }
  }
  socket.destroy()
  console.log(`exact ${count}`)
} catch (error) {
  console.log(`failed: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
await host.close()
