/** The hop that a receiver returns if it returns only one. */
import t from 'tap'
import { BusiestHop } from '../../lib/nic/telemetry/busiest-hop.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'

const T_NS = 10_000
const BYTES_PER_NS = 12.5

/** Two links of 100 Gbit/s in a row; each call is `T_NS` later, with these loads since the last one. */
function path(): (first: number, second: number, queueBytes?: number) => number {
  const busiest = new BusiestHop()
  const hops = new HopRecords()
  hops.count = 2
  hops.pathId = 3
  hops.switchId.set([1, 2])
  hops.rateBps.set([100e9, 100e9])
  const view = new DataView(new ArrayBuffer(256))
  return (first, second, queueBytes = 0) => {
    for (const [i, load] of [first, second].entries()) {
      hops.tsNs[i]! += T_NS
      hops.txBytes[i]! += Math.round(load * T_NS * BYTES_PER_NS)
      hops.qlenBytes[i] = i === 1 ? queueBytes : 0
    }
    const bytes = busiest.leave(view, intShim.writeEchoOf(view, 0, hops), T_NS)
    t.equal(bytes, intShim.BYTES + intShim.WIDE_SLOT_BYTES)
    const told = new HopRecords()
    intShim.read(view, 0, bytes, told)
    t.equal(told.count, 1)
    return told.switchId[0]!
  }
}

t.test('the hop with the highest inflight bytes is returned', async t => {
  const told = path()
  told(0.5, 0.5)
  t.equal(told(0.9, 0.5), 1)
  t.equal(told(0.5, 0.9), 2)
  t.equal(told(0.9, 0.5), 1)
  // 50,000 bytes are 0.4 of what the link holds in T.
  t.equal(told(0.9, 0.6, 50_000), 2)
})

t.test(
  'of links that are as busy but for chance the same one is returned: two telemetries of it can be compared',
  async t => {
    const told = path()
    told(0.5, 0.5)
    t.equal(told(0.95, 0.94), 1)
    t.equal(told(0.94, 0.95), 1)
    t.equal(told(0.94, 0.97), 2)
    t.equal(told(0.95, 0.94), 2)
  },
)
