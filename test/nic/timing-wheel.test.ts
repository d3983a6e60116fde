/** The timing wheel (4,096 slots of 1,024 ns) against a plain map. SEED=n replays one seed. */
import t from 'tap'
import { TimingWheel } from '../../lib/nic/tx/timing-wheel.js'
import { Random } from '../../lib/sim/random.js'
import { NEVER } from '../../lib/time/nanos.js'
import { fixedSeed, fixedSeeds } from '../support/seeds.js'

const SLOT_NS = 1024
const HORIZON_NS = 4096 * SLOT_NS

function drain(wheel: TimingWheel, now: number): number[] {
  const out: number[] = []
  for (let entry = wheel.pollDue(now); entry >= 0; entry = wheel.pollDue(now)) out.push(entry)
  return out
}

t.test('empty', async t => {
  const wheel = new TimingWheel(4)
  t.equal(wheel.size, 0)
  t.equal(wheel.nextDue(), NEVER)
  t.equal(wheel.pollDue(1e9), -1)
  t.equal(wheel.dueOf(3), NEVER)
  wheel.remove(3)
  t.equal(wheel.size, 0, 'removing what is not in is harmless')
})

t.test('due times are exact within a slot', async t => {
  const wheel = new TimingWheel(4)
  wheel.set(0, 1500)
  wheel.set(1, 1400)
  t.equal(wheel.nextDue(), 1400)
  t.equal(wheel.pollDue(1399), -1)
  t.equal(wheel.pollDue(1400), 1)
  t.equal(wheel.nextDue(), 1500)
  t.equal(wheel.dueOf(0), 1500)
  t.equal(wheel.pollDue(1499), -1)
  t.equal(wheel.pollDue(1500), 0)
  t.equal(wheel.size, 0)
})

t.test('equal times: first in, first out', async t => {
  const wheel = new TimingWheel(10)
  for (const entry of [7, 2, 9, 0]) wheel.set(entry, 5000)
  t.same(drain(wheel, 5000), [7, 2, 9, 0])
})

t.test('a time that has passed is due at once', async t => {
  const wheel = new TimingWheel(4)
  drain(wheel, 1e9)
  wheel.set(0, 5)
  t.ok(wheel.nextDue() <= 1e9)
  t.equal(wheel.pollDue(1e9), 0)
})

t.test('moving an entry forgets where it was', async t => {
  const wheel = new TimingWheel(4)
  wheel.set(0, 1000)
  wheel.set(0, 9_000_000_000)
  wheel.set(1, 2000)
  t.equal(wheel.size, 2)
  t.same(drain(wheel, 1_000_000), [1])
  wheel.set(0, 1_000_500)
  t.equal(wheel.nextDue(), 1_000_500)
  t.same(drain(wheel, 1_000_500), [0])
})

t.test('beyond the horizon: woken now and then, never late, never early', async t => {
  for (const ahead of [HORIZON_NS - 1, HORIZON_NS, HORIZON_NS + 1, 10 * HORIZON_NS + 777, 1e12 + 1]) {
    const wheel = new TimingWheel(2)
    const start = 123_456
    drain(wheel, start)
    wheel.set(1, start + ahead)
    let wakes = 0
    let now = start
    for (;;) {
      const next = wheel.nextDue()
      if (next <= now) {
        t.fail(`asked to be woken at ${next}, at ${now}: that would never end`)
        break
      }
      if (next > start + ahead) {
        t.fail('woken too late')
        break
      }
      now = next
      const out = drain(wheel, now)
      wakes++
      if (out.length > 0) break
    }
    t.equal(now, start + ahead, `${ahead} ns ahead`)
    t.ok(wakes <= Math.ceil(ahead / (HORIZON_NS - 2 * SLOT_NS)) + 1, `${wakes} wakes`)
  }
})

