/**
 * High-risk packets (white paper on lossless networks, "PFC deadlock prevention") and what the switch does
 * with them.
 */
import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { Classifier } from '../../switch-emu/core/forwarding/classifier.js'
import { dscp, ecn } from '../../switch-emu/core/forwarding/ip-header.js'
import { DeadlockPrevention } from '../../switch-emu/core/pfc/deadlock-prevention.js'
import { buildFrame } from './build-frame.js'
import { HOST } from './helpers.js'

const pool = new FramePool(64, HEADER_SLOT_BYTES)
const IPV6 = Uint8Array.from({ length: 16 }, (_, i) => i)
/** DSCP 24, priority 3 by class selector, and ECT(0). */
const TOS = (24 << 2) | 2

t.test('in and out by ports of one group: another priority, another DSCP', async t => {
  const prevention = new DeadlockPrevention({ groups: [[0, 1], [2]], from: 3, to: 4, dscp: 32 })
  for (const [ingress, egress, risky] of [
    [0, 1, true],
    [1, 0, true],
    [0, 0, true],
    [2, 2, true],
    [0, 2, false],
    [2, 1, false],
    [3, 3, false],
    [3, 0, false],
  ] as const) {
    for (const address of [HOST(1), IPV6]) {
      const frame = buildFrame(pool, { from: address, to: address, tos: TOS })
      t.equal(prevention.arrive(0, frame, ingress, egress, 3), risky ? 4 : 3, `${ingress} to ${egress}`)
      t.equal(dscp(frame), risky ? 32 : 24)
      t.equal(ecn(frame), ipv4.ECN_ECT0, 'ECN is left alone')
      if (address !== IPV6) t.ok(ipv4.verifyChecksum(frame.view, frame.l3))
      pool.give(frame)
    }
  }
  t.same(
    [0, 1, 2, 3].map(port => prevention.report(0, port).movedFrames),
    [4, 2, 2, 0],
  )
  prevention.reset()
  t.equal(prevention.report(0, 0).movedFrames, 0)
})

t.test('other priorities are left alone, those that moved before too', async t => {
  const prevention = new DeadlockPrevention({ groups: [[0, 1]], from: 3, to: 4, dscp: 32 })
  const frame = buildFrame(pool, { from: HOST(1), to: HOST(2), tos: 32 << 2 })
  for (const priority of [0, 1, 2, 4, 5, 6, 7]) {
    t.equal(prevention.arrive(0, frame, 0, 1, priority), priority)
    t.equal(dscp(frame), 32)
  }
  t.equal(prevention.report(0, 1).movedFrames, 0)
  pool.give(frame)
})

t.test(
  'a VLAN tag gets the PCP of the new priority, or the next switch would move the packet back',
  async t => {
    for (const pcp of [undefined, 6]) {
      const prevention = new DeadlockPrevention({ groups: [[0, 1]], from: 3, to: 4, dscp: 32, pcp })
      const next = new Classifier({ pcp: { 3: 3, [pcp ?? 4]: 4 } })
      for (const address of [HOST(1), IPV6]) {
        const frame = buildFrame(pool, { from: address, to: address, tos: TOS, vlanPriority: 3 })
        t.equal(prevention.arrive(0, frame, 0, 2, 3), 3)
        t.equal(next.priority(frame), 3)
        t.equal(prevention.arrive(0, frame, 0, 1, 3), 4)
        t.equal(next.priority(frame), 4)
        t.equal(dscp(frame), 32)
        t.equal(ethernet.vlanId(frame.view, 0), 1, 'the rest of the tag stays')
        pool.give(frame)
      }
    }
  },
)

t.test('a port may be in several groups', async t => {
  const prevention = new DeadlockPrevention({
    groups: [
      [0, 1],
      [1, 2],
    ],
    from: 3,
    to: 0,
    dscp: 0,
  })
  const priority = (ingress: number, egress: number) => {
    const frame = buildFrame(pool, { from: HOST(1), to: HOST(2), tos: TOS })
    const moved = prevention.arrive(0, frame, ingress, egress, 3)
    pool.give(frame)
    return moved
  }
  t.equal(priority(0, 1), 0)
  t.equal(priority(2, 1), 0)
  t.equal(priority(0, 2), 3, 'they have no group in common')
  t.equal(pool.inUse, 0)
})

t.test('settings out of range are refused', async t => {
  const good = { groups: [[0, 1]], from: 3, to: 4, dscp: 32 }
  for (const bad of [
    { from: 8 },
    { to: -1 },
    { to: 3 },
    { dscp: 64 },
    { groups: [[256]] },
    { groups: new Array(32).fill([0]) as number[][] },
  ]) {
    t.throws(() => new DeadlockPrevention({ ...good, ...bad }), { code: 'WEIR_BAD_ARGUMENT' })
  }
})
