/**
 * Two NICs that are joined in memory, without ports or event loop, to measure the protocol alone. Payloads
 * and ICRCs are real.
 */
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import { PerfRun } from '../../lib/perf/perf-run.js'
import { PerfServer } from '../../lib/perf/server.js'
import type { PerfSettings } from '../../lib/perf/settings.js'
import { Random } from '../../lib/sim/random.js'
import { HostAddress } from '../../lib/wire/net/address.js'

/** Time that passes with every requested frame, ns. It is long enough that pacing delays nothing. */
const STEP_NS = 500
const TICK_STEPS = 1000

/** As a daemon's NIC, but at 1 Tbit/s. */
const NIC = { lineRateBps: 1e12, pathMtu: 4096, ackEveryPackets: 16, baseRttNs: 20_000, carriesAcks: true }
/** With the controller of daemons, which lets an answer carry the acknowledgement of its question. */
const ANSWERS = { cc: { name: 'auto', options: {} }, start: 'careful' } as const

export class Joined {
  /** Gets every frame on its way. */
  onFrame: ((frame: Frame) => void) | null = null
  /** Frames that have passed, in both directions. */
  passed = 0
  readonly #nics: [Nic, Nic]
  readonly #run: PerfRun
  #now = 1000
  #steps = 0

  /** @param settings mode: messages in a stream, or one at a time, each with an answer. Default STREAM */
  constructor(settings: Pick<PerfSettings, 'op' | 'size'> & Partial<Pick<PerfSettings, 'mode'>>) {
    const { mode = 'STREAM' } = settings
    const more = mode === 'PING_PONG' ? ANSWERS : {}
    const pool = new FramePool(512)
    this.#nics = ['10.0.0.1', '10.0.0.2'].map((address, i) => {
      const random = new Random(i + 1)
      const who = { address: HostAddress.parse(address), pool, random: () => random.u32() }
      return new Nic({ ...NIC, ...more, ...who })
    }) as [Nic, Nic]
    const limits = { queueDepth: this.#nics[0].settings.queueDepth }
    const shared = { limits, cpuUs: () => 0, storage: true }
    const random = new Random(3)
    new PerfServer({ ...shared, verbs: this.#nics[1], random: () => random.u32() })
    this.#run = new PerfRun(this.#now, {
      ...shared,
      verbs: this.#nics[0],
      remote: this.#nics[1].address,
      settings: {
        ...settings,
        mode,
        qps: 1,
        depth: mode === 'PING_PONG' ? 1 : 16,
        iterations: 1e12,
        durationNs: 0,
        warmupNs: 0,
        bidirectional: false,
        busyPoll: false,
        pathMtu: 0,
      },
      clock: () => this.#now,
    })
    while (this.#run.state !== 'measuring') this.#step()
  }

  /** Messages delivered so far. */
  get messages(): number {
    return this.#run.tally.messages
  }

  /** Runs until this many more frames have passed. */
  packets(count: number): void {
    for (const end = this.passed + count; this.passed < end; ) this.#step()
  }

  /** Runs until this many more messages are delivered. */
  deliver(count: number): void {
    for (const end = this.messages + count; this.messages < end; ) this.#step()
  }

  #step(): void {
    this.#now += STEP_NS
    const [a, b] = this.#nics
    this.#move(a, b)
    this.#move(b, a)
    if (++this.#steps % TICK_STEPS === 0) this.#run.onTick(this.#now)
  }

  #move(from: Nic, to: Nic): void {
    if (from.nextTimeout() > this.#now) return
    from.onTimeout(this.#now)
    const frame = from.pollTransmit(this.#now)
    if (frame === null) return
    // As from a wire: only its bytes are known.
    frame.l3 = -1
    this.onFrame?.(frame)
    this.passed++
    to.onFrame(this.#now, 0, frame)
  }
}
