/** Two NICs over a wire, with real payloads and ICRCs: connections made, used and ended. */
import t, { type Test } from 'tap'
import { WeirError } from '../../lib/errors.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { SECOND } from '../../lib/time/nanos.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { App, connected, DELAY_NS, makePair, memoryOf, type Pair, PORT, pattern } from './pair.js'

function text(nic: Nic, words: string) {
  const region = memoryOf(nic, Buffer.from(words, 'latin1'))
  return { opcode: WorkOpcode.SEND, region, offset: 0, length: words.length }
}

/** Nothing is in use any more: no connection, no frame. */
function clean(t: Test, pair: Pair): void {
  pair.settle()
  t.equal(pair.pool.inUse, 0, 'every frame was given back')
  t.equal(pair.a.table.count + pair.b.table.count, 0, 'no flow is left')
}

for (const v6 of [false, true]) {
  t.test(`${v6 ? 'IPv6' : 'IPv4'}: connect, SEND, WRITE and READ both ways, disconnect`, async t => {
    const pair = makePair({ v6 })
    const { a, b, network } = pair
    const left = new App(a)
    const right = new App(b, Buffer.from('welcome'))
    let asked: unknown
    b.listen(PORT, {
      accept: (_now, { remote, port, privateData }) => {
        asked = [remote.toString(), port, Buffer.from(privateData).toString()]
        return right
      },
    })
    const connection = a.connect(network.now, b.address, PORT, left, { privateData: Buffer.from('hello') })
    t.equal(connection.established, false)
    t.ok(pair.until(() => left.log.includes('established') && right.log.includes('established')))
    t.same(asked, [a.address.toString(), PORT, 'hello'], 'the listener sees who asks, and what it says')
    t.equal(Buffer.from(connection.peerPrivateData).toString(), 'welcome')
    t.equal(Buffer.from(right.connection!.peerPrivateData).toString(), 'hello')
    t.equal(connection.established, true)
    t.equal(right.connection!.remote.toString(), a.address.toString())

    t.ok(connection.postSend(network.now, { ...text(a, 'ping'), id: 1 }))
    t.ok(right.connection!.postSend(network.now, { ...text(b, 'pong'), id: 2 }))
    t.ok(pair.until(() => left.log.includes('received pong') && right.log.includes('received ping')))

    const size = 50_001
    const here = memoryOf(a, pattern(1, size))
    const there = memoryOf(b, Buffer.alloc(size))
    const back = memoryOf(a, Buffer.alloc(size))
    const remote = { remoteAddress: there.address, rkey: there.key }
    const write = { id: 3, opcode: WorkOpcode.RDMA_WRITE, region: here, offset: 0, length: size, ...remote }
    const read = { id: 4, opcode: WorkOpcode.RDMA_READ, region: back, offset: 0, length: size, ...remote }
    t.ok(connection.postSend(network.now, write))
    t.ok(connection.postSend(network.now, read))
    t.ok(pair.until(() => left.log.includes('completion 4 SUCCESS')))
    t.ok(there.buffer!.equals(here.buffer!), 'the WRITE arrived exact')
    t.ok(back.buffer!.equals(here.buffer!), 'the READ brought it back')
    // The passive side reads too.
    const copy = memoryOf(b, Buffer.alloc(size))
    const fromHere = { remoteAddress: here.address, rkey: here.key }
    right.connection!.postSend(network.now, { ...read, id: 5, region: copy, ...fromHere })
    t.ok(pair.until(() => right.log.includes('completion 5 SUCCESS')))
    t.ok(copy.buffer!.equals(here.buffer!))

    connection.disconnect(network.now)
    t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
    t.equal(left.error, null)
    t.equal(right.error, null)
    const events = ['created', 'established', 'completion 1 SUCCESS', 'received pong', 'completion 3 SUCCESS']
    t.same([...left.log].sort(), [...events, 'completion 4 SUCCESS', 'closed'].sort())
    t.equal(left.log.at(-1), 'closed')
    for (const counters of [a.counters.rx, b.counters.rx]) {
      const { frames: _frames, ...dropped } = counters
      t.ok(
        Object.values(dropped).every(count => count === 0),
        'not a packet was dropped',
      )
    }
    clean(t, pair)
  })

  t.test(`${v6 ? 'IPv6' : 'IPv4'}: base RTT is the path's time, by hand`, async t => {
    for (const pathMtu of [256, 1024, 4096]) {
      const pair = makePair({ v6, a: { pathMtu } })
      const { left } = connected(pair)
      t.ok(pair.until(() => left.connection!.stats.baseRttNs > 0))
      // Ethernet 14, IP 20 or 40, UDP 8, BTH 12, ICRC 4; at 10 Gbit/s a byte takes 0.8 ns. A full probe there, an
      // answer back, with AETH 4 and what it answers 4, each over two links.
      const headers = 14 + (v6 ? 40 : 20) + 8 + 12 + 4
      const mtu = Math.min(pathMtu, 1024)
      const there = Math.ceil((headers + mtu) * 0.8)
      const back = Math.ceil((headers + 8) * 0.8)
      t.equal(left.connection!.pathMtu, mtu, 'the smaller of both ends')
      t.equal(left.connection!.stats.baseRttNs, there + back + 4 * DELAY_NS)
      const answers = pair.passed.filter(name => name.includes('NOTIFY')).length
      t.equal(answers, 5, 'the smallest of five')
    }
  })
}

