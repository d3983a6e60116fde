/** Who learns that T has changed, and when it is measured again. */
import t from 'tap'
import { FlowBaseRtt } from '../../lib/nic/feedback/flow-base-rtt.js'
import { RateRequest } from '../../lib/nic/feedback/rate-request.js'
import { MILLISECOND, NEVER, SECOND } from '../../lib/time/nanos.js'

t.test('a receiver that computes windows gets a new T three times, and then no more', async t => {
  const request = new RateRequest({ lineRateBps: 1e9, baseRttNs: 1000, mtuBytes: 1000 }, {}, {})
  t.ok(request.wantsToSend)
  request.onSent(0)
  request.onAnswer()
  t.equal(request.nextTimeout(), NEVER)
  request.onBaseRtt(2000)
  const sentNs = []
  for (let now = 1e6; request.nextTimeout() < NEVER; now = Math.max(now, request.nextTimeout())) {
    request.onTimeout(now)
    if (!request.wantsToSend) continue
    sentNs.push(now)
    request.onSent(now)
  }
  t.equal(sentNs.length, 3, `${sentNs}`)
})

t.test('after a change of path T is measured at once, whatever the flow sends', async t => {
  const baseRtt = new FlowBaseRtt(10 * SECOND, 0)
  t.equal(baseRtt.nextTimeout(), NEVER)
  baseRtt.onPathChange()
  baseRtt.onSent(1, true)
  t.ok(baseRtt.nextTimeout() <= 5)
  t.ok(baseRtt.takeDue(5))
  t.notOk(baseRtt.takeDue(5), 'once')
  t.equal(baseRtt.nextTimeout(), NEVER)
  const once = new FlowBaseRtt(NEVER, 0)
  once.onPathChange()
  t.equal(once.nextTimeout(), NEVER, 'where T is measured once, nothing is probed')
})

t.test(
  'an idle connection repeats a long first round of probes once, and others at another time',
  async t => {
    const times = [0, 0.5].map(spread => {
      const baseRtt = new FlowBaseRtt(10 * SECOND, 0, spread)
      t.equal(baseRtt.onProbed(0, 901 * MILLISECOND, 901 * MILLISECOND, true), 901 * MILLISECOND)
      t.ok(baseRtt.isFirstRound)
      const at = baseRtt.nextTimeout()
      t.ok(baseRtt.takeDue(at))
      t.equal(baseRtt.onProbed(at, 20_000, 20_000, true), 20_000, 'T is right within a second')
      t.notOk(baseRtt.isFirstRound)
      t.equal(baseRtt.nextTimeout(), NEVER)
      return at
    })
    t.same(times, [250 * MILLISECOND, 375 * MILLISECOND])
    const short = new FlowBaseRtt(10 * SECOND, 0)
    short.onProbed(0, 20_000, 20_000, true)
    t.equal(short.nextTimeout(), NEVER, 'a short round is not repeated')
    const sends = new FlowBaseRtt(10 * SECOND, 0)
    sends.onProbed(0, 901 * MILLISECOND, 901 * MILLISECOND, true)
    sends.onSent(1, true)
    t.equal(sends.nextTimeout(), NEVER, 'data measures T by itself')
  },
)
