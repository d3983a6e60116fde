/** A third party against the places of a host: requests that are never confirmed, connections that ask for nothing. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { HostedConnection } from '../../lib/host/hosted-connection.js'
import { HostedListener } from '../../lib/host/hosted-listener.js'
import { Queues } from '../../lib/host/queues.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { TRANSFER_PORT } from '../../lib/transfer/protocol/messages.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { App, connected, makePair, type PairOptions, PORT, pattern } from '../nic/pair.js'
import { usual, variants } from '../support/long.js'
import { newServiceIn, serviceIn } from '../support/transfer-service.js'
import { request, Wiretap } from './third-party.js'

/** Host `a` takes files; `b` can send some. */
async function world(t: Test, options: PairOptions = {}) {
  const pair = makePair({ ...options, poolSize: 4000 })
  const tap = new Wiretap(pair)
  const { left } = connected(pair)
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  const folder = t.testdir({ in: {}, out: {} })
  const time = { now: () => pair.network.now, wake: () => pair.kick() }
  const more = { time, retryAfterMs: 1, chunkBytes: 1 << 20, slots: 40 }
  const receiver = await serviceIn(folder, pair.a, more)
  const sender = await newServiceIn(folder, pair.b, { ...more, inbox: 'out' })
  t.teardown(() => receiver.close(0))
  const file = join(folder, 'file')
  writeFileSync(file, pattern(1, 100_000))
  /** Sends the file while the network runs. Returns true if it arrives unchanged. */
  const sends = async (retries = 0) => {
    const sending = sender.send(
      { path: file, host: '10.0.0.1', retries },
      new AbortController().signal,
      () => {},
    )
    let ended: unknown
    sending.then(
      () => {
        ended = 'sent'
      },
      error => {
        ended = error
      },
    )
    for (let round = 0; ended === undefined; round++) {
      pair.network.runUntil(pair.network.now + MILLISECOND)
      // The disk takes real time, and more of it on a busy machine. The network's time must not advance too
      // far meanwhile.
      await (round < 500 ? turn() : sleep(1))
    }
    if (ended !== 'sent') return ended
    return readFileSync(join(folder, 'in', 'file')).equals(readFileSync(file)) ? 'sent' : 'differs'
  }
  return { pair, tap, receiver, sends }
}

/** Addresses that nobody has. */
const forged = (n: number) => HostAddress.parse(`10.7.${(n >> 8) & 255}.${n & 255}`)

for (const count of variants([16, 2000], 1)) {
  t.test(`${count} requests from forged addresses take no place: ${count} packets`, async t => {
    const { pair, tap, receiver, sends } = await world(t)
    for (let n = 0; n < count; n++) request(pair, tap, TRANSFER_PORT, 0x100 + n, forged(n))
    t.equal(receiver.count, 0, 'none is a transfer')
    // They could be confirmed until then.
    pair.network.runUntil(pair.network.now + 100 * MILLISECOND)
    t.equal(await sends(), 'sent')
  })
}

usual('a table full of requests that nobody confirms has room for one that is: 500 packets', async t => {
  const pair = makePair({ a: { connectionsMax: 50 } })
  const tap = new Wiretap(pair)
  const { left } = connected(pair)
  pair.a.listen(PORT + 1, { accept: () => new App(pair.a) })
  for (let n = 0; n < 500; n++) request(pair, tap, PORT + 1, 0x100 + n, forged(n))
  t.equal(pair.a.table.count, 50)
  const early = new App(pair.b)
  pair.b.connect(pair.network.now, pair.a.address, PORT + 1, early)
  pair.until(() => early.closed > 0)
  t.equal(early.error?.code, 'WEIR_FULL', 'for 100 ms they might be confirmed')
  pair.network.runUntil(pair.network.now + 100 * MILLISECOND)
  const [other, own] = [new App(pair.b), new App(pair.a)]
  pair.b.connect(pair.network.now, pair.a.address, PORT + 1, other)
  pair.a.connect(pair.network.now, pair.b.address, PORT, own)
  t.ok(pair.until(() => other.log.includes('established') && own.log.includes('established')))
  t.equal(left.closed, 0, 'one that is established keeps its place')
  t.equal(pair.a.counters.cm.unconfirmedCutShort, 2, 'one for each of the two')
})