t.test('T that is given is not measured', async t => {
  const pair = makePair({ a: { baseRttNs: 12_345 } })
  const { left, right } = connected(pair)
  pair.network.runUntil(pair.network.now + SECOND)
  t.equal(left.connection!.stats.baseRttNs, 12_345)
  t.equal(pair.passed.filter(name => name.includes('PROBE')).length, 0)
  t.equal(right.connection!.stats.baseRttNs, 0, 'nor does the passive side measure before it sends')
  right.connection!.postSend(pair.network.now, { ...text(pair.b, 'x'), id: 1 })
  t.ok(pair.until(() => left.log.includes('received x')))
  t.ok(right.connection!.stats.baseRttNs > 4 * DELAY_NS)
})

t.test("a listener's refusal reaches the active side with its message", async t => {
  const pair = makePair()
  pair.b.listen(PORT, {
    accept: () => {
      throw new WeirError('WEIR_NO_SPACE', 'the disk of h2 is full')
    },
  })
  const left = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.closed === 1))
  t.equal(left.error?.code, 'WEIR_REJECTED')
  t.match(left.error?.message, /the disk of h2 is full/)
  t.same(left.log, ['created', 'closed WEIR_REJECTED'])
  clean(t, pair)
})

t.test('nobody listens', async t => {
  const pair = makePair()
  const left = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.closed === 1))
  t.equal(left.error?.code, 'WEIR_REJECTED')
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  t.throws(() => pair.b.listen(PORT, { accept: () => new App(pair.b) }), { code: 'WEIR_BAD_STATE' })
  pair.b.unlisten(PORT)
  const again = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, again)
  t.ok(pair.until(() => again.closed === 1))
  t.equal(again.error?.code, 'WEIR_REJECTED')
  clean(t, pair)
})

t.test('a peer that does not answer is given up after a bounded time', async t => {
  const cm = { responseTimeoutExponent: 12, packetLifeTimeExponent: 8, maxCmRetries: 3 }
  const pair = makePair({ a: { cm } })
  const left = new App(pair.a)
  const start = pair.network.now
  pair.a.connect(start, HostAddress.parse('10.0.0.9'), PORT, left)
  t.ok(pair.until(() => left.closed === 1))
  t.equal(left.error?.code, 'WEIR_UNREACHABLE')
  t.match(left.error?.message, /10\.0\.0\.9/)
  // Response time 2^(12-8) ms plus twice the packet's life time 1 ms: 18 ms, once and three times more.
  t.equal(pair.network.now - start, 4 * 18_000_000)
  t.equal(pair.passed.filter(name => name === '>REQ').length, 4)
  clean(t, pair)
})

