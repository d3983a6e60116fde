/** Mistakes of applications and configurations: the call refuses them, and no resource remains in use. */
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import type { ConnectOptions } from '../../lib/nic/types.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { App, connected, makePair, memoryOf, PORT, RATE_BPS, refusal } from './pair.js'

t.test('connect refuses at the call what cannot be, and holds nothing of it', async t => {
  const pair = makePair({ a: { connectionsMax: 2 } })
  const { a, b, network } = pair
  const v4 = b.address
  const cases: [string, HostAddress, number, ConnectOptions, RegExp][] = [
    ['port 0', v4, 0, {}, /port/],
    ['port 65536', v4, 65_536, {}, /port/],
    ['an address of the other family', HostAddress.parse('fd00::2'), PORT, {}, /fd00::2/],
    ['too much private data', v4, PORT, { privateData: new Uint8Array(57) }, /56/],
    ['an MTU that is none', v4, PORT, { pathMtu: 1000 }, /1000/],
    ['an unknown controller', v4, PORT, { cc: { name: 'hppc', options: {} } }, /hppc/],
    ['an unknown option of one', v4, PORT, { cc: { name: 'hpcc', options: { etta: 1 } } }, /etta/],
    ['an option out of range', v4, PORT, { cc: { name: 'hpcc', options: { eta: 7 } } }, /eta/],
    ['a source port below the range', v4, PORT, { sourcePort: 4791 }, /4791/],
    ['a source port above it', v4, PORT, { sourcePort: 0x10000 }, /65536/],
    ['a T below 0', v4, PORT, { baseRttNs: -5 }, /-5/],
    ['a T that is no number', v4, PORT, { baseRttNs: Number.NaN }, /NaN/],
  ]
  for (const [what, remote, port, options, words] of cases) {
    const app = new App(a)
    const message = refusal(() => a.connect(network.now, remote, port, app, options), 'WEIR_BAD_ARGUMENT')
    t.match(message, words, what)
    t.same(app.log, [], `${what}: the handler hears nothing of it`)
    t.equal(a.table.count, 0, `${what}: no flow is left`)
  }
  const { left } = connected(pair)
  t.ok(left.connection!.established, 'the next one works')
})

t.test('a listener whose words are too long refuses the connection, and harms nobody else', async t => {
  const pair = makePair()
  const right = new App(pair.b, new Uint8Array(81))
  pair.b.listen(PORT, { accept: () => right })
  const left = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.closed === 1))
  t.equal(left.error?.code, 'WEIR_REJECTED')
  pair.settle()
  t.equal(pair.b.table.count, 0)
  t.equal(pair.pool.inUse, 0)
  t.equal(right.log.includes('created'), right.closed === 1, 'an end that was made was ended too')
  pair.b.unlisten(PORT)
  connected(pair)
})

t.test('a connection that is closed takes no more work, and does not touch its successor', async t => {
  const pair = makePair({ a: { connectionsMax: 1 }, b: { connectionsMax: 4 } })
  const { left: old } = connected(pair)
  const dead = old.connection!
  dead.disconnect(pair.network.now)
  t.ok(pair.until(() => old.closed === 1))
  pair.settle()
  pair.b.unlisten(PORT)
  const { left, right } = connected(pair)
  t.ok(pair.until(() => left.connection!.stats.baseRttNs > 0))
  const region = memoryOf(pair.a, Buffer.alloc(200_000))
  const target = memoryOf(pair.b, Buffer.alloc(200_000))
  const work = { id: 7, opcode: WorkOpcode.SEND, region, offset: 0, length: 5 }
  const write = {
    ...work,
    opcode: WorkOpcode.RDMA_WRITE,
    length: 200_000,
    remoteAddress: target.address,
    rkey: target.key,
  }
  left.connection!.postSend(pair.network.now, write)
  // While the successor waits for its pacing time, in the place of the old one.
  pair.kick()
  for (let n = 0; n < 50; n++) {
    pair.network.step()
    const before = old.log.length
    t.equal(dead.postSend(pair.network.now, work), false)
    t.equal(dead.postReceive({ id: 1, region, offset: 0, length: 5 }), false)
    dead.disconnect(pair.network.now)
    t.equal(old.log.length, before)
  }
  const start = pair.network.now
  t.ok(pair.until(() => left.log.includes('completion 7 SUCCESS')))
  // At nearly 10 Gbit/s 200 KB take 0.2 ms; a flow forgotten by the scheduler would wait for its timeout, 67 ms.
  t.ok(pair.network.now - start < 5_000_000, `took ${pair.network.now - start} ns`)
  t.equal(right.closed, 0)
  t.equal(old.closed, 1)
})

