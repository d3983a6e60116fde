/**
 * An unknown peer sends packets of all opcodes with random fields, from its own address, from that of another and to queue pairs of its
 * own and of others. Nothing throws, memory is bounded, each drop is counted, and connections of honest peers complete with exact bytes.
 * `npm test` sends 25,000 packets, the long tests a million.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Nic } from '../../lib/nic/nic.js'
import { Random } from '../../lib/sim/random.js'
import { MICROSECOND } from '../../lib/time/nanos.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { connected, makePair } from '../nic/pair.js'
import { isLong } from '../support/long.js'
import { drawnSeed, fixedSeed } from '../support/seeds.js'
import { sendAny } from './any-packet.js'
import { GuardedTarget, HonestWork, ROGUE, ROGUE_QPN, RogueEnd } from './mad-peer.js'

const PACKETS = isLong ? 1_000_000 : 25_000
/** Packets between two rounds of honest work. */
const BURST = 200
const HEAP_GROWTH_MAX = 16e6
const FREE_QPN = 0x123456
const QKEY = 0x0bad_cafe

/** Packets that the NIC has dropped, refused, or handed to its connection manager: each by one counter. */
function accounted({ counters: { rx, cm, datagram } }: Nic): number {
  const { frames: _frames, ...drops } = rx
  const { sent: _sent, ...datagrams } = datagram
  const counts = [...Object.values(drops), ...Object.values(datagrams)]
  return counts.reduce((sum, count) => sum + count, 0) + cm.received
}