for (const who of ['active', 'passive', 'both'] as const) {
  t.test(
    `disconnect by the ${who} side: work is flushed, each end hears of the end once, after all else`,
    async t => {
      const pair = makePair()
      const { left, right } = connected(pair)
      const ends = { active: [left], passive: [right], both: [left, right] }[who]
      const size = 1_000_000
      const there = memoryOf(pair.b, Buffer.alloc(size))
      const here = memoryOf(pair.a, Buffer.alloc(size))
      const remote = { remoteAddress: there.address, rkey: there.key }
      for (let id = 0; id < 10; id++) {
        left.connection!.postSend(pair.network.now, {
          id,
          opcode: WorkOpcode.RDMA_WRITE,
          region: here,
          offset: 0,
          length: size,
          ...remote,
        })
      }
      pair.kick()
      pair.network.runUntil(pair.network.now + 2_000_000)
      for (const end of ends) end.connection!.disconnect(pair.network.now)
      for (const end of ends) end.connection!.disconnect(pair.network.now)
      t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
      clean(t, pair)
      t.equal(left.closed, 1)
      t.equal(right.closed, 1)
      t.equal(left.error, null)
      t.equal(right.error, null)
      const completions = left.log.filter(line => line.startsWith('completion'))
      t.equal(completions.length, 10, 'each work request completed once')
      t.equal(completions.at(-1), 'completion 9 WR_FLUSH_ERR')
      t.ok(completions[0]!.endsWith('SUCCESS'), 'some had been done')
      t.equal(left.log.at(-1), 'closed')
      t.equal(right.log.at(-1), 'closed')
    },
  )
}

t.test('disconnect before the connection is made', async t => {
  const pair = makePair()
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  const left = new App(pair.a)
  const connection = pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  connection.disconnect(pair.network.now)
  clean(t, pair)
  t.same(left.log, ['created', 'closed'])
  t.ok(right.closed <= 1)
  t.equal(right.log.includes('created'), right.closed === 1, 'an end that was made was ended too')
})

t.test('connections up to the bound, then WEIR_FULL; closed ones make room', async t => {
  const pair = makePair({ a: { connectionsMax: 20 }, b: { connectionsMax: 12 } })
  const passive: App[] = []
  pair.b.listen(PORT, {
    accept: () => {
      const app = new App(pair.b)
      passive.push(app)
      return app
    },
  })
  const open = () => {
    const app = new App(pair.a)
    pair.a.connect(pair.network.now, pair.b.address, PORT, app)
    return app
  }
  const active = Array.from({ length: 20 }, open)
  t.throws(open, { code: 'WEIR_FULL', message: /20 connections/ })
  t.ok(pair.until(() => active.every(app => app.log.length > 1)))
  const made = active.filter(app => app.log.includes('established'))
  const refused = active.filter(app => app.error !== null)
  t.equal(made.length, 12)
  t.equal(refused.length, 8)
  for (const app of refused) t.match(app.error, { code: 'WEIR_FULL', message: /12 connections/ })
  t.equal(passive.length, 12, 'a listener is not asked when there is no room')
  // All of them work, and the numbers of queue pairs differ.
  const qpns = new Set(made.map(app => app.connection!.id))
  t.equal(qpns.size, 12)
  for (const [i, app] of made.entries()) {
    app.connection!.postSend(pair.network.now, { ...text(pair.a, `from ${i}`), id: i })
  }
  t.ok(pair.until(() => passive.every(app => app.log.some(line => line.startsWith('received from')))))
  const received = passive.flatMap(app => app.log.filter(line => line.startsWith('received')))
  t.equal(new Set(received).size, 12, 'each got its own')
  for (const app of made) app.connection!.disconnect(pair.network.now)
  t.ok(pair.until(() => [...made, ...passive].every(app => app.closed === 1)))
  for (let round = 0; round < 5; round++) {
    pair.network.runUntil(pair.network.now + 60 * SECOND)
    const again = Array.from({ length: 12 }, open)
    t.ok(
      pair.until(() => again.every(app => app.log.includes('established'))),
      `round ${round}`,
    )
    for (const app of again) {
      t.notOk(qpns.has(app.connection!.id), 'a queue pair number is not used again soon')
      qpns.add(app.connection!.id)
      app.connection!.disconnect(pair.network.now)
    }
    t.ok(pair.until(() => again.every(app => app.closed === 1)))
  }
  clean(t, pair)
})