t.test('a wheel that was not polled for long finds everything', async t => {
  const wheel = new TimingWheel(4)
  wheel.set(0, 100)
  wheel.set(1, 3_000_000)
  const now = 50 * HORIZON_NS + 12
  wheel.set(2, now - 1)
  wheel.set(3, now + 1)
  t.same(drain(wheel, now).sort(), [0, 1, 2])
  t.equal(wheel.nextDue(), now + 1)
})

t.test('random operations, against a map', async t => {
  const seeds = fixedSeeds([1, 2, 3, 4])
  for (const seed of seeds) {
    const random = new Random(seed)
    const capacity = 200
    const wheel = new TimingWheel(capacity)
    const model = new Map<number, number>()
    // One seed starts where slot numbers no longer fit 32 bits.
    let now = seed === 4 ? 2 ** 45 + 7 : random.below(1e6)
    let wrong = ''
    const note = (what: string) => {
      wrong ||= `step ${step}, now ${now}: ${what}`
    }
    let step = 0
    drain(wheel, now)
    for (; step < 20_000 && wrong === ''; step++) {
      const entry = random.below(capacity)
      const what = random.below(10)
      if (what < 5) {
        const reach = [0, 100, SLOT_NS, 50_000, HORIZON_NS, 5 * HORIZON_NS][random.below(6)]!
        const due = Math.max(0, now + random.below(reach + 1) - random.below(100))
        wheel.set(entry, due)
        model.set(entry, due)
      } else if (what < 7) {
        wheel.remove(entry)
        model.delete(entry)
      } else if (what === 7) {
        // As a driver does: advances to the reported time.
        const next = wheel.nextDue()
        if (next !== NEVER && next > now) now = next
      } else {
        now += [0, 1, 300, 5000, 1e6, 3 * HORIZON_NS][random.below(6)]!
      }
      if (what >= 7) {
        const due = [...model].filter(([, at]) => at <= now).map(([id]) => id)
        const out = drain(wheel, now)
        if (out.sort((a, b) => a - b).join() !== due.sort((a, b) => a - b).join()) {
          note(`polled ${out}, due are ${due}`)
        }
        for (const id of out) model.delete(id)
        if (wheel.nextDue() <= now) note(`nextDue ${wheel.nextDue()} has passed, though nothing is due`)
      }
      const earliest = Math.min(...model.values())
      const next = wheel.nextDue()
      if (next > earliest) note(`nextDue ${next}, but one is due at ${earliest}`)
      if (model.size === 0 ? next !== NEVER : next === NEVER) note(`nextDue ${next} of ${model.size}`)
      if (next !== earliest && next % SLOT_NS !== 0)
        note(`nextDue ${next} is neither exact nor a slot's time`)
      if (wheel.size !== model.size) note(`size ${wheel.size}, not ${model.size}`)
      if (wheel.dueOf(entry) !== (model.get(entry) ?? NEVER)) note(`dueOf ${entry}`)
    }
    t.equal(wrong, '', `SEED=${seed}`)
  }
})

t.test('within the horizon nextDue is exact', async t => {
  const seed = fixedSeed(t, 9)
  const random = new Random(seed)
  const wheel = new TimingWheel(50)
  const model = new Map<number, number>()
  let now = 0
  let wrong = ''
  for (let step = 0; step < 5000 && wrong === ''; step++) {
    const entry = random.below(50)
    const due = now + 1 + random.below(HORIZON_NS - 2 * SLOT_NS)
    wheel.set(entry, due)
    model.set(entry, due)
    if (random.below(3) === 0) {
      now = wheel.nextDue()
      for (const id of drain(wheel, now)) model.delete(id)
    }
    const earliest = Math.min(...model.values())
    if (wheel.nextDue() !== earliest) wrong = `step ${step}: ${wheel.nextDue()}, not ${earliest}`
  }
  t.equal(wrong, '', `SEED=${seed}`)
})