usual('a request keeps its place while others come from forged addresses: 900 packets', async t => {
  const { pair, tap, receiver } = await world(t, { a: { connectionsMax: 1024 } })
  const regions = pair.a.memory.size
  const app = new App(pair.b)
  pair.b.connect(pair.network.now, pair.a.address, TRANSFER_PORT, app)
  const answered = pair.passed.length
  pair.until(() => pair.passed.includes('>REP', answered))
  for (let n = 0; n < 900; n++) request(pair, tap, TRANSFER_PORT, 0x100 + n, forged(n))
  t.ok(pair.a.table.count > 900, 'all are asked for')
  t.equal(pair.a.memory.size, regions, 'none has memory')
  t.ok(pair.until(() => app.log.includes('established')))
  pair.network.runUntil(pair.network.now + 10 * MILLISECOND)
  await turn()
  t.equal(app.closed, 0)
  t.equal(receiver.count, 1)
  t.equal(pair.a.memory.size, regions + 1)
})

usual("requests from forged addresses take no application's backlog: 100 packets", async t => {
  const pair = makePair()
  const tap = new Wiretap(pair)
  connected(pair)
  const taken: HostedConnection[] = []
  const events = {
    created: () => {},
    established: (now: number, hosted: HostedConnection) => {
      if (!listener.onConfirmed(now, hosted.id, hosted.connection!)) return
      hosted.open(Queues.make(4))
      taken.push(hosted)
    },
    completions: () => {},
    closed: () => {},
  }
  let lastId = 0
  const regionOf = () => {
    throw new Error('nothing is posted')
  }
  const make = () => new HostedConnection(--lastId, regionOf, events, 0)
  const listener = new HostedListener(2, make)
  pair.a.listen(PORT + 1, listener)
  for (let n = 0; n < 100; n++) request(pair, tap, PORT + 1, 0x100 + n, forged(n))
  t.equal(listener.ids.length, 100)
  // Three at once: when the third asks, no other is confirmed.
  const apps = Array.from({ length: 3 }, () => new App(pair.b))
  for (const app of apps) pair.b.connect(pair.network.now, pair.a.address, PORT + 1, app)
  t.ok(pair.until(() => apps[2]!.closed > 0))
  t.match(apps[2]!.error, { code: 'WEIR_CONNECTION_LOST', message: /2 connections wait to be accepted/ })
  t.equal(taken.length, 2)
  t.same([apps[0]!.closed, apps[1]!.closed], [0, 0])
  const late = new App(pair.b)
  pair.b.connect(pair.network.now, pair.a.address, PORT + 1, late)
  pair.until(() => late.closed > 0)
  t.match(late.error, { code: 'WEIR_FULL', message: /2 connections wait to be accepted/ })
  listener.forget(taken[0]!.id)
  const next = new App(pair.b)
  pair.b.connect(pair.network.now, pair.a.address, PORT + 1, next)
  t.ok(pair.until(() => next.log.includes('established') && taken.length === 3))
  t.equal(next.closed, 0)
})

usual('40 connections that ask for nothing give way: 120 packets', async t => {
  const { pair, sends, receiver } = await world(t)
  const idle = Array.from({ length: 40 }, () => new App(pair.b))
  for (const app of idle) pair.b.connect(pair.network.now, pair.a.address, TRANSFER_PORT, app)
  pair.until(() => idle.every(app => app.log.includes('established')))
  t.equal(await sends(), 'sent')
  t.ok(receiver.count <= 40)
})

usual('a sender that finds no place tries again within its retries', async t => {
  const { pair, sends } = await world(t)
  let refusals = 2
  pair.a.unlisten(TRANSFER_PORT)
  const { WeirError } = await import('../../lib/errors.js')
  const receiver = pair.a
  const app = () => {
    if (refusals-- > 0) throw new WeirError('WEIR_FULL', 'no place')
    throw new WeirError('WEIR_REJECTED', 'not at all')
  }
  receiver.listen(TRANSFER_PORT, { accept: app })
  t.match(await sends(0), { code: 'WEIR_FULL', message: /no place$/ })
  refusals = 2
  t.match(await sends(5), { code: 'WEIR_REJECTED', message: /not at all/ })
})