t.test("a queue pair's error ends both sides", async t => {
  const pair = makePair()
  const { left, right } = connected(pair)
  const here = memoryOf(pair.a, Buffer.alloc(100))
  left.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region: here,
    offset: 0,
    length: 100,
    remoteAddress: 0x1000,
    rkey: 0xdead,
  })
  t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
  t.equal(left.error?.code, 'WEIR_CONNECTION_LOST')
  t.match(left.error?.message, /REM_ACCESS_ERR/)
  t.ok(left.log.includes('completion 1 REM_ACCESS_ERR'))
  t.equal(left.log.at(-1), 'closed WEIR_CONNECTION_LOST')
  clean(t, pair)
  t.equal(right.closed, 1)
})

t.test('a peer that falls silent: the retries run out, and the connection is lost', async t => {
  const cm = { responseTimeoutExponent: 8, packetLifeTimeExponent: 6, maxCmRetries: 2 }
  const pair = makePair({ a: { cm, retryCount: 3, ackTimeoutNs: 1_000_000 }, b: { cm } })
  const { left } = connected(pair)
  pair.tap.watch = () => false
  left.connection!.postSend(pair.network.now, { ...text(pair.a, 'anybody?'), id: 1 })
  t.ok(pair.until(() => left.closed === 1))
  t.ok(left.log.includes('completion 1 RETRY_EXC_ERR') || left.log.includes('completion 1 WR_FLUSH_ERR'))
  t.equal(left.error?.code, 'WEIR_CONNECTION_LOST')
  pair.settle()
  t.equal(pair.a.table.count, 0)
  t.equal(pair.pool.inUse, 0)
})

t.test('a lost RTU: the first packet of data stands in for it', async t => {
  const pair = makePair()
  const left = new App(pair.a)
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  const note = pair.tap.watch
  let lost = 0
  pair.tap.watch = (frame, now, fromA) => {
    note(frame, now, fromA)
    if (pair.passed.at(-1) !== '>RTU') return true
    lost++
    return false
  }
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  left.onReady = (now, connection) => connection.postSend(now, { ...text(pair.a, 'first'), id: 1 })
  t.ok(pair.until(() => right.log.includes('received first')))
  t.equal(lost, 1)
  t.same(right.log, ['created', 'established', 'received first'])
  left.connection!.disconnect(pair.network.now)
  t.ok(pair.until(() => left.closed === 1 && right.closed === 1))
  clean(t, pair)
})

t.test('lost probes: T is measured by those that get through, or guessed when none does', async t => {
  for (const losses of [3, 1000]) {
    const pair = makePair()
    const note = pair.tap.watch
    let left = losses
    pair.tap.watch = (frame, now, fromA) => {
      note(frame, now, fromA)
      return !(pair.passed.at(-1) === '>PROBE' && left-- > 0)
    }
    const { left: app, right } = connected(pair)
    t.ok(pair.until(() => app.connection!.stats.baseRttNs > 0))
    if (losses === 3) t.equal(app.connection!.stats.baseRttNs, 866 + 53 + 4 * DELAY_NS)
    else t.equal(pair.passed.filter(name => name === '>PROBE').length, 15, 'a bounded number is tried')
    app.connection!.postSend(pair.network.now, { ...text(pair.a, 'x'), id: 1 })
    t.ok(pair.until(() => right.log.includes('received x')))
  }
})

