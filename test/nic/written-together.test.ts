/**
 * Packets that are written together (`runPackets`) are those that would have been written one by one. Two hosts exchange messages in
 * rounds, as a loop in real time drives them, once with runs and once without. Everything that host a sends, and everything
 * that it knows after each round, is equal.
 */
import t, { type Test } from 'tap'
import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import { followerOf, RUN_PACKETS_MAX } from '../../lib/frame/frame-run.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { TURN_PACKETS } from '../../lib/nic/flow/turn.js'
import type { Nic } from '../../lib/nic/nic.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { serialisationNs } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'
import { type App, connected, makePair, memoryOf, type Pair, pattern } from './pair.js'

const SEED = fixedSeed(t, 5)
const BYTES = 120_000
const MESSAGES = 24
const ROUNDS_MAX = 4000
const ROUND_NS = 20_000

/** As a daemon's NIC: late rounds are made up for. */
const AS_DAEMON: Partial<NicConfig> = {
  lineRateBps: 100e9,
  pathMtu: 1024,
  baseRttNs: 40_000,
  slackNs: 1e6,
  pacingRunNs: 1e6,
  ackEveryPackets: 16,
  start: 'line-rate',
}

/** With CUBIC a longer run is a longer turn as well, and changes the pace. So those runs are as long as a turn without runs. */
const CASES: readonly (Partial<NicConfig> & { runPackets: number })[] = [
  { cc: { name: 'cubic', options: {} }, runPackets: TURN_PACKETS },
  { cc: { name: 'auto', options: {} }, runPackets: TURN_PACKETS },
  { cc: { name: 'hpcc', options: {} }, runPackets: RUN_PACKETS_MAX },
  { cc: { name: 'hpcc', options: {} }, telemetry: { everyPackets: 7 }, runPackets: RUN_PACKETS_MAX },
  { cc: { name: 'fixed-window', options: {} }, runPackets: RUN_PACKETS_MAX },
  { cc: { name: 'cubic', options: {} }, gathers: true, pathMtu: 4096, runPackets: TURN_PACKETS },
  { cc: { name: 'cubic', options: {} }, recovery: 'goBackN', runPackets: TURN_PACKETS },
  { cc: { name: 'cubic', options: {} }, gathers: true, sendsRuns: true, runPackets: TURN_PACKETS },
  { cc: { name: 'hpcc', options: {} }, gathers: true, sendsRuns: true, runPackets: RUN_PACKETS_MAX },
  { cc: { name: 'cubic', options: {} }, secret: Buffer.alloc(32, 3), runPackets: TURN_PACKETS },
]

/** What host a has sent, and what it knew after each round, a line each. */
interface Trace {
  lines: string[]
  /** Packets that followed the head of a run, and the longest run. */
  followed: number
  followedResponses: number
  longest: number
  /** All messages have arrived, and are right. */
  whole: boolean
  /** Frames that nobody has given back. */
  inUse: number
}

/** Frames that leave a NIC in one round, with the time at which each leaves. A run that leaves whole is made frames as the kernel would. */
function polled(nic: Nic, now: number): Frame[] {
  const frames: Frame[] = []
  for (let frame = nic.pollTransmit(now); frame !== null; frame = nic.pollTransmit(now)) {
    frames.push(frame)
    if (frame.behind !== null) frames.push(...separated(nic, frame, frame.behind))
  }
  return frames
}

function separated(nic: Nic, head: Frame, behind: Frame): Frame[] {
  const { pool, lineRateBps } = nic.settings
  const packetNs = serialisationNs(head.wireLength, lineRateBps)
  const end = head.departNs
  const others = Array.from({ length: head.followers }, (_, i) => {
    const frame = followerOf(behind, i, pool)!
    frame.departNs = end - (head.followers - 1 - i) * packetNs
    return frame
  })
  head.departNs = end - head.followers * packetNs
  head.behind = null
  head.followers = 0
  pool.give(behind)
  return others
}

/** Hands frames to a NIC as if they had come from a wire. */
function deliver(nic: Nic, now: number, frames: readonly Frame[]): void {
  for (const frame of frames) {
    frame.bringIn()
    frame.l3 = -1
    nic.onFrame(now, 0, frame)
  }
  if (nic.nextTimeout() <= now) nic.onTimeout(now)
}

