/**
 * A path that does not take the longest packets, and does not say so: probes find out, the flow that cannot go on ends with the reason, and
 * the next connection has shorter packets (RFC 8899).
 */
import t from 'tap'
import { NearVerbs } from '../../lib/nic/both-ends.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { BaseRttProbe } from '../../lib/nic/feedback/base-rtt-probe.js'
import { PacketSizes } from '../../lib/nic/flow/packet-sizes.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { App, makePair, memoryOf, type Pair, PORT, pattern } from './pair.js'

/** As daemons are. */
const HOST: Partial<NicConfig> = {
  packetBytesMax: 1500,
  start: 'careful',
  baseRttWindowNs: 10 * SECOND,
  probeTimeoutLeastNs: 2_000_000,
  retransmitTimeoutLeastNs: 20_000_000,
  ackTimeoutNs: 268_000_000,
  cc: { name: 'auto', options: {} },
}

/** Hosts between which packets of more than `most` bytes vanish. */
function hole(most: number, options: Parameters<typeof makePair>[0] = {}): Pair & { lost: () => number } {
  const pair = makePair({ a: HOST, b: HOST, ...options })
  let lost = 0
  pair.tap.watch = frame => {
    const passes = frame.wireLength - frame.l3 <= most
    if (!passes) lost++
    return passes
  }
  return { ...pair, lost: () => lost }
}

/** Connects, and writes `bytes` in messages of `size` bytes. Returns the end of it, and whether all have arrived. */
function write(pair: Pair, bytes: number, size = bytes) {
  const left = new App(pair.a)
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  const data = pattern(5, bytes)
  const region = memoryOf(pair.a, data)
  const target = memoryOf(pair.b, Buffer.alloc(bytes))
  const begun = pair.network.now
  let at = 0
  const post = (now: number) => {
    if (at === bytes) return
    const place = { offset: at, remoteAddress: target.address + at, rkey: target.key }
    left.connection!.postSend(now, { id: at, opcode: WorkOpcode.RDMA_WRITE, region, length: size, ...place })
    at += size
  }
  left.onReady = now => post(now)
  left.onDone = now => post(now)
  pair.a.connect(begun, pair.b.address, PORT, left)
  const last = `completion ${bytes - size} SUCCESS`
  pair.until(() => left.closed > 0 || left.log.includes(last))
  const tookNs = pair.network.now - begun
  pair.network.runUntil(pair.network.now + 2 * SECOND)
  const { connection, error } = left
  connection!.disconnect(pair.network.now)
  pair.network.runUntil(pair.network.now + 5 * SECOND)
  pair.b.unlisten(PORT)
  return { ok: data.equals(target.buffer!), pathMtu: connection!.pathMtu, error, tookNs }
}

t.test('after a slow handshake, probes wait no longer than a round trip of the flow asks for', async t => {
  const probe = new BaseRttProbe(0, false, SECOND, true)
  probe.onSent(0)
  t.equal(probe.nextTimeout(), 2 * SECOND)
  probe.onTimeout(2 * SECOND)
  probe.expect(0)
  probe.onSent(2 * SECOND)
  t.equal(probe.nextTimeout(), 4 * SECOND, 'nothing has been acknowledged')
  probe.onTimeout(4 * SECOND)
  probe.expect(3 * MILLISECOND)
  probe.onSent(4 * SECOND)
  t.equal(probe.nextTimeout(), 4 * SECOND + 50 * MILLISECOND)
  probe.expect(100 * MILLISECOND)
  t.equal(probe.nextTimeout(), 4 * SECOND + 200 * MILLISECOND, 'a long path')
})

t.test(
  'probes that wait long are three before the first short one, whose answer says how long to wait',
  async t => {
    const probe = new BaseRttProbe(0, false, 300 * MILLISECOND, true)
    let now = 0
    const kinds: string[] = []
    while (!probe.done && kinds.length < 20) {
      kinds.push(probe.isShort ? 'short' : 'long')
      const { isShort } = probe
      probe.onSent(now)
      now = isShort ? now + MILLISECOND : probe.nextTimeout()
      if (isShort) probe.onAnswer(now, probe.sequence, null)
      else probe.onTimeout(now)
    }
    t.same(kinds, ['long', 'long', 'long', 'short', 'long', 'short', 'long', 'short'])
    t.ok(probe.onlyShort)
    t.equal(now, (3 * 600 + 2 * 50 + 3) * MILLISECOND)
  },
)