t.test('handlers may connect, post and disconnect from within', async t => {
  const pair = makePair()
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  const left = new App(pair.a)
  const second = new App(pair.a)
  left.onReady = (now, connection) => connection.postSend(now, { ...text(pair.a, 'one'), id: 1 })
  left.onDone = (now, connection, completion) => {
    if (completion.id !== 1 || completion.isReceive) return
    connection.disconnect(now)
    pair.a.connect(now, pair.b.address, PORT, second)
  }
  second.onReady = (now, connection) => connection.disconnect(now)
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.closed === 1 && second.closed === 1 && right.closed === 2))
  t.same(left.log, ['created', 'established', 'completion 1 SUCCESS', 'closed'])
  t.same(second.log, ['created', 'established', 'closed'])
  clean(t, pair)
})

t.test("the host's link: frames leave back to back, on its exact timeline", async t => {
  // At 10 Gbit/s; an unpaced window of 100 packets, so that only the link holds the flow back.
  const cc = { name: 'fixed-window', options: { window: 102_400 } }
  const pair = makePair({ a: { cc } })
  const { left } = connected(pair)
  t.ok(pair.until(() => left.connection!.stats.baseRttNs > 0))
  const times: number[] = []
  pair.tap.watch = (frame, now, fromA) => {
    if (fromA && frame.payloadLength === 1024) times.push(now)
    return true
  }
  const here = memoryOf(pair.a, Buffer.alloc(100 * 1024))
  const there = memoryOf(pair.b, Buffer.alloc(100 * 1024))
  left.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region: here,
    offset: 0,
    length: 100 * 1024,
    remoteAddress: there.address,
    rkey: there.key,
  })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.equal(times.length, 100)
  // 14 + 20 + 8 + 12 + 1024 + 4 = 1082 B take 865.6 ns, in whole ones 866; the first packet's RETH is seen before.
  for (let n = 1; n < times.length; n++) {
    if (times[n]! - times[n - 1]! !== 866) t.fail(`gap ${n} is ${times[n]! - times[n - 1]!} ns`)
  }
})

t.test('many connections at once: each gets its bytes, and none more than its share', async t => {
  const count = 200
  const size = 20_000
  const pair = makePair({
    a: { baseRttNs: 10_000, connectionsMax: count },
    b: { connectionsMax: count },
    poolSize: 20_000,
  })
  const apps: App[] = []
  for (let n = 0; n < count; n++) {
    pair.b.unlisten(PORT)
    apps.push(connected(pair).left)
  }
  const sources = apps.map((_app, n) => memoryOf(pair.a, pattern(n, size)))
  const targets = apps.map(() => memoryOf(pair.b, Buffer.alloc(size)))
  for (const [n, app] of apps.entries()) {
    app.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.RDMA_WRITE,
      region: sources[n]!,
      offset: 0,
      length: size,
      remoteAddress: targets[n]!.address,
      rkey: targets[n]!.key,
    })
  }
  const done = () => apps.filter(app => app.log.includes('completion 1 SUCCESS')).length
  t.ok(pair.until(() => done() > 0))
  const least = Math.min(...apps.map(app => app.connection!.stats.sentBytes))
  t.ok(least >= size - 2 * 1024, `when the first is done, the slowest has sent ${least} of ${size} B`)
  t.ok(pair.until(() => done() === count))
  t.ok(targets.every((target, n) => target.buffer!.equals(sources[n]!.buffer!)))
})

