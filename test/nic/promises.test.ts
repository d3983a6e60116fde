/** Whether the peer gives what it has granted, as round trips show it. */
import t from 'tap'
import type { AckSample } from '../../lib/cc/congestion-control.js'
import { Promises } from '../../lib/nic/feedback/promises.js'
import { NeedId } from '../../lib/wire/weir/needs.js'

const { TELEMETRY, RECEIVING_PART } = NeedId
const BROKEN_AFTER = 8

/** Round trips of one packet each, in which needs are due, and maybe given or lost. */
class Rounds {
  readonly promises = new Promises()
  readonly #granted: number
  #seq = 0

  constructor(...granted: NeedId[]) {
    this.#granted = granted.reduce((bits: number, id) => bits | (1 << id), 0)
  }

  pass(count: number, due: readonly NeedId[], given: readonly NeedId[] = [], isLossy = () => false): void {
    for (let round = 0; round < count; round++) {
      for (const id of due) this.promises.fallsDue(id)
      for (const id of given) this.promises.onGiven(id)
      if (isLossy()) this.promises.onLoss()
      const seq = this.#seq++
      const broken = this.promises.broken
      this.promises.onProgress({ seq, sndNxt: this.#seq } as AckSample, this.#granted & ~broken)
    }
  }

  isBroken(id: NeedId): boolean {
    return (this.promises.broken & (1 << id)) !== 0
  }
}

t.test('a need breaks when it was due and did not come in eight round trips', async t => {
  const rounds = new Rounds(TELEMETRY)
  // The first is what falls due before the round trips in which it is missed.
  rounds.pass(BROKEN_AFTER, [TELEMETRY])
  t.notOk(rounds.isBroken(TELEMETRY))
  rounds.pass(1, [TELEMETRY])
  t.ok(rounds.isBroken(TELEMETRY))
})

t.test('round trips with a loss in them, or in the one before, do not count', async t => {
  const rounds = new Rounds(TELEMETRY)
  let round = 0
  rounds.pass(200, [TELEMETRY], [], () => round++ % 2 === 0)
  t.notOk(rounds.isBroken(TELEMETRY), 'a loss in each second round trip')
  rounds.pass(BROKEN_AFTER - 1, [TELEMETRY])
  t.notOk(rounds.isBroken(TELEMETRY))
  rounds.pass(1, [TELEMETRY])
  t.ok(rounds.isBroken(TELEMETRY), 'then no losses')
})

t.test('what comes again counts as granted again, later each time', async t => {
  const rounds = new Rounds(TELEMETRY)
  for (const after of [8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024]) {
    rounds.pass(BROKEN_AFTER + 2, [TELEMETRY])
    t.ok(rounds.isBroken(TELEMETRY))
    rounds.pass(after - 1, [TELEMETRY], [TELEMETRY])
    t.ok(rounds.isBroken(TELEMETRY), `after ${after - 1} round trips`)
    rounds.pass(1, [TELEMETRY], [TELEMETRY])
    t.notOk(rounds.isBroken(TELEMETRY), `after ${after} round trips`)
  }
})

t.test('windows that come again excuse the telemetry that did not come meanwhile', async t => {
  const rounds = new Rounds(TELEMETRY, RECEIVING_PART)
  rounds.pass(BROKEN_AFTER + 1, [TELEMETRY, RECEIVING_PART])
  t.same([rounds.isBroken(TELEMETRY), rounds.isBroken(RECEIVING_PART)], [false, true])
  // Another controller goes by telemetry, which the receiving part uses up.
  rounds.pass(BROKEN_AFTER + 1, [TELEMETRY])
  t.ok(rounds.isBroken(TELEMETRY))
  rounds.pass(BROKEN_AFTER, [TELEMETRY], [RECEIVING_PART])
  t.equal(rounds.promises.broken, 0)
})