t.test('a passive end that measures T before its data waits no longer after a slow handshake', async t => {
  const host: Partial<NicConfig> = { ...HOST, start: 'line-rate' }
  const pair = hole(1400, { a: host, b: host })
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  new NearVerbs(pair.a, pair.b, SECOND).connect(pair.network.now, pair.b.address, PORT, new App(pair.a))
  t.equal(right.connection!.stats.rttNs, SECOND)
  const [region, target] = [memoryOf(pair.b, pattern(5, 20_000)), memoryOf(pair.a, Buffer.alloc(20_000))]
  const place = { offset: 0, remoteAddress: target.address, rkey: target.key }
  const begun = pair.network.now
  right.connection!.postSend(begun, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region,
    length: 20_000,
    ...place,
  })
  t.ok(pair.until(() => pair.b.packetSizes.bytesTo(pair.network.now, pair.a.address) === 1280))
  t.ok(pair.network.now - begun < SECOND)
})

t.test('the first connection ends with the reason, the next has packets that arrive', async t => {
  for (const v6 of [false, true]) {
    const pair = hole(1400, { v6 })
    const first = write(pair, 100_000)
    t.match(first.error, {
      code: 'WEIR_CONNECTION_LOST',
      message: /packets of 1500 bytes do not arrive there, shorter ones do: connect again, .* of 1280 bytes/,
    })
    t.ok(first.tookNs < SECOND, 'long before retransmissions are used up')
    const second = write(pair, 100_000)
    t.equal(second.error, null)
    t.ok(second.ok)
    t.equal(second.pathMtu, 1280 - (v6 ? 48 : 28) - 128 - 36)
    t.equal(pair.pool.inUse, 0)
  }
})

t.test('a path that takes even less', async t => {
  const pair = hole(1000)
  t.match(write(pair, 100_000).error?.message, /1500 bytes do not arrive.*1280/)
  t.match(write(pair, 100_000).error?.message, /1280 bytes do not arrive.*576/)
  const third = write(pair, 100_000)
  t.ok(third.ok)
  t.equal(third.pathMtu, 576 - 28 - 128 - 36)
  const tiny = hole(500)
  const errors = [1, 2, 3].map(() => write(tiny, 100_000).error?.message)
  t.match(errors[2], /RETRY_EXC_ERR/, 'there is nothing shorter')
})

t.test('a connection of short messages goes on, and the next one knows', async t => {
  const pair = hole(1400)
  const short = write(pair, 64 * 400, 64)
  t.equal(short.error, null)
  t.ok(short.ok)
  t.equal(short.pathMtu, 1308)
  t.equal(write(pair, 64).pathMtu, 1088)
})

t.test('a path that takes all packets, and one that loses many', async t => {
  const pair = hole(1500)
  for (const round of [1, 2]) {
    const { ok, pathMtu } = write(pair, 100_000)
    t.ok(ok && pathMtu === 1308, `${round}`)
  }
  t.equal(pair.lost(), 0, 'probes are no longer than data')
  const lossy = hole(1500)
  let count = 0
  const { watch } = lossy.tap
  lossy.tap.watch = (frame, now, fromA) => watch(frame, now, fromA) && ++count % 3 !== 0
  t.equal(write(lossy, 30_000).error, null)
  t.equal(write(lossy, 30_000).pathMtu, 1308)
})

t.test('a path MTU that a user has chosen stays', async t => {
  const pair = hole(1000, { a: { ...HOST, packetBytesMax: 0 } })
  for (const round of [1, 2]) t.match(write(pair, 20_000).error?.message, /RETRY_EXC_ERR/, `${round}`)
})