function stateOf(pair: Pair): string {
  const flow = pair.a.table.flows.find(entry => entry !== null)!
  const { qp, sender, stats } = flow
  const log: unknown[] = []
  for (let seq = qp.sndUna; seq < qp.sndNxt; seq++) {
    log.push([
      qp.sendLog.numberOf(seq),
      qp.sendLog.has(seq) && [qp.sendLog.sentNs(seq), qp.sendLog.wasRepeated(seq)],
    ])
  }
  return JSON.stringify({
    qp: [qp.sndUna, qp.sndNxt, qp.inFlightBytes, qp.transmissions, qp.lastTransmittedSeq, qp.nextTimeout()],
    counters: qp.counters,
    stats,
    sender: [sender.wireBytes, sender.nextSendNs(), sender.windowOpen, sender.telemetry.nextSlots],
    sent: flow.sentFrames,
    tx: pair.a.counters.tx,
    timeout: pair.a.nextTimeout(),
    log,
  })
}

/** @param loss share of host a's packets that are lost; @param reads host b asks for the bytes of one third of the messages by READs */
function exchange(config: Partial<NicConfig>, seed: number, loss: number, reads: boolean): Trace {
  const random = new Random(seed)
  const host = { ...AS_DAEMON, ...config }
  const pair = makePair({ a: host, b: { ...host, runPackets: 1 }, seed })
  const { left, right } = connected(pair)
  pair.settle()
  const bytes = pattern(seed, BYTES)
  const from = memoryOf(pair.a, bytes)
  const to = memoryOf(pair.b, Buffer.alloc(BYTES))
  const work = Array.from({ length: MESSAGES }, (_, id) => {
    const kind = [
      WorkOpcode.RDMA_WRITE,
      reads ? WorkOpcode.RDMA_READ : WorkOpcode.RDMA_WRITE,
      WorkOpcode.SEND,
    ][id % 3]!
    const length = Math.floor(random.next() * (kind === WorkOpcode.SEND ? 8192 : BYTES))
    const offset = Math.floor(random.next() * (BYTES - length))
    const [near, far] = kind === WorkOpcode.RDMA_READ ? [to, from] : [from, to]
    const remote = { remoteAddress: far.address + offset, rkey: far.key }
    return { id, opcode: kind, length, region: near, offset, ...remote }
  })
  let done = 0
  const onDone: App['onDone'] = (_now, _connection, { isReceive }) => {
    if (!isReceive) done++
  }
  left.onDone = right.onDone = onDone
  const trace: Trace = { lines: [], followed: 0, followedResponses: 0, longest: 0, whole: false, inUse: 0 }
  const { qp } = pair.a.table.flows.find(entry => entry !== null)!
  const transmitRun = qp.transmitRun.bind(qp)
  qp.transmitRun = (now, head, run, packets) => {
    trace.followed += packets
    trace.longest = Math.max(trace.longest, 1 + packets)
    transmitRun(now, head, run, packets)
  }
  const beginResponses = qp.beginResponses.bind(qp)
  qp.beginResponses = (head, run, packets) => {
    trace.followedResponses += packets
    beginResponses(head, run, packets)
  }
  let toA: Frame[] = []
  let { now } = pair.network
  for (let round = 0; round < ROUNDS_MAX && done < MESSAGES; round++) {
    now += ROUND_NS
    // Nothing happens before the next deadline.
    if (toA.length === 0 && work.length === 0)
      now = Math.max(now, Math.min(pair.a.nextTimeout(), pair.b.nextTimeout()))
    if (round % 3 === 0 && work.length > 0) {
      const next = work.shift()!
      const { connection } = next.opcode === WorkOpcode.RDMA_READ ? right : left
      connection!.postSend(now, next)
    }
    deliver(pair.a, now, toA)
    const sent = polled(pair.a, now)
    for (const frame of sent) {
      frame.bringIn()
      trace.lines.push(`${now} ${frame.departNs} ${frame.bytes.toString('hex', 0, frame.length)}`)
    }
    trace.lines.push(stateOf(pair))
    const kept = sent.filter(frame => {
      if (random.next() >= loss) return true
      pair.pool.give(frame)
      return false
    })
    now += ROUND_NS
    deliver(pair.b, now, kept)
    toA = polled(pair.b, now)
  }
  for (const frame of toA) pair.pool.give(frame)
  const written = to.buffer!
  trace.whole = done === MESSAGES && written.every((byte, i) => byte === 0 || byte === bytes[i])
  trace.inUse = pair.pool.inUse
  return trace
}