t.test('a driver that calls too often changes nothing', async t => {
  const play = (nervous: boolean) => {
    const pair = makePair()
    const log: string[] = []
    const note = pair.tap.watch
    pair.tap.watch = (frame, now, fromA) => {
      note(frame, now, fromA)
      log.push(`${now} ${pair.passed.at(-1)}`)
      return true
    }
    const left = new App(pair.a)
    const right = new App(pair.b)
    pair.b.listen(PORT, { accept: () => right })
    pair.a.connect(pair.network.now, pair.b.address, PORT, left)
    left.onReady = (now, connection) => {
      for (let id = 0; id < 20; id++) connection.postSend(now, { ...text(pair.a, `message ${id}`), id })
    }
    pair.kick()
    while (right.log.filter(line => line.startsWith('received')).length < 20 && pair.network.step()) {
      if (!nervous) continue
      for (const nic of [pair.a, pair.b]) nic.onTimeout(pair.network.now)
      pair.kick()
    }
    return log
  }
  const calm = play(false)
  t.ok(calm.length > 40)
  t.same(play(true), calm)
})

t.test('a loop that wakes late makes good the link time within the slack, and no more', async t => {
  const cc = { name: 'fixed-window', options: { window: 1_000_000 } }
  const pair = makePair({ a: { cc, slackNs: 10_000 } })
  const { left } = connected(pair)
  t.ok(pair.until(() => left.connection!.stats.baseRttNs > 0))
  pair.network.runUntil(pair.network.now + 1_000_000)
  const here = memoryOf(pair.a, Buffer.alloc(500_000))
  left.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.RDMA_WRITE,
    region: here,
    offset: 0,
    length: 500_000,
    remoteAddress: 0x10000,
    rkey: 1,
  })
  // From here on the test drives the NIC by hand.
  const take = (now: number): number[] => {
    const departures: number[] = []
    for (let frame = pair.a.pollTransmit(now); frame !== null; frame = pair.a.pollTransmit(now)) {
      departures.push(frame.departNs)
      pair.pool.give(frame)
    }
    return departures
  }
  let now = pair.network.now
  const first = take(now)
  t.ok(first.at(-1)! > now, 'until the link is busy beyond now')
  t.same(take(now), [], 'then nothing more')
  t.equal(pair.a.nextTimeout(), first.at(-1), 'until it is free')
  const last = first.at(-1)!
  now = last + 5 * 866 + 100
  const late = take(now)
  t.same(
    late,
    [1, 2, 3, 4, 5, 6].map(n => last + n * 866),
    'five packet times late: the packets leave as if it had been in time',
  )
  now += 1_000_000
  const much = take(now)
  t.equal(much[0], now - 10_000 + 866, 'a millisecond late: ten microseconds of it are made good')
  t.equal(much.length, Math.ceil(10_000 / 866))
})

t.test('a peer that is no Weir host gets neither shims nor probes', async t => {
  const pair = makePair()
  const note = pair.tap.watch
  const shims: boolean[] = []
  pair.tap.watch = (frame, now, fromA) => {
    // Without the mark at its beginning, the private data is not Weir's. (The MAC address contains one, too.)
    const mark = frame.bytes.subarray(0, frame.length).indexOf('WEIR', frame.l4)
    if (mark >= 0) {
      frame.bytes.fill(0, mark, mark + 4)
      icrc.write(frame)
    }
    shims.push(frame.shim >= 0)
    return note(frame, now, fromA)
  }
  const { left, right } = connected(pair)
  left.connection!.postSend(pair.network.now, { ...text(pair.a, 'plain'), id: 1 })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.ok(right.log.includes('received plain'))
  t.notOk(shims.includes(true))
  t.notOk(pair.passed.some(name => name.includes('PROBE')))
  t.ok(left.connection!.stats.baseRttNs > 4 * DELAY_NS, 'T is the round trip of the connection manager')
})