t.test('on a connection with a key probes are no longer than data', async t => {
  const secret = Buffer.alloc(32, 3)
  const pair = hole(1500, { a: { ...HOST, secret }, b: { ...HOST, secret } })
  t.ok(write(pair, 50_000).ok)
  t.equal(pair.lost(), 0)
})

t.test('after ten minutes the longest packets are tried again', async t => {
  const sizes = new PacketSizes(9000)
  const [one, other] = ['10.0.0.1', '10.0.0.2'].map(text => HostAddress.parse(text))
  t.equal(sizes.bytesTo(0, one!), 9000)
  t.same(
    [9000, 9000, 1500, 1280, 1500, 576].map((tried, i) => sizes.shorten(i, one!, tried)),
    [1500, 1500, 1280, 576, 576, 0],
  )
  t.equal(sizes.bytesTo(6, one!), 576)
  t.equal(sizes.bytesTo(5, other!), 9000)
  t.equal(sizes.bytesTo(4 + 600 * SECOND, one!), 9000)
  t.equal(new PacketSizes(0).shorten(0, one!, 0), 0)
})

t.test('an answer that comes late shows that long probes arrive', async t => {
  const run = (late: boolean) => {
    const probe = new BaseRttProbe(16, false, 0, true)
    let now = 0
    for (let attempt = 0; attempt < 8; attempt++) {
      t.notOk(probe.isShort)
      probe.onSent(now)
      now = probe.nextTimeout()
      probe.onTimeout(now)
    }
    if (late) probe.onOtherAnswer(18)
    const wasShort: boolean[] = []
    const onlyShort: boolean[] = []
    for (let attempt = 0; attempt < 5; attempt++) {
      wasShort.push(probe.isShort)
      probe.onSent(now)
      if (attempt % 2 === 0) probe.onAnswer(now + 5, probe.sequence, null)
      now = probe.nextTimeout()
      if (attempt % 2 === 1) probe.onTimeout(now)
      else now = 400 * MILLISECOND
      onlyShort.push(probe.onlyShort)
    }
    return { wasShort, onlyShort, measured: probe.bestNs === 5 }
  }
  t.same(run(false), {
    wasShort: [true, false, true, false, true],
    onlyShort: [false, false, false, false, true],
    measured: false,
  })
  t.same(run(true), {
    wasShort: Array(5).fill(false),
    onlyShort: Array(5).fill(false),
    measured: true,
  })
})

t.test('a path that loses everything for a while takes long packets afterwards', async t => {
  for (const awayMs of [300, 405, 460, 505]) {
    const pair = hole(1500)
    const { watch } = pair.tap
    let begunNs = -1
    // The connection manager's messages pass, and what follows is lost.
    pair.tap.watch = (frame, now, fromA) => {
      if (begunNs < 0 && frame.wireLength > 1000) begunNs = now
      const isAway = begunNs >= 0 && now - begunNs < awayMs * MILLISECOND
      return watch(frame, now, fromA) && !isAway
    }
    const { error, ok } = write(pair, 30_000)
    t.equal(error, null, `${awayMs} ms`)
    t.ok(ok)
    t.equal(write(pair, 30_000).pathMtu, 1308, 'the next connection has the longest packets too')
  }
})

t.test('connections at the same time find out the same', async t => {
  const pair = hole(1400)
  const apps = [1, 2, 3].map(() => new App(pair.a))
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  const source = memoryOf(pair.a, pattern(6, 50_000))
  const { address: remoteAddress, key: rkey } = memoryOf(pair.b, Buffer.alloc(50_000))
  for (const app of apps) {
    const work = { region: source, offset: 0, length: 50_000, remoteAddress, rkey }
    app.onReady = (now, connection) =>
      connection.postSend(now, { id: 1, opcode: WorkOpcode.RDMA_WRITE, ...work })
    pair.a.connect(pair.network.now, pair.b.address, PORT, app)
  }
  pair.until(() => apps.every(({ closed }) => closed > 0))
  for (const { error } of apps) t.match(error?.message, /1500 bytes do not arrive there, .* of 1280 bytes/)
  pair.b.unlisten(PORT)
  t.equal(write(pair, 50_000).pathMtu, 1088)
})
