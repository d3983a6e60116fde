import t from 'tap'
import { BaseRttProbe } from '../../lib/nic/feedback/base-rtt-probe.js'
import { NEVER } from '../../lib/time/nanos.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'

const TIMEOUT_NS = 50_000_000

t.test('the smallest of five round trips', async t => {
  const probe = new BaseRttProbe()
  let now = 1000
  for (const [n, rtt] of [9000, 7000, 12_000, 7500, 8000].entries()) {
    t.equal(probe.wantsToSend, true)
    t.equal(probe.done, false)
    t.equal(probe.nextTimeout(), NEVER)
    const { sequence } = probe
    t.equal(sequence, n)
    probe.onSent(now)
    t.equal(probe.wantsToSend, false, 'one at a time')
    t.equal(probe.nextTimeout(), now + TIMEOUT_NS)
    probe.onAnswer(now + rtt, sequence, null)
    now += 100_000
  }
  t.equal(probe.done, true)
  t.equal(probe.wantsToSend, false)
  t.equal(probe.bestNs, 7000)
  t.equal(probe.nextTimeout(), NEVER)
})

t.test('answers to another probe, late or doubled, do not count', async t => {
  const probe = new BaseRttProbe()
  probe.onAnswer(500, 0, null)
  t.equal(probe.bestNs, NEVER, 'nothing was asked yet')
  probe.onSent(1000)
  probe.onAnswer(1100, 5, null)
  t.equal(probe.bestNs, NEVER)
  probe.onTimeout(1000 + TIMEOUT_NS - 1)
  t.equal(probe.wantsToSend, false, 'harmless when early')
  probe.onTimeout(1000 + TIMEOUT_NS)
  t.equal(probe.wantsToSend, true)
  probe.onSent(60_000_000)
  probe.onAnswer(60_000_010, 0, null)
  t.equal(probe.bestNs, NEVER, 'that was the first one: its time is not this one’s')
  probe.onAnswer(60_009_000, 1, null)
  probe.onAnswer(60_000_001, 1, null)
  t.equal(probe.bestNs, 9000)
})

t.test('fifteen without an answer, and no more', async t => {
  const probe = new BaseRttProbe()
  let sent = 0
  for (let now = 0; !probe.done && sent < 100; now = probe.nextTimeout()) {
    probe.onTimeout(now)
    if (!probe.wantsToSend) continue
    probe.onSent(now)
    sent++
  }
  t.equal(sent, 15)
  t.equal(probe.bestNs, NEVER)
  t.equal(probe.nextTimeout(), NEVER)
})

/** Telemetry of one link of 8 Gbit/s with that queue. */
function queue(bytes: number): HopRecords {
  const hops = new HopRecords()
  hops.count = 1
  hops.rateBps[0] = 8e9
  hops.qlenBytes[0] = bytes
  return hops
}

t.test('the queues of others are subtracted: the lesser of those behind two probes in a row', async t => {
  const measure = (queues: number[], rtts: number[]) => {
    const probe = new BaseRttProbe()
    for (const [n, rtt] of rtts.entries()) {
      probe.onSent(0)
      probe.onAnswer(rtt, probe.sequence, queue(queues[n]!))
    }
    return probe.baseRttNs
  }
  t.equal(measure([5000, 5000, 5000, 5000, 5000], [6000, 6000, 6000, 6000, 6000]), 1000, 'it stands')
  t.equal(measure([2000, 4000, 6000, 8000, 10_000], [1000, 3000, 5000, 7000, 9000]), 1000, 'it grows')
  t.equal(measure([8000, 6000, 4000, 2000, 0], [11_000, 9000, 7000, 5000, 3000]), 3000, 'it shrinks')
  t.equal(measure([0, 0, 0, 0, 0], [1500, 1200, 1300, 1400, 1000]), 1000, 'there is none')
  t.equal(measure([5000, 900, 900, 5000, 5000], [1000, 1000, 1000, 1000, 1000]), 1000, 'no probe waits in it')
})