t.test('a NIC refuses settings out of their ranges', async t => {
  const pool = new FramePool(10)
  const base = { address: HostAddress.parse('10.0.0.1'), pool, random: () => 5, lineRateBps: RATE_BPS }
  const cases: [object, RegExp][] = [
    [{ lineRateBps: 0 }, /lineRateBps/],
    [{ lineRateBps: Number.NaN }, /lineRateBps/],
    [{ lineRateBps: 2e12 }, /lineRateBps/],
    [{ packetsInFlightMax: 1000 }, /packetsInFlightMax/],
    [{ packetsInFlightMax: 1 }, /packetsInFlightMax/],
    [{ int: { format: 'wide', hops: 0 } }, /hops/],
    [{ int: { format: 'wide', hops: 16 } }, /hops/],
    [{ int: { format: 'narrow', hops: 5 } }, /narrow/],
    [{ connectionsMax: 0 }, /connectionsMax/],
    [{ connectionsMax: 65_535 }, /connectionsMax/],
    [{ pathMtu: 1500 }, /pathMtu/],
    [{ cc: { name: 'nope', options: {} } }, /nope/],
    [{ cc: { name: 'hpcc', options: { eta: 2 } } }, /eta/],
    [{ ackEveryPackets: -1 }, /ackEveryPackets/],
    [{ retryCount: 8 }, /retryCount/],
    [{ rnrRetry: 8 }, /rnrRetry/],
    [{ queueDepth: 0 }, /queueDepth/],
    [{ ackTimeoutNs: -1 }, /ackTimeoutNs/],
    [{ ackTimeoutNs: Number.NaN }, /ackTimeoutNs/],
    [{ slackNs: -1 }, /slackNs/],
    [{ baseRttNs: -1 }, /baseRttNs/],
    [{ receiveBudgetBytes: -1 }, /receiveBudgetBytes/],
    [{ sourcePorts: [70_000] }, /sourcePorts/],
    [{ sourcePorts: [] }, /sourcePorts/],
    [{ icrc: 'half' }, /icrc/],
  ]
  for (const [settings, words] of cases) {
    const message = refusal(() => new Nic({ ...base, ...settings } as never), 'WEIR_BAD_ARGUMENT')
    t.match(message, words, JSON.stringify(settings))
  }
  t.ok(new Nic({ ...base, slackNs: undefined, cc: undefined }), 'undefined means the default')
})

t.test(
  'an empty frame pool holds up, it does not lock up: what waits goes when frames come back',
  async t => {
    const pair = makePair({ poolSize: 64 })
    const { left, right } = connected(pair)
    t.ok(pair.until(() => left.connection!.stats.baseRttNs > 0))
    const held = []
    for (let frame = pair.pool.take(); frame !== null; frame = pair.pool.take()) held.push(frame)
    const region = memoryOf(pair.a, Buffer.from('late but there'))
    left.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.SEND,
      region,
      offset: 0,
      length: 14,
    })
    pair.kick()
    const from = pair.network.now
    let steps = 0
    while (pair.network.now < from + 1_000_000 && steps < 100_000 && pair.network.step()) steps++
    t.ok(pair.network.now >= from + 1_000_000, `time goes on: ${steps} steps, ${pair.network.now - from} ns`)
    t.ok(pair.a.counters.tx.noFrame > 0)
    for (const frame of held) pair.pool.give(frame)
    const back = pair.network.now
    t.ok(pair.until(() => right.log.includes('received late but there')))
    t.ok(pair.network.now - back < 1_000_000, 'soon after')
  },
)