function compare(t: Test, config: Partial<NicConfig>, seed: number, loss: number, reads = false): Trace {
  const single = exchange({ ...config, runPackets: 1 }, seed, loss, reads)
  const runs = exchange(config, seed, loss, reads)
  const differs = single.lines.findIndex((line, i) => line !== runs.lines[i])
  t.equal(differs, -1, `the first line that differs of ${single.lines.length}`)
  if (differs >= 0) t.equal(runs.lines[differs]?.slice(0, 2000), single.lines[differs]!.slice(0, 2000))
  t.equal(runs.lines.length, single.lines.length)
  t.ok(runs.whole, 'all messages arrive')
  t.equal(single.followed, 0)
  t.equal(runs.inUse, 0, 'all frames come back')
  return runs
}

for (const [i, config] of CASES.entries()) {
  const { cc, runPackets: _, ...more } = config
  const name = `${cc!.name} ${Object.keys(more).join(' ')}`
  for (const loss of [0, 0.01]) {
    t.test(`${name}, ${100 * loss} % lost: the same packets as one by one`, async t => {
      const { followed, longest } = compare(t, config, SEED + i, loss)
      t.comment(`${followed} packets follow in runs, the longest run has ${longest}`)
      if (!isReplay) t.ok(longest > 2, 'there are runs')
    })
    t.test(`${name}, ${100 * loss} % lost, with READs of the peer: the same packets`, async t => {
      const { followedResponses } = compare(t, config, SEED + i, loss, true)
      if (!isReplay) t.ok(followedResponses > 0, `${followedResponses} READ responses follow in runs`)
    })
  }
}

t.test('drawn', async t => {
  const seed = drawnSeed(t)
  compare(t, CASES[seed % CASES.length]!, seed, (seed % 5) / 100, seed % 2 === 0)
})

/** Host a with a run of which the first packet has left, and the packets of an undisturbed run. */
function withRun(config: Partial<NicConfig> = {}) {
  const host = { ...AS_DAEMON, cc: { name: 'fixed-window', options: {} }, runPackets: RUN_PACKETS_MAX }
  const pair = makePair({ a: { ...host, ...config }, b: host })
  const { left } = connected(pair)
  pair.settle()
  const { now } = pair.network
  const to = memoryOf(pair.b, Buffer.alloc(BYTES))
  const post = () =>
    left.connection!.postSend(now, {
      id: 1,
      opcode: WorkOpcode.RDMA_WRITE,
      region: memoryOf(pair.a, pattern(1, BYTES)),
      offset: 0,
      length: 20 * 1024,
      remoteAddress: to.address,
      rkey: to.key,
    })
  const flow = pair.a.table.flows.find(entry => entry !== null)!
  return { pair, now, post, flow, left }
}

const psnsOf = (frames: readonly Frame[]) => frames.map(({ view, bth: at }) => bth.psn(view, at))

t.test('a pause holds what is left of a run, and then it goes on', async t => {
  const { pair, now, post, flow } = withRun()
  const psn = flow.qp.sndNxt
  post()
  const sent = [pair.a.pollTransmit(now)!, pair.a.pollTransmit(now)!, pair.a.pollTransmit(now)!]
  t.equal(flow.qp.sndNxt, psn + 19, 'in the middle of a run')
  const pause = pair.pool.take()!
  pfc.write(pause.view, 0, 1, 1, 100)
  pause.length = pause.wireLength = pfc.BYTES
  pair.a.onFrame(now, 0, pause)
  t.equal(pair.a.pollTransmit(now), null)
  const until = pair.a.nextTimeout()
  t.ok(until > now, 'nothing is due before the pause ends')
  pair.a.onTimeout(until)
  sent.push(...polled(pair.a, until))
  t.same(
    psnsOf(sent),
    Array.from({ length: 20 }, (_, i) => (psn + i) & 0xffffff),
  )
  for (const frame of sent) pair.pool.give(frame)
})

t.test('a defect while a run is written gives its frames back, and ends the connection', async t => {
  const { pair, now, post, flow, left } = withRun({ defects: 'end' })
  const inUse = pair.pool.inUse
  flow.qp.transmitRun = () => {
    throw new WeirError('WEIR_INTERNAL', 'broken by the test')
  }
  post()
  const sent = polled(pair.a, now)
  for (const frame of sent) pair.pool.give(frame)
  pair.a.onTimeout(now)
  t.equal(pair.pool.inUse, inUse)
  t.equal(pair.a.counters.defects, 1)
  t.equal(left.error?.code, 'WEIR_INTERNAL')
})
