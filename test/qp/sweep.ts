/**
 * Two queue pairs joined by a pipe that loses, duplicates and reorders: all operations at once in both
 * directions, all path MTUs, PSNs that wrap. Bytes are exact, completions come once and in order, MSNs are
 * right, and nothing hangs. SEED=n runs that one alone.
 */
import t from 'tap'
import type { QpConfig } from '../../lib/qp/queue-pair.js'
import { ReadRoom } from '../../lib/qp/queues/read-room.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { fixedSeeds, isReplay } from '../support/seeds.js'
import { type Faults, Host, Pipe, randomSource } from './pipe.js'
import { Traffic } from './traffic.js'

const MESSAGES = 120
const STEPS_MAX = 200_000
/** Two Weir hosts may agree on any multiple of 4. */
const MTUS = [256, 512, 1024, 1308, 2048, 4096]
const FAULTLESS = { loss: 0, duplicate: 0, reorder: 0, delayNs: 1000 }
const FAULTS: [string, Partial<Faults>][] = [
  ['nothing', {}],
  ['loss', { loss: 0.1 }],
  ['reordering', { reorder: 0.2 }],
  ['duplication', { duplicate: 0.2 }],
  ['everything', { loss: 0.04, reorder: 0.05, duplicate: 0.1 }],
]

function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)]!
}

function drawConfig(random: () => number): Partial<QpConfig> {
  const resources = pick(random, [1, 2, 4, 16])
  return {
    pathMtu: pick(random, MTUS),
    sendQueueDepth: pick(random, [1, 3, 64]),
    receiveQueueDepth: pick(random, [1, 8, 64]),
    ackEveryPackets: pick(random, [0, 1, 4]),
    ackRequestEveryPackets: pick(random, [2, 64]),
    maxPacketsInFlight: pick(random, [1, 4, 64, 8192]),
    responderResources: resources,
    initiatorDepth: resources,
    ackTimeoutExponent: 4,
    minRnrTimer: 1,
  }
}

/** Draws settings of selective repeat, including tight bounds, so that runs reach them. */
function drawSelective(random: () => number): Partial<QpConfig> {
  return {
    selectiveRepeat: true,
    reorderPackets: pick(random, [1, 4, 2048]),
    reorderTolerance: pick(random, [1, 3, 16]),
  }
}

/** READs in parts, none of which has to wait for room. */
class Parts extends ReadRoom {
  override admits(): boolean {
    return true
  }
}

interface Outcome {
  errors: string[]
  what: string
  sacks: number
}

function run(seed: number, selective: boolean): Outcome {
  const random = randomSource(seed)
  const config = { ...drawConfig(random), ...(selective && drawSelective(randomSource(seed + 1))) }
  const readBytesMax = config.pathMtu! * pick(randomSource(seed + 2), [1, 3, Number.POSITIVE_INFINITY])
  const room = () => ({ readRoom: new Parts(2 * readBytesMax) })
  const [name, faults] = pick(random, FAULTS)
  const a = new Host(17, { ...config, ...room() }, seed)
  const b = new Host(18, { ...config, ...room() }, seed)
  // Each direction wraps after a few packets.
  const psnA = 0xffffff - Math.floor(random() * 60)
  const psnB = 0xffffff - Math.floor(random() * 60)
  a.connect(18, psnA, psnB)
  b.connect(17, psnB, psnA)
  const pause = pick(random, [0, 0.1, 0.5])
  const pipe = new Pipe(a, b, { ...FAULTLESS, pause, ...faults }, random)
  const lastMsn = new Map<Host, number>()
  pipe.onPacket = (from, frame) => {
    const opcode = bth.opcode(frame.view, frame.bth)
    if (opcode !== Opcode.RC_ACKNOWLEDGE && opcode !== Opcode.SACK) return
    lastMsn.set(from, aeth.msn(frame.view, frame.bth + bth.BYTES))
  }
  const there = new Traffic(a, b, random, MESSAGES, config.pathMtu!, readBytesMax)
  const back = new Traffic(b, a, random, MESSAGES, config.pathMtu!, readBytesMax)
  let steps = 0
  for (; steps < STEPS_MAX && !(there.done && back.done); steps++) {
    there.pump(pipe.now)
    back.pump(pipe.now)
    if (!pipe.step()) pipe.now += 1000
    if (there.errors.length + back.errors.length > 0) break
  }
  // What is still under way must do no harm, and must end.
  for (let i = 0; i < STEPS_MAX && pipe.step(); i++) {}
  there.checkMemory()
  back.checkMemory()
  const errors = [...there.errors, ...back.errors]
  if (!there.done || !back.done) errors.push(`hangs after ${steps} steps`)
  for (const [from, traffic] of [
    [b, there],
    [a, back],
  ] as const) {
    const msn = lastMsn.get(from) ?? 0
    if (msn > traffic.messages) errors.push(`MSN ${msn} after ${traffic.messages} messages`)
    if (from.qp.counters.duplicates > 0 && name === 'nothing' && from.qp.counters.rnrNaksSent === 0)
      errors.push('repeats without a reason')
  }
  if (a.qp.inFlightBytes + b.qp.inFlightBytes !== 0) errors.push('bytes in flight at the end')
  if (a.qp.sndUna !== a.qp.sndNxt || a.qp.sndNxt !== b.qp.nextReceiveSeq) errors.push('PSNs do not meet')
  for (const { qp, ackedBytes, reorderPool } of [a, b]) {
    // Each byte is acknowledged once, whatever was reported before.
    if (ackedBytes !== qp.counters.requestBytes)
      errors.push(`${ackedBytes} bytes acknowledged of ${qp.counters.requestBytes}`)
    if (reorderPool.inUse !== 0) errors.push(`${reorderPool.inUse} packets kept at the end`)
  }
  return {
    errors,
    what: `${name}, pause ${pause}, ${JSON.stringify(config)}`,
    sacks: a.qp.counters.sacks + b.qp.counters.sacks,
  }
}

/** Tests that messages arrive complete, once and in order by each of these seeds. */
export function sweep(seeds: readonly number[]): void {
  for (const selective of [false, true]) {
    const recovery = selective ? 'selective repeat' : 'go-back-N'
    t.test(`messages arrive whole, once, in order: ${recovery}`, async t => {
      let sacks = 0
      for (const seed of fixedSeeds(seeds)) {
        const outcome = run(seed, selective)
        t.same(outcome.errors, [], `SEED=${seed} ${outcome.what}`)
        sacks += outcome.sacks
      }
      // A replayed seed may be one without faults.
      if (!isReplay) t.equal(sacks > 0, selective, `${sacks} SACKs`)
    })
  }
}