t.test('few entries, which need no slots, leave as they do from slots', async t => {
  const seeds = fixedSeeds([11, 12, 13, 14])
  for (const seed of seeds) {
    const random = new Random(seed)
    const capacity = 16
    const few = new TimingWheel(capacity)
    const inSlots = new TimingWheel(capacity)
    for (let entry = 0; entry < capacity; entry++) inSlots.set(entry, 1)
    for (let entry = 0; entry < capacity; entry++) inSlots.remove(entry)
    let now = seed === 14 ? 2 ** 45 + 7 : random.below(1e6)
    let wrong = ''
    let step = 0
    const both = (what: string, of: (wheel: TimingWheel) => number | string) => {
      const one = of(few)
      const other = of(inSlots)
      if (one !== other) wrong ||= `step ${step}, now ${now}: ${what} ${one}, from slots ${other}`
    }
    both('polled', wheel => drain(wheel, now).join())
    for (; step < 20_000 && wrong === ''; step++) {
      const entry = random.below(8)
      const what = random.below(10)
      const reach = [0, 100, SLOT_NS, 50_000, HORIZON_NS, 5 * HORIZON_NS][random.below(6)]!
      const due = Math.max(0, now + random.below(reach + 1) - random.below(100))
      const next = few.nextDue()
      if (what < 5) for (const wheel of [few, inSlots]) wheel.set(entry, due)
      else if (what < 7) for (const wheel of [few, inSlots]) wheel.remove(entry)
      else if (what === 7) now = next === NEVER ? now : Math.max(now, next)
      else now += [0, 1, 300, 5000, 1e6, 3 * HORIZON_NS][random.below(6)]!
      if (what >= 7) both('polled', wheel => drain(wheel, now).join())
      both('next', wheel => wheel.nextDue())
      both('size', wheel => wheel.size)
      both('due', wheel => wheel.dueOf(entry))
    }
    t.equal(wrong, '', `SEED=${seed}`)
  }
})

t.test('entries that come into slots amid a run leave as they do from slots', async t => {
  const seed = fixedSeed(t, 15)
  const random = new Random(seed)
  const capacity = 12
  let moved = 0
  let wrong = ''
  for (let round = 0; round < 200 && wrong === ''; round++) {
    const wheel = new TimingWheel(capacity)
    const inSlots = new TimingWheel(capacity)
    for (let entry = 0; entry < capacity; entry++) inSlots.set(entry, 1)
    for (let entry = 0; entry < capacity; entry++) inSlots.remove(entry)
    let now = random.below(1e7)
    let most = 0
    for (let step = 0; step < 100 && wrong === ''; step++) {
      const entry = random.below(capacity)
      const reach = [100, SLOT_NS, HORIZON_NS, 5 * HORIZON_NS][random.below(4)]!
      const due = Math.max(0, now + random.below(reach) - 50)
      for (const each of [wheel, inSlots]) each.set(entry, due)
      most = Math.max(most, wheel.size)
      if (random.below(12) === 0) now += random.below(2 * HORIZON_NS)
      const [one, other] = [wheel, inSlots].map(each => `${drain(each, now).join()} ${each.nextDue()}`)
      if (one !== other) wrong = `round ${round}, step ${step}, now ${now}: ${one}, from slots ${other}`
    }
    if (most > 8) moved++
  }
  t.equal(wrong, '', `SEED=${seed}`)
  t.ok(moved > 20, `${moved} wheels got slots`)
})

t.test('more than a few entries come into slots in their order', async t => {
  const wheel = new TimingWheel(12)
  const order = [5, 3, 11, 0, 9, 7, 2, 10, 1, 6]
  for (const entry of order) wheel.set(entry, 5000 + SLOT_NS * (entry % 2))
  t.same(drain(wheel, 9000), [...order.filter(e => e % 2 === 0), ...order.filter(e => e % 2 === 1)])
  t.equal(wheel.nextDue(), NEVER)
})
