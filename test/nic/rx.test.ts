/** The rx pipeline: every kind of bad packet is counted by its reason, dropped, and has no other effect. */
import t from 'tap'
import { SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { KNOCK } from '../../lib/wire/ib/knock.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { fixedSeeds } from '../support/seeds.js'
import { connected, frameName, makePair, memoryOf, type Pair, type PairOptions, PORT } from './pair.js'

/** A pair that has sent one message, and the bytes of each kind of frame that went from A to B. */
function recorded(options: PairOptions = {}) {
  const pair = makePair(options)
  const frames = new Map<string, Buffer>()
  const note = pair.tap.watch
  pair.tap.watch = (frame, now, fromA) => {
    if (fromA) frames.set(frameName(frame), Buffer.from(frame.bytes.subarray(0, frame.length)))
    return note(frame, now, fromA)
  }
  const ends = connected(pair)
  const region = memoryOf(pair.a, Buffer.from('seven stones'))
  const send = (id: number) =>
    ends.left.connection!.postSend(pair.network.now, {
      id,
      opcode: WorkOpcode.SEND,
      region,
      offset: 0,
      length: 12,
    })
  send(1)
  if (!pair.until(() => ends.right.log.includes('received seven stones'))) throw new Error('not received')
  pair.network.runUntil(pair.network.now + 1_000_000)
  return { pair, frames, send, ...ends }
}

/** Delivers bytes to B, as if they had come by the wire. */
function inject(pair: Pair, bytes: Buffer): void {
  const frame = pair.pool.take()!
  frame.bytes.set(bytes.subarray(0, SLOT_BYTES))
  frame.length = Math.min(bytes.length, SLOT_BYTES)
  frame.wireLength = frame.length
  pair.b.onFrame(pair.network.now, 0, frame)
  pair.network.kick(pair.bId)
}

/** Changes a copy of the bytes and corrects the ICRC. */
function forged(pair: Pair, bytes: Buffer, change: (bytes: Buffer, bthAt: number) => void): Buffer {
  const frame = pair.pool.take()!
  frame.bytes.set(bytes)
  frame.length = bytes.length
  frame.wireLength = bytes.length
  parseFrame(frame)
  change(frame.bytes, frame.bth)
  if (frame.bth >= 0) icrc.write(frame)
  const out = Buffer.from(frame.bytes.subarray(0, bytes.length))
  pair.pool.give(frame)
  return out
}

t.test('each reason has its counter', async t => {
  for (const v6 of [false, true]) {
    const { pair, frames, right, send } = recorded({ v6 })
    const data = frames.get([...frames.keys()].find(name => name.includes('SEND_ONLY'))!)!
    const address = 14 + (v6 ? 8 : 12)
    const span = v6 ? 16 : 4
    const other = HostAddress.parse(v6 ? 'fd00::99' : '10.0.0.99').gid.subarray(16 - span)
    const cases: [string, Buffer, string][] = [
      ['an empty frame', Buffer.alloc(0), 'malformed'],
      ['a cut frame', data.subarray(0, 50), 'malformed'],
      ['ARP', Buffer.concat([data.subarray(0, 12), Buffer.from('0806', 'hex'), Buffer.alloc(46)]), 'notRoce'],
      ['a turned bit of the payload', turned(data, data.length - 8), 'badIcrc'],
      ['a turned bit of the ICRC', turned(data, data.length - 1), 'badIcrc'],
      ['another destination', forged(pair, data, bytes => bytes.set(other, address + span)), 'notForUs'],
      ['another source', forged(pair, data, bytes => bytes.set(other, address)), 'wrongSource'],
      [
        'a queue pair that is none',
        forged(pair, data, (bytes, at) => bytes.writeUInt8(bytes[at + 5]! ^ 0x80, at + 5)),
        'unknownQpn',
      ],
      ['data for QP 1', forged(pair, data, (bytes, at) => bytes.writeUIntBE(1, at + 5, 3)), 'unknownQpn'],
      [
        'an opcode that nobody here takes',
        forged(pair, data, (bytes, at) => bytes.writeUInt8(Opcode.DIRECT_NOTIFY, at)),
        'unknownOpcode',
      ],
    ]
    for (const [what, bytes, reason] of cases) {
      const before = { ...pair.b.counters.rx }
      inject(pair, bytes)
      const after = { ...pair.b.counters.rx }
      t.same(after, { ...before, frames: before.frames + 1, [reason]: before[reason as never] + 1 }, what)
    }
    const log = right.log.length
    t.equal(right.closed, 0)
    send(2)
    t.ok(
      pair.until(() => right.log.length > log),
      'the connection is unharmed',
    )
    t.equal(right.log.at(-1), 'received seven stones')
    pair.network.runUntil(pair.network.now + 1_000_000)
    t.equal(pair.pool.inUse, 0)
  }
})

function turned(bytes: Buffer, at: number): Buffer {
  const out = Buffer.from(bytes)
  out[at] = out[at]! ^ 1
  return out
}

t.test('a frame of a connection that is closed finds nobody', async t => {
  const { pair, frames, left } = recorded()
  const data = frames.get([...frames.keys()].find(name => name.includes('SEND_ONLY'))!)!
  left.connection!.disconnect(pair.network.now)
  t.ok(pair.until(() => left.closed === 1))
  pair.settle()
  pair.b.unlisten(PORT)
  connected(pair)
  const before = pair.b.counters.rx.unknownQpn
  inject(pair, data)
  t.equal(pair.b.counters.rx.unknownQpn, before + 1)
})

t.test(
  'random damage with the right ICRC: nothing is thrown, nothing is lost, memory stays whole',
  async t => {
    const seeds = fixedSeeds([1, 2])
    for (const seed of seeds) {
      const random = new Random(seed)
      const { pair, frames } = recorded({ v6: seed % 2 === 0 })
      const kinds = [...frames.values()]
      for (let n = 0; n < 3000; n++) {
        const bytes = Buffer.from(kinds[random.below(kinds.length)]!)
        const flips = 1 + random.below(8)
        for (let i = 0; i < flips; i++) {
          // Mostly in the headers, where changes matter.
          const at = random.below(random.below(4) === 0 ? bytes.length : Math.min(bytes.length, 130))
          bytes[at] = random.below(3) === 0 ? random.below(256) : bytes[at]! ^ (1 << random.below(8))
        }
        const cut = random.below(10) === 0 ? random.below(bytes.length + 1) : bytes.length
        inject(pair, cut === bytes.length ? forged(pair, bytes, () => {}) : bytes.subarray(0, cut))
        pair.network.runUntil(pair.network.now + 1000)
      }
      pair.settle()
      t.equal(pair.pool.inUse, 0, `SEED=${seed}`)
      const { frames: total } = pair.b.counters.rx
      t.ok(total >= 3000)
    }
  },
)

t.test('a frame that a switch found faulty further in is dropped here', async t => {
  const { pair, frames } = recorded()
  const data = frames.get([...frames.keys()].find(name => name.includes('SEND_ONLY'))!)!
  const bytes = forged(pair, data, (copy, at) => copy.writeUInt8(0xff, at))
  const frame = pair.pool.take()!
  frame.bytes.set(bytes)
  frame.length = bytes.length
  frame.wireLength = bytes.length
  parseFrame(frame)
  t.ok(frame.bth > 0 && frame.payload < 0, 'as a switch leaves it')
  const before = pair.b.counters.rx.malformed
  pair.b.onFrame(pair.network.now, 0, frame)
  t.equal(pair.b.counters.rx.malformed, before + 1)
})

t.test('a peer whose ICRCs cover an IP identification is heard where that is seen', async t => {
  const pair = makePair()
  const { watch } = pair.tap
  pair.tap.watch = (frame, now, fromA) => {
    if (!fromA) {
      ipv4.setIdentification(frame.view, frame.l3, 0x1234)
      icrc.write(frame)
      ipv4.updateChecksum(frame.view, frame.l3)
    }
    return watch(frame, now, fromA)
  }
  connected(pair)
  t.equal(pair.a.counters.rx.badIcrc, 0)
})

t.test('who asks whether anything listens is counted, and not shorter than a BTH', async t => {
  t.same(KNOCK, new Uint8Array(16))
  for (const [v6, bytes] of [
    [false, KNOCK],
    [true, KNOCK],
    [false, new Uint8Array(0)],
  ] as const) {
    const { pair, frames } = recorded({ v6 })
    const data = frames.get([...frames.keys()].find(name => name.includes('SEND_ONLY'))!)!
    const l4 = 14 + (v6 ? 40 : 20)
    const knock = Buffer.concat([data.subarray(0, l4 + 8), bytes])
    if (v6) knock.writeUInt16BE(8 + bytes.length, 14 + 4)
    else {
      knock.writeUInt16BE(28 + bytes.length, 14 + 2)
      ipv4.updateChecksum(new DataView(knock.buffer, knock.byteOffset), 14)
    }
    knock.writeUInt16BE(4791, l4 + 2)
    knock.writeUInt16BE(8 + bytes.length, l4 + 4)
    inject(pair, knock)
    const { knocks, malformed, badIcrc, unknownQpn } = pair.b.counters.rx
    t.same([knocks, malformed, badIcrc, unknownQpn], [1, 0, 0, 0])
  }
})