const gc = () => {
  setFlagsFromString('--expose_gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}

t.test(`${PACKETS} packets of a mad peer harm no connection`, async t => {
  const random = new Random(isLong ? drawnSeed(t) : fixedSeed(t, 16))
  const pair = makePair({ poolSize: 3000, a: { defects: 'throw' } })
  const { left, right } = connected(pair)
  pair.tap.watch = () => true
  const rogue = new RogueEnd(pair)
  rogue.begin()
  const honest = left.connection!.id
  const flow = pair.a.table.find(honest)!
  const work = new HonestWork(pair, left, right)
  const { a, network } = pair
  const target = new GuardedTarget(pair, by => a.createDatagramPair(network.now, by, { qkey: QKEY }))
  const unreliable = new GuardedTarget(pair, by =>
    a.createUnreliablePair(network.now, ROGUE, by, { pathMtu: 256 }),
  )
  unreliable.pair.connect(ROGUE_QPN)
  const uncounted = new Map<string, number>()
  let [sent, heapBefore] = [0, 0]
  // From then on the port is known that the peer sends from.
  work.post()
  t.ok(work.finish())
  const packet = () => {
    const own = random.below(4) === 0
    const paced = [target.pair.id, target.pair.id, unreliable.pair.id]
    const others = [honest, honest, 0, 1, 1, FREE_QPN, random.below(1 << 24), ...paced]
    const qpn = own ? rogue.qpn : others[random.below(others.length)]!
    // Half of what a datagram queue pair gets is a datagram, and most know its Q_Key.
    const isDatagram = qpn === target.pair.id && random.below(2) === 0
    const isUnreliable = qpn === unreliable.pair.id && random.below(2) === 0
    const service = isUnreliable ? Opcode.UC_SEND_FIRST + random.below(12) : random.below(256)
    const opcode = isDatagram ? Opcode.UD_SEND_ONLY + random.below(2) : service
    const known = isDatagram && random.below(4) > 0 ? { qkey: QKEY } : {}
    const expected = own ? (pair.a.table.find(qpn)?.qp.nextReceiveSeq ?? 0) : flow.qp.nextReceiveSeq
    const psn = (expected + [0, 0, -1, 1, random.u32()][random.below(5)]!) & 0xffffff
    const forged = !own && random.below(3) === 0
    const sourcePort = 0xc000 + random.below(0x1000)
    if (forged && sourcePort === flow.path.sourcePort) return
    const from = forged ? pair.b.address : ROGUE
    const rightIcrc = random.below(4) !== 0
    const before = accounted(pair.a)
    sendAny(pair, pair.a, { from, sourcePort, opcode, qpn, psn, rightIcrc, ...known }, random)
    sent++
    // Its own queue pair counts by itself, and an unreliable one counts whole messages. A switch speaks in the name of the peer, without its port.
    const ofSwitch = opcode === Opcode.DIRECT_NOTIFY || opcode === Opcode.FAIR_RATE
    if (own || qpn === unreliable.pair.id || (forged && ofSwitch) || accounted(pair.a) === before + 1) return
    uncounted.set(`0x${opcode.toString(16)} to ${qpn}`, accounted(pair.a) - before)
  }
  while (sent < PACKETS) {
    if (!rogue.lives && !pair.until(() => !rogue.isOpen))
      t.fail('the connection of the mad peer does not end')
    if (!rogue.isOpen) rogue.begin()
    work.post()
    for (let n = 0; n < BURST; n++) {
      packet()
      // In between what the honest peers send arrives.
      if (n % 10 === 0) pair.network.runUntil(pair.network.now + MICROSECOND)
    }
    if (!t.ok(work.finish(), `honest work after ${sent} packets`)) return
    if (heapBefore === 0 && sent > PACKETS / 5) heapBefore = gc()
  }
  t.same([...uncounted], [], 'each packet has its counter, and only one')
  t.ok(rogue.ends > 10, `its own connection ended ${rogue.ends} times`)
  t.same([left.closed, right.closed], [0, 0])
  const { received, droppedOpcode, droppedQkey, droppedNoRoom } = pair.a.counters.datagram
  t.ok(Math.min(received, droppedOpcode, droppedQkey, droppedNoRoom) > 0, 'datagrams end in all ways')
  const { unreliable: uc } = pair.a.counters
  const ways = [uc.received, uc.droppedOpcode, uc.droppedSequence, uc.droppedLength, uc.droppedAccess]
  t.ok(Math.min(...ways, uc.droppedNoRoom) > 0, `unreliable messages end in all ways: ${ways}`)
  t.ok(target.isGuarded && unreliable.isGuarded, 'nothing is written outside its receive')
  t.ok(pair.a.table.count <= 3 + 64, `${pair.a.table.count} connections`)
  const growth = gc() - heapBefore
  t.ok(growth < HEAP_GROWTH_MAX, `the heap has grown by ${growth} bytes since a fifth of them`)
  rogue.connection?.disconnect(pair.network.now)
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  t.equal(pair.pool.inUse, 0, 'all frames are back')
})

/** Requests of the reliable service (IBA 9.4, table of opcodes); 0x0d to 0x12 are answers, 0x15 and from 0x18 on none. */
const isRcRequest = (opcode: number) =>
  opcode <= 0x0c || opcode === 0x13 || opcode === 0x14 || opcode === 0x16 || opcode === 0x17

t.test('a peer ends its connection only by a request with the expected PSN', async t => {
  const random = new Random(isLong ? drawnSeed(t) : fixedSeed(t, 16))
  const pair = makePair({ poolSize: 3000 })
  pair.tap.watch = () => true
  const rogue = new RogueEnd(pair)
  const endedBy = new Map<number, number>()
  for (let round = 0; round < (isLong ? 40 : 8); round++)
    for (let opcode = 0; opcode < 256; opcode++)
      for (const ahead of [0, -1, 1, -3000, 5, 0x40_0000]) {
        if (!rogue.isOpen) rogue.begin()
        const before = rogue.ends
        const psn = (pair.a.table.find(rogue.qpn)!.qp.nextReceiveSeq + ahead) & 0xffffff
        const { qpn } = rogue
        const said = { from: ROGUE, sourcePort: 0xc000, opcode, qpn, psn, rightIcrc: true }
        sendAny(pair, pair.a, said, random)
        pair.network.runUntil(pair.network.now + 50 * MICROSECOND)
        if (rogue.ends === before && rogue.lives) continue
        if (ahead !== 0 || !isRcRequest(opcode)) t.fail(`0x${opcode.toString(16)}, PSN ${ahead} ahead`)
        endedBy.set(opcode, 1 + (endedBy.get(opcode) ?? 0))
        if (!pair.until(() => !rogue.isOpen)) return t.fail('it does not end')
      }
  // MIDDLE and LAST without FIRST are invalid requests (IBA 9.7.4.1.3); nobody knows the key of an atomic's memory.
  for (const opcode of [0x01, 0x02, 0x03, 0x07, 0x08, 0x09, 0x13, 0x14])
    t.ok((endedBy.get(opcode) ?? 0) > 0, `0x${opcode.toString(16)} has ended some`)
})
