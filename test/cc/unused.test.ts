/** Bounds of careful flows, and those that losses set: what a flow does not use shows nothing of the path, and does not grow. */
import t from 'tap'
import { ccNames, createCongestionControl } from '../../lib/cc/catalogue.js'
import { lossOf, sampleOf } from './samples.js'

const MTU = 1000
const MS = 1e6
const RTT = MS
const CAREFUL = { lineRateBps: 10e9, baseRttNs: RTT, mtuBytes: MTU, careful: true }

for (const name of ccNames()) {
  t.test(`${name}: a packet each 10 ms, alone in flight, opens no window`, async t => {
    const cc = createCongestionControl(name, CAREFUL)
    const before = cc.windowBytes()
    let now = 0
    for (let seq = 0; seq < 1000; seq++) {
      now += 10 * MS
      cc.onSent?.(now, seq, MTU)
      cc.onAck(now + RTT, sampleOf([], { seq, sndNxt: seq + 1, ackedBytes: MTU, advanced: true, rttNs: RTT }))
    }
    t.ok(cc.windowBytes() <= before, `${before} to ${cc.windowBytes()} bytes`)
  })
}

/** Far more than a line rate has in flight in the base RTT: the rest lies in a queue. */
const IN_FLIGHT = 2_000_000

for (const name of ['dcqcn', 'rocc', 'timely', 'rttcc']) {
  t.test(`${name}: a loss with a long queue in flight counts until as much is in flight again`, async t => {
    const cc = createCongestionControl(name, { lineRateBps: 10e9, baseRttNs: 50_000, mtuBytes: MTU })
    cc.onLoss(RTT, lossOf({ lostBytes: MTU, inFlightBytes: IN_FLIGHT, newestSeq: 10, sndNxt: 2000 }))
    const after = cc.windowBytes()
    t.ok(after <= 0.7 * (IN_FLIGHT + MTU), `${after} bytes`)
    cc.onAck(
      2 * RTT,
      sampleOf([], { seq: 11, sndNxt: 2001, ackedBytes: MTU, inFlightBytes: after, rttNs: RTT }),
    )
    t.ok(cc.windowBytes() <= after + MTU, `${cc.windowBytes()} bytes after the next acknowledgement`)
  })
}
