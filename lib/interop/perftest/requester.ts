/** What the connecting end of a test does: keeps messages in flight, or sends one and waits for what comes back. */
import { WeirError } from '../../errors.js'
import { LatencyRecorder, type LatencySummary } from '../../perf/latency.js'
import { Completion } from '../../qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../qp/queues/work.js'
import { WorkStatus, workStatusName } from '../../qp/queues/work-status.js'
import type { Nanos } from '../../time/nanos.js'
import { byteIs } from './byte-watch.js'
import type { Report } from './messages.js'
import type { ReceiveEnd, TestEnd, TestMemory } from './queue-pairs.js'

const MIB = 2 ** 20
/** READs and atomics that this end has outstanding. */
const READS_MAX = 16
/** The best rate is that of so much time. */
const PEAK_MS = 100

/** A queue pair, and the memory at its other end. */
interface RunPair {
  connection: TestEnd
  receives: ReceiveEnd
  remoteAddress: number
  rkey: number
  /** READs and atomics that the other end answers at a time. */
  outReads: number
}

export interface Run {
  opcode: WorkOpcode
  pairs: readonly RunPair[]
  memory: TestMemory
  size: number
  /** Messages of each queue pair; 0: until `durationNs` is over. */
  iterations: number
  durationNs: Nanos
  depth: number
  /** The other end sends as many SENDs: they are waited for. */
  takes?: boolean
  signal: AbortSignal
}

export interface Measured {
  /** The sum of all queue pairs. */
  messages: number
  seconds: number
  /** Rate of the best 100 ms. */
  peakBps: number
  /** bw: from post to completion. Else a round trip, or half of one, as perftest has it. */
  latency: LatencySummary
}

/** What an end tells the other one, as perftest counts. */
export function reportOf({ messages, seconds, peakBps }: Measured, size: number): Report {
  return {
    size,
    iterations: messages,
    peak: peakBps / 8 / MIB,
    average: (messages * size) / seconds / MIB,
    messageRate: messages / seconds / 1e6,
  }
}

/** Counts messages and times, of all queue pairs. */
class Tally {
  readonly #recorder = new LatencyRecorder()
  readonly #size: number
  readonly #began = performance.now()
  #messages = 0
  #intervalBegan = this.#began
  #inInterval = 0
  #peakBps = 0

  constructor(size: number) {
    this.#size = size
  }

  get messages(): number {
    return this.#messages
  }

