/** The arithmetic of thresholds, headroom and pools, by hand, and that every byte is accounted for. */
import t from 'tap'
import { IngressAccounting, type PfcOptions } from '../../switch-emu/core/pfc/ingress-accounting.js'
import { DropReason } from '../../switch-emu/core/queueing/counters.js'
import { seeded } from './helpers.js'

const BIT3 = 1 << 3

function accounting(options: Partial<PfcOptions>, bufferBytes = 100_000, ports = 2): IngressAccounting {
  const headroomBytes = new Array<number>(ports).fill(3000)
  return new IngressAccounting({ priorities: [3], headroomBytes, ...options }, bufferBytes, ports)
}

t.test('static threshold: up to xoff, then headroom, then loss; back at xon', async t => {
  const memory = accounting({ xoffBytes: 5000, xonBytes: 2000 })
  for (let n = 1; n <= 5; n++) t.equal(memory.admit(0, 3, 1000), DropReason.NONE)
  t.equal(memory.bytesOf(0, 3), 5000)
  t.equal(memory.xoffMask(0), 0, 'xoff itself is not above xoff')
  t.equal(memory.admit(0, 3, 1), DropReason.NONE)
  t.equal(memory.xoffMask(0), BIT3)
  t.equal(memory.headroomBytesOf(0, 3), 1)
  t.equal(memory.xoffMask(1), 0, 'the other port has nothing to do with it')
  t.equal(memory.admit(0, 3, 2999), DropReason.NONE, 'the headroom is full to the byte')
  t.equal(memory.admit(0, 3, 1), DropReason.HEADROOM_FULL)
  t.equal(memory.bytesOf(0, 3), 8000)
  memory.release(0, 3, 3000)
  t.equal(memory.headroomBytesOf(0, 3), 0, 'the headroom drains first')
  t.equal(memory.xoffMask(0), BIT3, 'below xoff, above xon: still held')
  t.equal(memory.admit(0, 3, 0 + 100), DropReason.NONE)
  memory.release(0, 3, 3099)
  t.equal(memory.bytesOf(0, 3), 2001)
  t.equal(memory.xoffMask(0), BIT3)
  memory.release(0, 3, 1)
  t.equal(memory.xoffMask(0), 0)
  t.equal(memory.admit(0, 3, 1000), DropReason.NONE)
  t.equal(memory.xoffMask(0), 0, 'above xon, below xoff: not held again')
  t.equal(memory.maxBytesOf(0), 8000)
  t.equal(memory.maxHeadroomOf(0), 3000)
})

t.test('xonOffset: so far below the threshold', async t => {
  const memory = accounting({ xoffBytes: 5000, xonOffsetBytes: 1500 })
  memory.admit(0, 3, 5000)
  memory.admit(0, 3, 1000)
  memory.release(0, 3, 2499)
  t.equal(memory.bytesOf(0, 3), 3501)
  t.equal(memory.xoffMask(0), BIT3)
  memory.release(0, 3, 1)
  t.equal(memory.xoffMask(0), 0)
})

t.test('dynamic threshold: alpha times what is free of the shared pool', async t => {
  // 100,000 less 2 ports x 3,000 of headroom: 94,000 to share.
  const memory = accounting({ alpha: 0.5, xonOffsetBytes: 2000 })
  t.equal(memory.sharedBytesMax, 94_000)
  t.equal(memory.thresholdBytes(), 47_000)
  // One port alone takes x = (94,000 - x) / 2: a third of it. The threshold is what was free before the frame.
  let taken = 0
  while (memory.xoffMask(0) === 0) {
    memory.admit(0, 3, 100)
    taken += 100
  }
  // With 31,300 taken the threshold is 31,350: one more frame does not fit below it.
  t.equal(taken, 31_300 + 100, 'the last one went to the headroom')
  t.equal(memory.headroomBytesOf(0, 3), 100)
  // Bytes of others reduce the threshold: lossy traffic of 30,000 leaves 32,700 free.
  t.equal(memory.admit(1, 0, 30_000), DropReason.NONE)
  t.equal(memory.thresholdBytes(), 16_350)
  t.equal(memory.admit(1, 3, 16_350), DropReason.NONE)
  t.equal(memory.xoffMask(1), 0)
  t.equal(memory.admit(1, 3, 1), DropReason.NONE)
  t.equal(memory.xoffMask(1), BIT3)
  // It rises again as memory is freed, and so does the length at which the port may resume.
  memory.release(0, 3, 31_400)
  t.equal(memory.xoffMask(0), 0)
  t.equal(memory.thresholdBytes(), (94_000 - 30_000 - 16_350) / 2)
})

