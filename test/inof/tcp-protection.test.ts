/** BGP sessions on TCP that are protected: MD5 signatures (RFC 2385) and TTL security (RFC 5082), between two of our speakers. */
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { protectSocket, type TcpProtection } from '../../lib/inof/tcp-socket.js'
import { TcpSpeaker } from '../../lib/inof/tcp-speaker.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { freePort } from '../io/helpers.js'
import { loopbackAddress } from '../support/loopback.js'
import { md5Unsupported } from './md5.js'

const WAIT_MS = 20_000

/** A speaker that listens, and one at each other address that connects to it. */
async function speakers(t: Test, listens: TcpProtection, connect: readonly TcpProtection[]) {
  const address = loopbackAddress()
  const port = freePort()
  const others = connect.map(() => loopbackAddress())
  const start = async (
    own: string,
    identifier: number,
    protection: TcpProtection,
    neighbours: { address: string; passive?: boolean }[],
  ) => {
    const one = await TcpSpeaker.start({
      address: own,
      port,
      listens: own === address,
      protection,
      speaker: { as: 65_001, identifier, neighbours, random: Math.random, holdSeconds: 30 },
      routeChanged: () => {},
    })
    t.teardown(() => one.close())
    return one
  }
  await start(
    address,
    1,
    listens,
    others.map(other => ({ address: other, passive: true })),
  )
  const clients: TcpSpeaker[] = []
  for (const [i, other] of others.entries())
    clients.push(await start(other, i + 2, connect[i]!, [{ address }]))
  return (n: number) => clients[n]!.speaker.status()[0]!.state
}

async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + WAIT_MS
  while (!holds() && Date.now() < end) await sleep(5)
}

const skip = md5Unsupported()

t.test('who has the password gets a session, and others do not', { skip }, async t => {
  const state = await speakers(t, { password: 'weir and dam' }, [
    { password: 'weir and dyke' },
    {},
    { password: 'weir and dam' },
  ])
  await until(() => state(2) === 'established')
  // Those began before.
  t.equal(state(2), 'established')
  for (const n of [0, 1]) t.not(state(n), 'established')
})

t.test('a password and TTL security at once', { skip }, async t => {
  const both = { password: 'x'.repeat(80), ttlSecurity: true }
  const state = await speakers(t, both, [both])
  await until(() => state(0) === 'established')
  t.equal(state(0), 'established')
})

/** One speaker that connects to a neighbour, and no more. */
async function connecting(own: string, port: number, neighbour: string, protection: TcpProtection) {
  return await TcpSpeaker.start({
    address: own,
    port,
    listens: false,
    protection,
    speaker: { as: 65_001, identifier: 9, neighbours: [{ address: neighbour }], random: () => 1 },
    routeChanged: () => {},
  })
}

t.test('what cannot be protected is said at once, before anything connects', { skip }, async t => {
  const start = connecting(loopbackAddress(), freePort(), loopbackAddress(), { password: '' })
  await t.rejects(start, { code: 'WEIR_BAD_ARGUMENT', message: 'a BGP password has 1 to 80 bytes' })
})

t.test('no way to the neighbour ends nothing: it is tried again', { skip: libcFault() ?? false }, async t => {
  // For documentation (RFC 5737): no machine has it.
  const speaker = await connecting('192.0.2.1', freePort(), '192.0.2.2', { ttlSecurity: true })
  t.teardown(() => speaker.close())
  const [neighbour] = speaker.speaker.neighbours
  await until(() => Number.isFinite(neighbour!.connectAtNs) && neighbour!.connectAtNs > 0)
  await sleep(1000)
  t.ok(Number.isFinite(neighbour!.connectAtNs), 'another attempt is due')
  t.equal(neighbour!.connecting, false)
})

t.test('who closes while it connects leaves nothing that waits', { skip }, async t => {
  const [address, own, port] = [loopbackAddress(), loopbackAddress(), freePort()]
  const listener = await TcpSpeaker.start({
    address,
    port,
    protection: { password: 'dam' },
    speaker: { as: 65_001, identifier: 1, neighbours: [{ address: own, passive: true }], random: () => 1 },
    routeChanged: () => {},
  })
  t.teardown(() => listener.close())
  // Its requests are not signed, so nobody answers them.
  const speaker = await connecting(own, port, address, {})
  const waiting = () => process.getActiveResourcesInfo().filter(one => one === 'ConnectWrap').length
  await until(() => waiting() > 0)
  t.equal(waiting(), 1)
  speaker.close()
  await until(() => waiting() === 0)
  t.equal(waiting(), 0)
})

t.test('a password that TCP cannot take is refused', { skip }, async t => {
  const server = createServer()
  for (const password of ['', 'x'.repeat(81)])
    t.throws(() => protectSocket(-1, { password }, ['10.0.0.1']), {
      code: 'WEIR_BAD_ARGUMENT',
      message: 'a BGP password has 1 to 80 bytes',
    })
  server.close()
})

t.test('a system that has no signatures says so, and what to do', { skip }, async t => {
  // No descriptor has the number -1, so the system refuses.
  t.throws(() => protectSocket(-1, { password: 'dam' }, ['10.0.0.1']), {
    code: 'WEIR_UNSUPPORTED',
    message: /no MD5 signatures of TCP .*leave it out at both ends/,
  })
})