  /** @param tookMs null: the first of a series, which has no time */
  count(nowMs: number, tookMs: number | null): void {
    this.#messages++
    this.#inInterval++
    if (tookMs !== null) this.#recorder.record(tookMs * 1e6)
    if (nowMs - this.#intervalBegan >= PEAK_MS) this.#endInterval(nowMs)
  }

  /** @param share of each time that counts */
  measured(share: number): Measured {
    const now = performance.now()
    if (this.#peakBps === 0) this.#endInterval(now)
    const seconds = (now - this.#began) / 1e3
    return {
      messages: this.#messages,
      seconds,
      peakBps: this.#peakBps,
      latency: this.#recorder.summary(share),
    }
  }

  #endInterval(now: number): void {
    const bps = (this.#inInterval * this.#size * 8e3) / Math.max(now - this.#intervalBegan, 1e-3)
    this.#peakBps = Math.max(this.#peakBps, bps)
    this.#intervalBegan = now
    this.#inInterval = 0
  }
}

/** Keeps `depth` messages in flight on each queue pair. */
export async function stream(run: Run): Promise<Measured> {
  const tally = new Tally(run.size)
  await Promise.all(run.pairs.map(pair => streamOn(run, pair, tally)))
  return tally.measured(1)
}

async function streamOn(run: Run, pair: RunPair, tally: Tally): Promise<void> {
  const { iterations, opcode } = run
  const isRead = opcode === WorkOpcode.RDMA_READ || opcode === WorkOpcode.FETCH_AND_ADD
  const most = Math.min(run.depth, isRead ? Math.min(READS_MAX, Math.max(1, pair.outReads)) : run.depth)
  const going = goesOn(run)
  const posted = new Float64Array(most)
  const work = workOf(run, pair)
  const taken = new Taken(run, pair)
  for (let sent = 0, done = 0; ; done++) {
    for (; sent - done < most && (iterations > 0 ? sent < iterations : going()); sent++) {
      posted[sent % most] = performance.now()
      if (!pair.connection.postSend(work)) break
    }
    if (sent === done) {
      if (iterations > 0 ? done === iterations : !going()) break
      throw (await endOf(pair.connection)) ?? lost(pair.connection, 'has left amid the test')
    }
    await taken.completed()
    const now = performance.now()
    tally.count(now, now - posted[done % most]!)
  }
  if (run.takes) await taken.all(iterations)
}

/** SENDs that come while this end sends. */
class Taken {
  readonly #run: Run
  readonly #pair: RunPair
  readonly #completion = new Completion()
  #count = 0

  constructor(run: Run, pair: RunPair) {
    this.#run = run
    this.#pair = pair
  }

  /** Waits for a completion of a send. */
  async completed(): Promise<void> {
    do await anyCompleted(this.#pair.connection, this.#completion)
    while (this.#isTaken())
  }

  /** Waits until so many have come. */
  async all(messages: number): Promise<void> {
    while (this.#count < messages) {
      await anyCompleted(this.#pair.connection, this.#completion)
      this.#isTaken()
    }
  }

  #isTaken(): boolean {
    if (!this.#completion.isReceive) return false
    this.#count++
    if (this.#run.takes) this.#pair.receives.postReceive(this.#run.memory.receives(1)[0]!)
    return true
  }
}

/** READs and atomics, one after the other. */
export async function roundTrips(run: Run): Promise<Measured> {
  const [pair] = run.pairs
  const tally = new Tally(run.size)
  const going = goesOn(run)
  const work = workOf(run, pair!)
  const completion = new Completion()
  for (let sent = 0; run.iterations > 0 ? sent < run.iterations : going(); sent++) {
    const began = performance.now()
    pair!.connection.postSend(work)
    await completed(pair!.connection, completion)
    const now = performance.now()
    tally.count(now, now - began)
  }
  return tally.measured(1)
}

/** SENDs or WRITEs that the other end answers by one of its own: half of the time from one to the next counts. */
export async function pingPong(run: Run): Promise<Measured> {
  const [pair] = run.pairs
  const tally = new Tally(run.size)
  if (run.opcode === WorkOpcode.SEND) await answeredSends(run, pair!, tally)
  else await answeredWrites(run, pair!, tally)
  return tally.measured(0.5)
}

async function answeredSends(run: Run, pair: RunPair, tally: Tally): Promise<void> {
  const { connection, receives } = pair
  const [receive] = run.memory.receives(1)
  const work = workOf(run, pair)
  const completion = new Completion()
  const going = goesOn(run)
  for (let sent = 0; run.iterations > 0 ? sent < run.iterations : going(); sent++) {
    const began = performance.now()
    connection.postSend(work)
    // One completion is of the message, and one of the answer, which may come first.
    for (let left = 2; left > 0; left--) {
      await anyCompleted(connection, completion)
      if (completion.isReceive) receives.postReceive(receive!)
    }
    const now = performance.now()
    tally.count(now, now - began)
  }
}

/** The other end WRITEs first: the n-th answer of this end is to its n-th message. */
async function answeredWrites(run: Run, pair: RunPair, tally: Tally): Promise<void> {
  const { region, own } = run.memory
  const { connection } = pair
  const work = workOf(run, pair)
  const completion = new Completion()
  const going = goesOn(run)
  let isOver = false
  void connection.closed.then(() => {
    isOver = true
  })
  const ended = () => isOver || run.signal.aborted || (run.iterations === 0 && !going())
  let began = 0
  for (let count = 1; run.iterations > 0 ? count <= run.iterations : going(); count++) {
    if (!(await byteIs(region.bytes, run.size - 1, count & 0xff, ended))) {
      if (run.iterations === 0 && !isOver) return
      throw (await endOf(connection)) ?? lost(connection, 'has left amid the test')
    }
    const now = performance.now()
    tally.count(now, count === 1 ? null : now - began)
    began = now
    region.bytes[own + run.size - 1] = count & 0xff
    connection.postSend(work)
    await completed(connection, completion)
  }
}

function workOf(run: Run, { remoteAddress, rkey }: RunPair): SendWork {
  const { opcode, memory, size: length } = run
  return {
    id: 0,
    opcode,
    region: memory.region,
    offset: memory.own,
    length,
    remoteAddress,
    rkey,
    compareOrAdd: 1n,
  }
}

/** Whether a run by time goes on. */
function goesOn({ durationNs, signal }: Run): () => boolean {
  const until = performance.now() + durationNs / 1e6
  return () => performance.now() < until && !signal.aborted
}

/** Waits for a completion of a send; those of receives are passed over. */
async function completed(connection: TestEnd, completion: Completion): Promise<void> {
  do await anyCompleted(connection, completion)
  while (completion.isReceive)
}

async function anyCompleted(connection: TestEnd, completion: Completion): Promise<void> {
  if (!(await connection.next(completion)))
    throw (await endOf(connection)) ?? lost(connection, 'has left amid the test')
  const { status } = completion
  if (status === WorkStatus.SUCCESS) return
  const end = status === WorkStatus.WR_FLUSH_ERR ? await endOf(connection) : null
  throw end ?? lost(connection, `work failed with ${workStatusName(status)}`)
}

async function endOf(connection: TestEnd): Promise<Error | null> {
  await connection.disconnect()
  return await connection.closed
}

function lost({ remote }: TestEnd, what: string): WeirError {
  return new WeirError('WEIR_CONNECTION_LOST', `${remote} ${what}`)
}
