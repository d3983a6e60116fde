/**
 * Weir's end of ibv_rc_pingpong, or with type=uc of ibv_uc_pingpong, which do without the connection manager: both ends exchange QPN, PSN and GID by TCP.
 *
 *   weir-pingpong ADDRESS listen|connect [to=ADDRESS] [count=100] [size=4096] [mtu=1024] [type=rc]
 */
import { Access, Completion, Host, WorkOpcode, workStatusName } from '../../lib/index.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { hello, helloOf, peerSocket } from './pingpong-hello.js'

const [address, side, ...rest] = process.argv.slice(2)
const given = new Map(rest.map(pair => pair.split('=', 2) as [string, string]))
const count = Number(given.get('count') ?? 100)
const size = Number(given.get('size') ?? 4096)
const pathMtu = Number(given.get('mtu') ?? 1024)

const FILL = 0x7b
const RECEIVES = 100

const host = await Host.open({ address: address! })
try {
  const socket = await peerSocket(address!, side === 'connect' ? given.get('to')! : null)
  const memory = new Uint8Array(new SharedArrayBuffer(size * 2)).fill(FILL, 0, size)
  const region = await host.register(memory, Access.LOCAL_WRITE)
  const receives = Array.from({ length: RECEIVES }, (_, id) => ({ id, region, offset: size, length: size }))
  const remote = HostAddress.parse(String(socket.remoteAddress)).toString()
  const isUnreliable = given.get('type') === 'uc'
  const pair = isUnreliable
    ? await host.createQueuePair(remote, { type: 'uc', receives, pathMtu })
    : await host.createQueuePair(remote, { receives, pathMtu })
  const heard = hello(socket)
  if (side === 'connect') socket.write(helloOf(address!, pair.qpn, pair.psn))
  const connection = await pair.connect(await heard)
  socket.write(side === 'connect' ? 'done\0' : helloOf(address!, pair.qpn, pair.psn))
  const completion = new Completion()
  let received = 0
  const send = () => connection.postSend({ id: 0, opcode: WorkOpcode.SEND, region, offset: 0, length: size })
  if (side === 'connect') send()
  for (let sent = side === 'connect' ? 1 : 0, acked = 0; received < count || acked < count; ) {
    if (!(await connection.next(completion))) throw new Error('the queue pair has ended')
    if (completion.status !== 0) throw new Error(workStatusName(completion.status))
    if (!completion.isReceive) acked++
    else {
      received++
      if (memory.subarray(size).some(byte => byte !== FILL))
        throw new Error(`message ${received} is not what was sent`)
      memory.fill(0, size)
      connection.postReceive(receives[0]!)
      if (sent++ < count) send()
    }
  }
  await connection.disconnect()
  socket.destroy()
  console.log(`exact ${received}`)
} catch (error) {
  console.log(`failed: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
await host.close()