t.test("what the receiver's buffer takes at once is shared by the flows that send to it", async t => {
  const pair = makePair({ a: { baseRttNs: 100_000 }, b: { receiveBudgetBytes: 12_000 } })
  const apps = [0, 1, 2].map(() => {
    pair.b.unlisten(PORT)
    return connected(pair).left
  })
  const target = memoryOf(pair.b, Buffer.alloc(100_000))
  const source = memoryOf(pair.a, Buffer.alloc(100_000))
  const send = (app: App, id: number) =>
    app.connection!.postSend(pair.network.now, {
      id,
      opcode: WorkOpcode.RDMA_WRITE,
      region: source,
      offset: 0,
      length: 100_000,
      remoteAddress: target.address,
      rkey: target.key,
    })
  t.equal(apps[0]!.connection!.stats.windowBytes, 12_000, 'well under the bandwidth-delay product of 125,000')
  send(apps[0]!, 1)
  t.ok(pair.until(() => apps[0]!.log.includes('completion 1 SUCCESS')))
  t.equal(apps[0]!.connection!.stats.windowBytes, 12_000)
  for (const app of apps) send(app, 2)
  t.ok(pair.until(() => apps.every(app => app.log.includes('completion 2 SUCCESS'))))
  for (const app of apps) t.equal(app.connection!.stats.windowBytes, 4000)
})

t.test('the NIC hands out one frame at a time, however many flows may send', async t => {
  const pair = makePair({ a: { baseRttNs: 10_000 } })
  const apps = [0, 1, 2, 3].map(() => {
    pair.b.unlisten(PORT)
    return connected(pair).left
  })
  pair.network.runUntil(pair.network.now + 1_000_000)
  for (const app of apps) app.connection!.postSend(pair.network.now, { ...text(pair.a, 'x'), id: 1 })
  let now = pair.network.now
  const seen = new Set<number>()
  for (let n = 0; n < 4; n++) {
    const frame = pair.a.pollTransmit(now)!
    seen.add(frame.view.getUint32(frame.bth + 4) & 0xffffff)
    t.equal(pair.a.pollTransmit(now), null, 'the link is busy')
    if (n < 3) t.equal(pair.a.nextTimeout(), frame.departNs)
    now = frame.departNs
    pair.pool.give(frame)
  }
  t.equal(seen.size, 4, 'each flow in its turn')
})

t.test('a NIC like another one has its settings, but for its own', async t => {
  const common = {
    pool: new FramePool(4),
    cc: { name: 'hpcc', options: { minRate: 1e9 } },
    int: { format: 'compact', hops: 3 },
    telemetry: { everyPackets: 4 },
    retryCount: 2,
    queueDepth: 16,
  } as const
  const first = {
    address: HostAddress.parse('10.0.0.1'),
    random: () => 1,
    lineRateBps: 10e9,
    dscpOfPriority: [0, 8, 16, 24, 32, 40, 48, 56],
    ackTimeoutNs: 1e6,
    connectionsMax: 20,
  }
  const second = {
    address: HostAddress.parse('10.0.0.2'),
    random: () => 2,
    lineRateBps: 25e9,
    dscpOfPriority: [0, 8, 16, 26, 32, 40, 48, 56],
    ackTimeoutNs: 2e6,
    connectionsMax: 30,
  }
  const nic = new Nic({ ...common, ...first })
  const like = Nic.like(nic, second)
  const { onDefect: _, ...settings } = like.settings
  const { onDefect: __, ...expected } = new Nic({ ...common, ...second }).settings
  t.same(settings, expected)
  t.equal(like.address, second.address)
  t.equal(like.table.capacity, 32)
  for (const [name, value] of [
    ['connectionsMax', 0],
    ['lineRateBps', 0],
    // Below the least rate of the controller.
    ['lineRateBps', 0.5e9],
    ['ackTimeoutNs', -1],
    ['dscpOfPriority', [1]],
    ['dscpOfPriority', [0, 8, 16, 24, 32, 40, 48, 64]],
  ] as const) {
    const own = { ...second, [name]: value }
    const refusals = [() => new Nic({ ...common, ...own }), () => Nic.like(nic, own)].map(make => {
      try {
        make()
      } catch (error) {
        return String(error)
      }
      return 'accepted'
    })
    t.equal(refusals[1], refusals[0], `${name} ${value}: ${refusals[0]}`)
  }
})
