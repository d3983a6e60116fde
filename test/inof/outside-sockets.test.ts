/** The sockets of a lab's speakers, and a router that sends without end, reads nothing, or is not there. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { StreamEvent } from '../../lib/bgp/outside-network.js'
import type { TcpProtection } from '../../lib/inof/tcp-socket.js'
import { OutsideSockets } from '../../switch-emu/veth/outside-sockets.js'
import { loopbackAddress } from '../support/loopback.js'
import { md5Unsupported } from './md5.js'

const WAIT_MS = 20_000

async function until(t: Test, what: string, holds: () => boolean): Promise<void> {
  const end = Date.now() + WAIT_MS
  while (!holds() && Date.now() < end) await sleep(5)
  t.ok(holds(), what)
}

/** A router, and a connection to it. */
async function place(t: Test, protection: TcpProtection = {}) {
  const address = loopbackAddress()
  const accepted: Socket[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    accepted.push(socket)
  })
  server.listen(0, address)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const events: StreamEvent[] = []
  const sockets = new OutsideSockets(event => events.push(event), protection, port)
  t.teardown(() => {
    sockets.close()
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  sockets.do({ op: 'connect', id: 1, from: loopbackAddress(), to: address })
  const bytes = (op: 'bytes' | 'taken') =>
    events.reduce((sum, event) => {
      if (event.op !== op) return sum
      return sum + (event.op === 'bytes' ? event.bytes.length : (event as { bytes: number }).bytes)
    }, 0)
  return { server, accepted, events, sockets, bytes }
}

t.test('a router that sends more than is used has to wait', async t => {
  const { accepted, sockets, bytes, events } = await place(t)
  await until(t, 'it is there', () => accepted.length === 1 && events.length === 1)
  const total = 32 << 20
  accepted[0]!.write(Buffer.alloc(total))
  await until(t, 'the first bytes', () => bytes('bytes') > 1 << 18)
  await sleep(200)
  const unused = bytes('bytes')
  t.ok(unused < 1 << 19, `${unused} bytes wait here`)
  let used = 0
  const use = setInterval(() => {
    const now = bytes('bytes')
    if (now > used) sockets.do({ op: 'used', id: 1, bytes: now - used })
    used = now
  }, 1)
  await until(t, 'all of it, once it is used', () => bytes('bytes') === total)
  clearInterval(use)
})

t.test(
  'a router that reads nothing: what it has not taken is not reported, and the end comes all the same',
  async t => {
    const { accepted, sockets, bytes, events } = await place(t)
    await until(t, 'it is there', () => accepted.length === 1 && events.length === 1)
    accepted[0]!.pause()
    const block = 1 << 16
    const written = 512 * block
    for (let i = 0; i < 512; i++) sockets.do({ op: 'write', id: 1, bytes: new Uint8Array(block) })
    await sleep(200)
    t.ok(bytes('taken') < written, `${bytes('taken')} of ${written} bytes taken`)
    sockets.do({ op: 'close', id: 1 })
    await until(t, 'closed', () => events.at(-1)!.op === 'closed')
  },
)

t.test('nobody is there', async t => {
  const { server, events, sockets } = await place(t)
  const { address } = server.address() as { address: string }
  server.close()
  await until(t, 'the first one', () => events.length === 1)
  sockets.do({ op: 'connect', id: 2, from: loopbackAddress(), to: address })
  await until(t, 'it fails', () => events.some(({ id, op }) => id === 2 && op === 'failed'))
})

t.test('a password that the router does not have', { skip: md5Unsupported() }, async t => {
  const { accepted, sockets, events } = await place(t, { password: 'dam', ttlSecurity: true })
  await until(t, 'it counts as connected', () => events.length === 1)
  await sleep(100)
  t.equal(accepted.length, 0, 'the router has not heard of it')
  sockets.do({ op: 'close', id: 1 })
  await until(t, 'closed', () => events.at(-1)!.op === 'closed')
})

t.test('an address that this machine does not have', { skip: md5Unsupported() }, async t => {
  const { sockets, events } = await place(t, { ttlSecurity: true })
  // For documentation (RFC 5737): no machine has it.
  sockets.do({ op: 'connect', id: 2, from: '192.0.2.1', to: '192.0.2.2' })
  await until(t, 'it fails', () => events.some(({ id, op }) => id === 2 && op === 'failed'))
})
