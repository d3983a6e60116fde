import t from 'tap'
import { RealTimeLoop } from '../../lib/io/loop/real-time-loop.js'
import type { Waiter } from '../../lib/io/waiter.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'

const SPIN_NS = 4_000_000
const TURN_NS = 1_000

/** A waiter that never sees anything, with a clock of its own. It counts its calls. */
class QuietWaiter implements Waiter {
  now: Nanos = 0
  spins = 0
  naps = 0
  armed = 0
  readonly #yieldNs: (n: number) => Nanos

  /** @param yieldNs what it takes to yield the core for the nth time */
  constructor(yieldNs: (n: number) => Nanos) {
    this.#yieldNs = yieldNs
  }

  look(): boolean {
    return false
  }

  wait(ns: Nanos): boolean {
    if (ns > 0) this.naps++
    else this.spins++
    this.now += Math.max(ns, this.#yieldNs(this.spins))
    return false
  }

  arm(): void {
    this.armed++
  }

  async close(): Promise<void> {}
}

/** What a loop does after one wake with nothing to do. */
async function afterOneWake(yieldNs: (n: number) => Nanos): Promise<QuietWaiter> {
  const waiter = new QuietWaiter(yieldNs)
  const driven = { round: () => false, nextDeadline: () => NEVER }
  const clock = () => {
    waiter.now += TURN_NS
    return waiter.now
  }
  const loop = new RealTimeLoop(driven, {
    clock,
    spinNs: SPIN_NS,
    waiter,
    onError: error => t.fail(String(error)),
  })
  loop.start()
  while (waiter.armed === 0) await new Promise(setImmediate)
  loop.close()
  return waiter
}

t.test('while it spins it looks many times in each turn of the event loop', async t => {
  let turns = 0
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const { spins } = await afterOneWake(() => 0)
  clearImmediate(counting)
  t.ok(spins > 8 * turns, `${spins} looks in ${turns} turns`)
})

t.test('a deadline is kept while it spins', async t => {
  const waiter = new QuietWaiter(() => 0)
  const clock = () => {
    waiter.now += TURN_NS
    return waiter.now
  }
  const late: Nanos[] = []
  let due = 10_000
  const driven = {
    round: (now: Nanos) => {
      if (now >= due) {
        late.push(now - due)
        due = now + 10_000
      }
      return false
    },
    nextDeadline: () => due,
  }
  const onError = (error: unknown) => t.fail(String(error))
  const loop = new RealTimeLoop(driven, { clock, busyPoll: true, spinNs: SPIN_NS, waiter, onError })
  loop.start()
  while (late.length < 20) await new Promise(setImmediate)
  loop.close()
  t.ok(
    late.every(ns => ns <= 8 * TURN_NS),
    `late by ${late}`,
  )
})

t.test('a loop that has the core for itself spins before it sleeps', async t => {
  const { spins, naps } = await afterOneWake(() => 2_000)
  t.ok(spins > SPIN_NS / 20_000, `it looked ${spins} times`)
  t.ok(naps > 10 && naps < spins, `and then lingered in short naps, ${naps} of them`)
})

t.test('a loop that finds another thread waiting for the core sleeps at once', async t => {
  const { spins, naps } = await afterOneWake(() => 100_000)
  t.ok(spins <= naps + 3, `it looked ${spins} times: twice to find out, and once before each of ${naps} naps`)
  t.ok(naps < 6_000_000 / 300_000, 'which are long')
})

t.test('a single look that takes long, by an interrupt say, costs no spinning', async t => {
  const { spins } = await afterOneWake(n => (n % 10 === 5 ? 100_000 : 2_000))
  t.ok(spins > SPIN_NS / 100_000, `it looked ${spins} times`)
})
