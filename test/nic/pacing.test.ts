/**
 * The pacing clock of a flow: over any long run the bytes sent are the rate times the time, within one
 * packet. The clock counts whole nanoseconds, and a packet's time seldom is whole: the rounding must not add
 * up.
 */
import t from 'tap'
import { Pacer } from '../../lib/nic/flow/pacer.js'
import { Random } from '../../lib/sim/random.js'
import { fixedSeed } from '../support/seeds.js'

interface Clock {
  paced(now: number, bytes: number): void
  nextSendNs(): number
}

/** A flow's pacing clock at a rate that may change. */
function flowAt(rateBps: number, slackNs: number): { flow: Clock; setRate: (rate: number) => void } {
  const pacer = new Pacer(slackNs, 0)
  let rate = rateBps
  return {
    flow: {
      paced: (now, bytes) => pacer.onSent(now, rate, bytes),
      nextSendNs: () => pacer.nextSendNs(rate),
    },
    setRate: to => {
      rate = to
    },
  }
}

const START = 1_000_000

t.test('a loop that is never late keeps the rate within one packet', async t => {
  for (const rateBps of [100e9, 99.7e9, 37.31e9, 12.345e9, 1e9, 9_999_991]) {
    for (const bytes of [1090, 1048, 4237, 66]) {
      const { flow } = flowAt(rateBps, 0)
      let now = START
      let sent = 0
      let mostAhead = 0
      let mostBehind = 0
      for (let n = 0; n < 20_000; n++) {
        flow.paced(now, bytes)
        sent += bytes
        now = flow.nextSendNs()
        if (!Number.isInteger(now)) t.fail('times are whole nanoseconds')
        const due = ((now - START) * rateBps) / 8e9
        mostAhead = Math.max(mostAhead, sent - due)
        mostBehind = Math.max(mostBehind, due - sent)
      }
      t.ok(mostAhead <= bytes + 1e-3, `${rateBps} bit/s, ${bytes} B: at most ${mostAhead} B ahead`)
      t.ok(mostBehind <= bytes + 1e-3, `and ${mostBehind} B behind`)
    }
  }
})

t.test('lateness up to the slack is made good', async t => {
  const seed = fixedSeed(t, 4)
  const random = new Random(seed)
  const rateBps = 9.87e9
  const slackNs = 50_000
  const { flow } = flowAt(rateBps, slackNs)
  let now = START
  let sent = 0
  flow.paced(now, 1090)
  // From here on the clock runs: the credit of the flow's first packet is spent.
  for (let spent = 0; spent < 100; spent++) {
    now = Math.max(now, flow.nextSendNs())
    flow.paced(now, 1090)
  }
  const from = flow.nextSendNs()
  for (let n = 0; n < 20_000; n++) {
    now = Math.max(now, flow.nextSendNs() + random.below(slackNs))
    flow.paced(now, 1090)
    sent += 1090
  }
  const due = ((flow.nextSendNs() - from) * rateBps) / 8e9
  t.ok(Math.abs(sent - due) <= 1090, `SEED=${seed}: ${sent} B sent, ${due} B due`)
})

t.test('lateness beyond the slack is lost: no burst makes it good', async t => {
  const rateBps = 8e9 // a byte a nanosecond
  for (const slackNs of [0, 5000]) {
    const { flow } = flowAt(rateBps, slackNs)
    flow.paced(START, 1000)
    const late = START + 10_000_000
    let burst = 0
    while (flow.nextSendNs() <= late) {
      flow.paced(late, 1000)
      burst++
    }
    t.equal(burst, slackNs / 1000 + 1, `slack ${slackNs}`)
  }
})

t.test('a change of rate holds from the next packet on', async t => {
  const { flow, setRate } = flowAt(8e9, 0)
  flow.paced(START, 1000)
  t.equal(flow.nextSendNs(), START + 1000)
  setRate(4e9)
  t.equal(flow.nextSendNs(), START + 2000, 'slower: the wait grows')
  setRate(16e9)
  t.equal(flow.nextSendNs(), START + 500, 'faster: it shrinks')
})
