/**
 * The same network with each encapsulation of telemetry: the same windows, to the byte where nothing is
 * rounded.
 */
import t from 'tap'
import { Hpcc } from '../../lib/cc/hpcc/hpcc.js'
import { Frame } from '../../lib/frame/frame.js'
import { Random } from '../../lib/sim/random.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import type { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import { HopSnapshot } from '../../lib/wire/telemetry/hop-snapshot.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { growthBytes, stamp } from '../../lib/wire/telemetry/telemetry-hop.js'
import { buildRoce, PLAIN } from '../wire/helpers.js'
import { sampleOf } from './samples.js'

const T = 8000
const HOPS = 3
const ACKS = 2000

/** A data packet's way and back: sent, stamped by every hop, parsed, echoed, read by its sender. */
function roundTrip(format: number, path: readonly HopSnapshot[], into: HopRecords): void {
  const plain = buildRoce({ ...PLAIN, payloadBytes: 8 })
  parseFrame(plain)
  const frame = new Frame(0, Buffer.alloc(1024))
  const { view } = frame
  frame.bytes.set(plain.bytes.subarray(0, plain.bth))
  Object.assign(frame, { l3: plain.l3, l4: plain.l4, payload: plain.bth })
  frame.bth = telemetry.begin(frame, format, HOPS, 0)
  frame.bytes.set(plain.bytes.subarray(plain.bth), frame.bth)
  frame.length = frame.bth + plain.length - plain.bth
  frame.wireLength = frame.length
  view.setUint16(frame.l3 + 2, frame.length - frame.l3)
  udp.setDestinationPort(view, frame.l4, telemetry.destinationPort(frame))
  udp.setLength(view, frame.l4, frame.length - frame.l4 - telemetry.foreignBytes(frame))
  for (const hop of path) {
    if (parseFrame(frame) !== WireError.OK) throw new Error('malformed')
    stamp(frame, hop, growthBytes(frame, 1500))
  }
  if (parseFrame(frame) !== WireError.OK) throw new Error('malformed')
  const echo = new DataView(new ArrayBuffer(telemetry.ECHO_BYTES_MAX))
  const bytes = telemetry.writeEcho(echo, 0, frame)
  intShim.read(echo, 0, bytes, into)
}

/** Windows of a controller whose path has randomly changing load and queues, by a seed. */
function windows(format: number): number[] {
  const random = new Random(11)
  const cc = new Hpcc({ lineRateBps: 100e9, baseRttNs: T, mtuBytes: 1000 })
  const path = Array.from({ length: HOPS }, (_, i) =>
    Object.assign(new HopSnapshot(), {
      switchId: i + 1,
      egressPort: i,
      rateBps: 100e9,
      startNs: 999_999_000 + i * 1000,
    }),
  )
  const sample = sampleOf([])
  const seen: number[] = []
  for (let ack = 0; ack < ACKS; ack++) {
    const dt = 200 + random.below(1500)
    for (const hop of path) {
      hop.startNs += dt
      hop.arrivalNs = hop.startNs - random.below(5000)
      hop.txBytes += Math.floor((dt * 12.5 * (20 + random.below(81))) / 100)
      hop.qlenBytes = Math.max(0, hop.qlenBytes + random.below(20_000) - 11_000)
    }
    roundTrip(format, path, sample.hops)
    if (sample.hops.count !== HOPS) throw new Error(`${sample.hops.count} hops`)
    sample.seq = ack
    sample.sndNxt = ack + 20
    cc.onAck(ack * 700, sample)
    seen.push(cc.windowBytes())
  }
  return seen
}

t.test('wide, INT-MD, IFA and IOAM: the same windows; compact: within its rounding', async t => {
  const wide = windows(telemetry.formatOf('wide'))
  t.ok(new Set(wide).size > ACKS / 10, `the window moves: ${new Set(wide).size} values`)
  t.ok(Math.min(...wide) < 0.7 * Math.max(...wide))
  for (const name of ['p4-int-md', 'ifa', 'ioam'] as const)
    t.same(windows(telemetry.formatOf(name)), wide, name)
  // 512 B of txBytes in dt of at least 200 ns (2,500 B), smoothed by dt / T, move a window by few per cent.
  const compact = windows(telemetry.formatOf('compact'))
  const off = compact.map((w, i) => Math.abs(w - wide[i]!) / wide[i]!)
  const mean = off.reduce((sum, x) => sum + x, 0) / off.length
  t.ok(mean < 0.05, `compact: ${(100 * mean).toFixed(2)} % off on average`)
})
