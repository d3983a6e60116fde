/**
 * Measures the cost of an acknowledgement for every congestion controller of the catalogue, ns: without
 * telemetry, and with that of some hops. It includes filling in the sample.
 */
import { parseArgs } from 'node:util'
import { ccNames, createCongestionControl } from '../lib/cc/catalogue.js'
import { newAckSample } from '../lib/cc/congestion-control.js'
import { NEVER } from '../lib/time/nanos.js'
import type { HopRecords } from '../lib/wire/telemetry/hop-records.js'
import {
  type Operation,
  type OperationTime,
  printTimes,
  ROUND_MS,
  timeOperations,
} from './micro/time-operations.js'
import { stealSince, stealTicks } from './steal.js'
import type { NamedFigure } from './support/against.js'

const LINE_RATE_BPS = 100e9
const BASE_RTT_NS = 20_000
const MTU_BYTES = 4096
const HOPS = [0, 1, 5]
/** Modulus of telemetry that does not wrap here. */
const MODULUS = 2 ** 48

interface CcResult {
  benchmark: 'cc'
  stealShare: number | null
  operations: OperationTime[]
}

/** Arguments: names of controllers; default: all. */
export function run(args: string[], roundMs = ROUND_MS): CcResult {
  const { values, positionals: wanted } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: 'boolean' } },
  })
  const names = wanted.length > 0 ? wanted : ccNames()
  const steal = stealTicks()
  const all = names.flatMap(name => HOPS.map(hops => acknowledgement(name, hops)))
  const operations = timeOperations(all, roundMs)
  const result: CcResult = { benchmark: 'cc', stealShare: stealSince(steal), operations }
  if (!values.json) process.stdout.write(printTimes(operations))
  return result
}

/** For `--against`: ns of each operation. */
export function comparedFigures({ operations }: CcResult): NamedFigure[] {
  return operations.map(({ name, ns }) => ({ name: `${name}, ns`, value: ns }))
}

/**
 * A packet is sent, and acknowledged an RTT later. The path's queues grow and shrink, and some packets are
 * marked.
 */
function acknowledgement(name: string, hopCount: number): Operation {
  const context = { lineRateBps: LINE_RATE_BPS, baseRttNs: BASE_RTT_NS, mtuBytes: MTU_BYTES }
  const cc = createCongestionControl(name, context)
  const inFlight = Math.round((LINE_RATE_BPS * BASE_RTT_NS) / 8e9 / MTU_BYTES)
  const sample = newAckSample()
  sample.ackedBytes = MTU_BYTES
  sample.advanced = true
  sample.inFlightBytes = inFlight * MTU_BYTES
  const { hops } = sample
  const packetNs = (MTU_BYTES * 8e9) / LINE_RATE_BPS
  let sent = 0
  let now = 1e6
  return {
    name: `${name}, ${hopCount === 0 ? 'no telemetry' : `${hopCount} hop${hopCount > 1 ? 's' : ''}`}`,
    run: count => {
      for (let i = 0; i < count; i++) {
        now += packetNs
        sent++
        cc.onSent?.(now, sent + inFlight, MTU_BYTES)
        sample.seq = sent
        sample.sndNxt = sent + inFlight
        sample.rttNs = BASE_RTT_NS + (sent & 1023) * 10
        sample.ecnEcho = (sent & 63) === 0
        fill(hops, hopCount, now, sent)
        cc.onAck(now, sample)
        const due = cc.nextTimeout?.() ?? NEVER
        if (due <= now) cc.onTimeout?.(now)
      }
    },
  }
}

function fill(hops: HopRecords, count: number, now: number, sent: number): void {
  hops.count = count
  hops.pathId = 1
  for (let i = 0; i < count; i++) {
    hops.rateBps[i] = LINE_RATE_BPS
    hops.tsNs[i] = Math.round(now)
    hops.txBytes[i] = sent * MTU_BYTES
    hops.qlenBytes[i] = (sent & 255) * 100
    hops.tsModulusNs[i] = MODULUS
    hops.txModulusBytes[i] = MODULUS
  }
}
