/** Queue pairs that two programs connect without the connection manager, as ibv_rc_pingpong does. */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { App, makePair, memoryOf, type PairOptions, pattern, refusal } from './pair.js'

/** Both ends, connected. */
function ends(options: PairOptions = {}, lossy = false) {
  const pair = makePair(options)
  const { watch } = pair.tap
  let frames = 0
  pair.tap.watch = (frame, now, fromA) => watch(frame, now, fromA) && !(lossy && ++frames % 11 === 0)
  const [left, right] = [new App(pair.a), new App(pair.b)]
  const { now } = pair.network
  const one = pair.a.createQueuePair(now, pair.b.address, left)
  const other = pair.b.createQueuePair(now, pair.a.address, right)
  pair.a.connectQueuePair(now, one.qpn, other)
  pair.b.connectQueuePair(now, other.qpn, one)
  return { pair, left, right, one, other }
}

t.test('work of both ends, with receives that were posted before', async t => {
  for (const [options, lossy] of [
    [{}, false],
    [{ v6: true }, false],
    [{}, true],
  ] as [PairOptions, boolean][]) {
    const { pair, left, right } = ends(options, lossy)
    t.same(
      [left.log, right.log],
      [
        ['created', 'established'],
        ['created', 'established'],
      ],
    )
    const data = pattern(5, 30_000)
    const [from, to] = [memoryOf(pair.a, data), memoryOf(pair.b, Buffer.alloc(data.length))]
    const { now } = pair.network
    const write = {
      opcode: WorkOpcode.RDMA_WRITE,
      remoteAddress: to.address,
      rkey: to.key,
      length: data.length,
    }
    left.connection!.postSend(now, { id: 1, region: from, offset: 0, ...write })
    left.connection!.postSend(now, { id: 2, opcode: WorkOpcode.SEND, region: from, offset: 0, length: 0 })
    right.onDone = (at, connection, { isReceive }) => {
      if (isReceive)
        connection.postSend(at, { id: 3, opcode: WorkOpcode.SEND, region: to, offset: 0, length: 5 })
    }
    t.ok(pair.until(() => left.log.some(line => line.startsWith('received'))))
    t.ok(to.buffer!.equals(data))
    t.notOk(
      pair.passed.some(name => /REQ|REP|RTU/.test(name)),
      'the connection manager has said nothing',
    )
  }
})

t.test('path MTU: just what is asked for, as the other end is given the same', async t => {
  // An IP packet of 4186 bytes holds 4096 of payload: IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4, and room for immediate data.
  const longest = 4186
  const network = { pathMtu: 2048, packetBytesMax: longest }
  const pair = makePair({ a: network, b: network, slotBytes: 8192 })
  const { now } = pair.network
  const lengths = new Set<number>()
  const { watch } = pair.tap
  pair.tap.watch = (frame, at, fromA) => {
    if (fromA) lengths.add(frame.length)
    return watch(frame, at, fromA)
  }
  for (const [asked, taken] of [
    [4096, 4096],
    [undefined, 2048],
    [1024, 1024],
  ] as const) {
    const [left, right] = [new App(pair.a), new App(pair.b)]
    const options = asked === undefined ? {} : { pathMtu: asked }
    const one = pair.a.createQueuePair(now, pair.b.address, left, options)
    const other = pair.b.createQueuePair(now, pair.a.address, right, options)
    pair.a.connectQueuePair(now, one.qpn, other)
    pair.b.connectQueuePair(now, other.qpn, one)
    t.equal(left.connection!.pathMtu, taken)
    const to = memoryOf(pair.b, Buffer.alloc(8 * 4096))
    lengths.clear()
    left.connection!.postSend(now, {
      id: 1,
      opcode: WorkOpcode.RDMA_WRITE,
      region: memoryOf(pair.a, pattern(3, 8 * 4096)),
      offset: 0,
      length: 8 * 4096,
      remoteAddress: to.address,
      rkey: to.key,
    })
    pair.settle()
    t.ok(to.buffer!.equals(pattern(3, 8 * 4096)))
    const headers = 14 + 20 + 8 + 12 + 4
    t.ok(lengths.has(taken + headers), `packets of ${taken} bytes: frames of ${[...lengths]}`)
    t.equal(Math.max(...lengths), taken + headers + 16, 'the first has the RETH')
  }
  const short = makePair({ a: { pathMtu: 1024, packetBytesMax: 1500 } })
  for (const make of ['createQueuePair', 'createUnreliablePair'] as const) {
    const tooLong = () => short.a[make](0, short.b.address, new App(short.a) as never, { pathMtu: 2048 })
    t.match(refusal(tooLong, 'WEIR_BAD_ARGUMENT'), /path MTU of 1024 at most, not 2048/)
  }
})

t.test('each end ends by itself, at once, and leaves nothing behind', async t => {
  const { pair, left, right, one } = ends()
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  t.same([left.closed, left.error, right.closed], [1, null, 0])
  right.connection!.disconnect(pair.network.now)
  pair.settle()
  t.same([pair.a.table.count, pair.b.table.count, pair.pool.inUse], [0, 0, 0])
  const again = () => pair.a.connectQueuePair(pair.network.now, one.qpn, { qpn: 5, psn: 5 })
  t.match(refusal(again, 'WEIR_BAD_STATE'), /is closed/)
})

t.test('what cannot be is refused', async t => {
  const { pair, one } = ends()
  const { now } = pair.network
  const make = (address: string) => () =>
    pair.a.createQueuePair(now, HostAddress.parse(address), new App(pair.a))
  t.match(refusal(make('fd00::9'), 'WEIR_BAD_ARGUMENT'), /family/)
  const twice = () => pair.a.connectQueuePair(now, one.qpn, { qpn: 5, psn: 5 })
  t.match(refusal(twice, 'WEIR_BAD_STATE'), /has been connected/)
  const unconnected = pair.a.createQueuePair(now, pair.b.address, new App(pair.a))
  for (const qpn of [0, 1, 1 << 24]) {
    const beyond = () => pair.a.connectQueuePair(now, unconnected.qpn, { qpn, psn: 0 })
    t.match(refusal(beyond, 'WEIR_BAD_ARGUMENT'), /^queue pair \d+: qpn is 2 to 16777215/)
  }
  const keyed = makePair({ a: { secret: Buffer.alloc(32, 1) } })
  const withKey = () => keyed.a.createQueuePair(0, keyed.b.address, new App(keyed.a))
  t.match(refusal(withKey, 'WEIR_UNSUPPORTED'), /key/)
})
