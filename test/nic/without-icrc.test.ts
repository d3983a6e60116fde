/** Packets without ICRC: two Weir hosts that both want it agree on it at connect. Nobody else may leave it out. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { say } from '../attack/third-party.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { connected, frameName, makePair, memoryOf, type PairOptions, pattern } from './pair.js'

const BYTES = 20_000
const WITHOUT = { withoutIcrc: true, cc: { name: 'hpcc', options: {} } }

/** A WRITE from `a` and a READ of it. What is left of each packet's ICRC is counted. */
function exchange(
  options: PairOptions,
  change: (frame: Frame, name: string, index: number) => void = () => {},
) {
  const pair = makePair(options)
  const seen = { none: 0, right: 0, wrong: 0, datagramsRight: 0 }
  let packets = 0
  pair.tap.watch = frame => {
    const name = frameName(frame)
    const isDatagram = /^(REQ|REP|RTU|DREQ|DREP|REJ|MRA)$/.test(name)
    change(frame, name, isDatagram ? -1 : packets)
    if (!isDatagram) packets++
    if (isDatagram && icrc.verify(frame)) seen.datagramsRight++
    else if (icrc.isZero(frame)) seen.none++
    else if (icrc.verify(frame)) seen.right++
    else seen.wrong++
    return true
  }
  const { left, right } = connected(pair)
  const data = pattern(3, BYTES)
  const region = memoryOf(pair.a, data)
  const { buffer, address: remoteAddress, key: rkey } = memoryOf(pair.b, Buffer.alloc(BYTES))
  const back = memoryOf(pair.a, Buffer.alloc(BYTES))
  const work = { offset: 0, length: BYTES, remoteAddress, rkey }
  left.connection!.postSend(pair.network.now, { id: 1, opcode: WorkOpcode.RDMA_WRITE, region, ...work })
  left.connection!.postSend(pair.network.now, { id: 2, opcode: WorkOpcode.RDMA_READ, region: back, ...work })
  const done = pair.until(() => left.log.includes('completion 2 SUCCESS'))
  const ok = done && data.equals(buffer!) && data.equals(back.buffer!)
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  t.same([left.closed, right.closed, pair.pool.inUse], [1, 1, 0])
  return { ok, seen, badIcrcs: pair.a.counters.rx.badIcrc + pair.b.counters.rx.badIcrc }
}

t.test('both ends agree: packets have none, datagrams of the connection manager have theirs', async t => {
  for (const v6 of [false, true]) {
    const { ok, seen, badIcrcs } = exchange({ v6, a: WITHOUT, b: WITHOUT })
    t.ok(ok)
    t.equal(badIcrcs, 0)
    t.ok(seen.none > 50, `${seen.none} packets`)
    t.same([seen.right, seen.wrong], [0, 0])
    t.ok(seen.datagramsRight >= 5)
  }
})

t.test('one end refuses, or is no Weir host, or an older one: all packets have theirs', async t => {
  const plain = { ...WITHOUT, recovery: 'goBackN' } as const
  const older = (frame: Frame, name: string) => {
    if (name === 'REP') say(frame, words => ({ ...words, withoutIcrc: false }))
  }
  const cases: [string, PairOptions, Parameters<typeof exchange>[1]][] = [
    ['the active end', { a: { withoutIcrc: false }, b: WITHOUT }, undefined],
    ['the passive end', { a: WITHOUT, b: { withoutIcrc: false } }, undefined],
    ['plain peers', { a: plain, b: plain }, takeWordsOut],
  ]
  for (const [what, options, change] of cases) {
    const { ok, seen, badIcrcs } = exchange(options, change)
    t.ok(ok, what)
    t.same([seen.none, seen.wrong, badIcrcs], [0, 0, 0], what)
  }
  t.equal(exchange({ a: WITHOUT, b: { withoutIcrc: false } }, older).seen.none, 0)
})

t.test('an ICRC of 0 that nobody has agreed on is dropped and counted', async t => {
  for (const b of [WITHOUT, { withoutIcrc: false }]) {
    const { ok, badIcrcs } = exchange({ a: { withoutIcrc: false }, b }, (frame, _name, index) => {
      if (index === 20) frame.view.setUint32(frame.length - icrc.BYTES, 0)
    })
    t.ok(ok, 'the packet was sent again')
    t.equal(badIcrcs, 1)
  }
})

t.test('a packet with an ICRC is checked on a connection without', async t => {
  const { ok, badIcrcs } = exchange({ a: WITHOUT, b: WITHOUT }, (frame, _name, index) => {
    if (index === 20) frame.view.setUint32(frame.length - icrc.BYTES, 7)
    if (index === 21) icrc.write(frame)
  })
  t.ok(ok)
  t.equal(badIcrcs, 1, 'the wrong one alone')
})
