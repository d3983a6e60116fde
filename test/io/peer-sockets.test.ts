import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { PortCounters } from '../../lib/io/port.js'
import { DgramPort } from '../../lib/io/ports/dgram-port.js'
import { PeerSockets } from '../../lib/io/ports/peer-sockets.js'
import { loopbackAddress } from '../support/loopback.js'
import { freePort, nextFrame, plainSocket, udpFrame4, until } from './helpers.js'

const A = loopbackAddress()
const B = loopbackAddress()

/** A frame to the INT port that carries `number` and so many bytes behind it. */
function numbered(pool: FramePool, destination: string, number: number, bytes: number) {
  const payload = Buffer.alloc(4 + bytes, number)
  payload.writeUInt32BE(number)
  return udpFrame4(pool, { source: A, destination, sourcePort: 1, destinationPort: 4792, payload })
}

t.test(
  'through a change from the common to the connected socket every frame arrives once, whole',
  async t => {
    const rocePort = freePort()
    const ports = { rocePort, intPort: rocePort + 1 }
    const [poolA, poolB] = [new FramePool(64), new FramePool(64)]
    const a = await DgramPort.open({ pool: poolA, address: A, ...ports })
    const b = await DgramPort.open({ pool: poolB, address: B, ...ports })
    const COUNT = 400
    const seen = new Set<number>()
    for (let n = 0; n < COUNT; n++) {
      t.ok(a.canTransmit())
      // Sizes differ, so that a slot's view is never that of the frame before.
      a.transmit(numbered(poolA, B, n, n % 3 === 0 ? 0 : 4000 - n))
      const frame = await nextFrame(b)
      const number = frame.view.getUint32(42)
      seen.add(number)
      if (frame.view.getUint16(34) !== a.sourcePorts[0]) t.fail('another source port')
      const rest = frame.bytes.subarray(46, frame.length)
      if (rest.length !== (n % 3 === 0 ? 0 : 4000 - n)) t.fail(`frame ${n} has another length`)
      if (rest.some(byte => byte !== (number & 255))) t.fail(`frame ${n} has other bytes`)
      poolB.give(frame)
    }
    t.equal(seen.size, COUNT)
    await until(() => a.counters.txFrames === COUNT && poolA.inUse === 0)
    t.equal(poolA.inUse, 0, 'every frame has come back')
    t.equal(a.counters.dropped, 0)
    await Promise.all([a.close(), b.close()])
  },
)

t.test('two ports cannot have one address and port', async t => {
  const rocePort = freePort()
  const options = { pool: new FramePool(4), address: A, rocePort, intPort: rocePort + 1 }
  const first = await DgramPort.open(options)
  await t.rejects(DgramPort.open(options), { code: 'WEIR_BAD_ARGUMENT', message: new RegExp(`${rocePort}`) })
  const elsewhere = {
    ...options,
    rocePort: rocePort === 20_000 ? 60_000 : rocePort - 1,
    intPort: rocePort + 1,
  }
  await t.rejects(DgramPort.open(elsewhere), { code: 'WEIR_BAD_ARGUMENT' }, 'nor one of the two')
  await first.close()
  const second = await DgramPort.open(options)
  await second.close()
})

t.test('a source port that somebody else has is left out; another one is taken where all are', async t => {
  // An address where no other port has source ports.
  const OWN = loopbackAddress()
  const rocePort = freePort()
  const options = { pool: new FramePool(4), address: OWN, rocePort, intPort: rocePort + 1, sourcePorts: 2 }
  const before = await DgramPort.open(options)
  const [usual = 0, second = 0] = before.sourcePorts
  t.equal(before.sourcePorts.length, 2)
  await before.close()
  const other = (await import('node:dgram')).createSocket('udp4')
  await new Promise<void>(resolve => other.bind(usual, OWN, resolve))
  const port = await DgramPort.open(options)
  t.same(port.sourcePorts, [second])
  await port.close()
  const none = await DgramPort.open({ ...options, sourcePorts: 1 })
  t.equal(none.sourcePorts.length, 1)
  t.not(none.sourcePorts[0], usual)
  t.ok(none.sourcePorts[0]! > 0)
  await none.close()
  other.close()
})

t.test('a peer that comes later, or comes back, is reached', async t => {
  const rocePort = freePort()
  const ports = { rocePort, intPort: rocePort + 1 }
  const [poolA, poolB] = [new FramePool(64), new FramePool(64)]
  const a = await DgramPort.open({ pool: poolA, address: A, ...ports })
  for (let life = 0; life < 2; life++) {
    for (let n = 0; n < 8; n++) {
      a.transmit(numbered(poolA, B, n, 10))
      await new Promise(setImmediate)
    }
    const b = await DgramPort.open({ pool: poolB, address: B, ...ports })
    // A packet that meets an ICMP error may be lost. A transport retransmits.
    const sending = setInterval(() => a.transmit(numbered(poolA, B, 77, 10)), 5)
    const frame = await nextFrame(b)
    clearInterval(sending)
    t.equal(frame.view.getUint32(42), 77)
    poolB.give(frame)
    await b.close()
  }
  await a.close()
  t.equal(poolA.inUse, 0)
})

t.test('sockets are bounded: when all are taken, those not used any more make room', async t => {
  const local = await plainSocket(A)
  const localPort = local.address().port
  local.close()
  const pool = new FramePool(4)
  const sockets = new PeerSockets({
    pool,
    counters: new PortCounters(),
    localAddress: A,
    localPort,
    maxInFlight: 4,
    peersMax: 64,
    socketBufferBytes: 65_536,
    onWritable: () => {},
  })
  for (let host = 1; host <= 100; host++) t.equal(sockets.find(`127.0.1.${host}`, 9), null, 'not yet')
  t.equal(sockets.size, 64)
  await until(() => sockets.find('127.0.1.64', 9) !== null)
  // Twice as many packets to peers without a socket as the sweep needs: once to mark and once to close.
  for (let n = 0; n < 2 * 4096; n++) {
    const busy = sockets.find('127.0.1.1', 9)!
    const frame = n % 1000 === 0 ? pool.take() : null
    if (frame !== null) {
      pool.give(frame)
      busy.send(numbered(pool, '127.0.1.1', n, 0), 42)
    }
    sockets.find('127.0.1.100', 9)
  }
  t.ok(sockets.size < 64)
  t.not(sockets.find('127.0.1.1', 9), null, 'the busy one has stayed')
  t.equal(sockets.find('127.0.1.1', 11), null, 'another port of the host is another peer')
  await until(() => sockets.find('127.0.1.100', 9) !== null)
  await sockets.close()
  t.equal(sockets.size, 0)
  t.equal(pool.inUse, 0)
})

/** Node then hands every datagram to libuv's queue, as it does when the kernel's buffer is full. */
const QUEUED = '--test-udp-no-try-send'

if (!process.execArgv.includes(QUEUED)) {
  t.test('the same when the kernel takes no datagram at once', async t => {
    const child = spawn(process.execPath, [QUEUED, fileURLToPath(import.meta.url)], { stdio: 'pipe' })
    let said = ''
    child.stdout.on('data', text => {
      said += text
    })
    const [code] = await once(child, 'close')
    t.equal(
      code,
      0,
      said
        .split('\n')
        .filter(line => line.includes('not ok'))
        .join(' '),
    )
    t.match(said, /^ok \d+ - sockets are bounded/m, 'all of them ran')
  })
}