t.test('reserved bytes are there even when lossy traffic has taken the whole pool', async t => {
  const memory = accounting({ alpha: 1, reservedBytes: 1500 }, 20_000)
  // 20,000 - 2 x (3,000 + 1,500)
  t.equal(memory.sharedBytesMax, 11_000)
  t.equal(memory.admit(0, 0, 11_000), DropReason.NONE)
  t.equal(memory.admit(0, 1, 1), DropReason.BUFFER_FULL, 'lossy frames have the shared pool only')
  t.equal(memory.admit(0, 3, 1500), DropReason.NONE)
  t.equal(memory.headroomBytesOf(0, 3), 0)
  t.equal(memory.xoffMask(0), 0)
  t.equal(memory.admit(0, 3, 1), DropReason.NONE)
  t.equal(memory.headroomBytesOf(0, 3), 1)
  t.equal(memory.xoffMask(0), BIT3)
})

t.test('a static threshold that the pool cannot honour: headroom, and a pause, not loss', async t => {
  const memory = accounting({ xoffBytes: 9000 }, 16_000) // 10,000 to share among two ports that may have 9,000 each
  t.equal(memory.admit(0, 3, 9000), DropReason.NONE)
  t.equal(memory.admit(1, 3, 2000), DropReason.NONE)
  t.equal(memory.headroomBytesOf(1, 3), 2000)
  t.equal(memory.xoffMask(1), BIT3)
})

t.test('no headroom: the frame above the threshold is lost, and the peer is paused all the same', async t => {
  const memory = accounting({ xoffBytes: 5000, headroomBytes: [0, 0] })
  t.equal(memory.admit(0, 3, 5001), DropReason.HEADROOM_FULL)
  t.equal(memory.xoffMask(0), BIT3)
  t.equal(memory.bytesOf(0, 3), 0)
})

t.test('settings that cannot be', async t => {
  t.throws(() => accounting({ xoffBytes: 1 }, 6000), /leave nothing/)
  t.throws(() => accounting({}), /one of xoffBytes and alpha/)
  t.throws(() => accounting({ xoffBytes: 1, alpha: 1 }), /one of xoffBytes and alpha/)
  t.throws(() => accounting({ xoffBytes: 10, xonBytes: 10 }), /above xonBytes/)
  t.throws(() => accounting({ alpha: 1, priorities: [8] }), /0 to 7/)
  t.throws(() => accounting({ alpha: 1, headroomBytes: [1] }), /each of 2 ports/)
})

t.test('conservation: whatever comes and goes, the books agree with a ledger, and end at zero', async t => {
  const random = seeded(t, 20261121)
  for (let round = 0; round < 60; round++) {
    const ports = 1 + random.below(4)
    const dynamic = random.next() < 0.5
    const reservedBytes = random.below(3) * 700
    const memory = new IngressAccounting(
      {
        priorities: [3, 4],
        ...(dynamic
          ? { alpha: [0.125, 0.5, 1, 4][random.below(4)]! }
          : { xoffBytes: 4000 + random.below(20_000) }),
        xonOffsetBytes: random.below(3000),
        reservedBytes,
        headroomBytes: Array.from({ length: ports }, () => random.below(6000)),
      },
      120_000,
      ports,
    )
    const inside: { port: number; priority: number; bytes: number }[] = []
    const held = (port: number, priority: number) =>
      inside.filter(f => f.port === port && f.priority === priority).reduce((sum, f) => sum + f.bytes, 0)
    for (let step = 0; step < 600; step++) {
      if (random.next() < 0.6 || inside.length === 0) {
        const frame = {
          port: random.below(ports),
          priority: [0, 3, 4][random.below(3)]!,
          bytes: 64 + random.below(1500),
        }
        const reason = memory.admit(frame.port, frame.priority, frame.bytes)
        if (reason === DropReason.NONE) inside.push(frame)
        else if (frame.priority === 0) t.equal(reason, DropReason.BUFFER_FULL)
        else t.equal(reason, DropReason.HEADROOM_FULL)
      } else {
        const [frame] = inside.splice(random.below(inside.length), 1)
        memory.release(frame!.port, frame!.priority, frame!.bytes)
      }
      let shared = inside.filter(f => f.priority === 0).reduce((sum, f) => sum + f.bytes, 0)
      for (let port = 0; port < ports; port++) {
        for (const priority of [3, 4]) {
          const headroom = memory.headroomBytesOf(port, priority)
          if (memory.bytesOf(port, priority) !== held(port, priority)) t.fail('bytes of a group')
          if (headroom > 0 && ((memory.xoffMask(port) >> priority) & 1) === 0)
            t.fail('headroom without a pause')
          shared += Math.max(0, held(port, priority) - headroom - reservedBytes)
        }
      }
      if (memory.sharedUsedBytes !== shared) t.fail(`shared ${memory.sharedUsedBytes}, ledger ${shared}`)
      if (shared > memory.sharedBytesMax) t.fail('more than the pool')
    }
    for (const { port, priority, bytes } of inside) memory.release(port, priority, bytes)
    t.equal(memory.sharedUsedBytes, 0)
    for (let port = 0; port < ports; port++)
      t.equal(memory.xoffMask(port), 0, 'nobody stays paused by an empty switch')
  }
})
