import type { Frame } from '../../frame/frame.js'
import type { Node } from '../../frame/node.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import { isAcknowledgement } from '../../wire/ib/opcode.js'
import type { Port } from '../port.js'
import type { Waiter } from '../waiter.js'
import type { Intake } from './intake.js'
import { type Driven, RealTimeLoop } from './real-time-loop.js'

interface HostLoopOptions {
  node: Node
  port: Port
  clock?: () => Nanos
  /** This and the next option: see RealTimeLoopOptions. */
  busyPoll?: boolean
  spinNs?: Nanos
  /** Default: the port's waiter. */
  waiter?: Waiter | null
  /** Called at the beginning of each round. It gives the node what other threads have requested. */
  onRound?: (now: Nanos) => void
  /**
   * Called once if the node throws, which is a defect. The loop has stopped then. Default: the error is
   * thrown out of the event loop.
   */
  onError?: (error: unknown) => void
  /** Gets what each round takes in, on ports whose `waitingBytes` is not NaN. Default: none. */
  intake?: Intake
}

/** Most frames received in one round, and sent. A run counts as one. Then the event loop runs. */
const RECEIVED_FRAMES = 64
const SENT_FRAMES = 128
/**
 * Most bytes received in one round, and sent, but for the rest of a run: eight of the longest runs. What a round costs beside its packets
 * (system calls, an acknowledgement, a turn of the event loop) is then little, and nobody waits for long.
 */
const ROUND_BYTES = 512 * 1024
/**
 * Rounds for which deadlines wait until all arrived frames are taken in. A deadline means silence, and the
 * packet that would break the silence may be behind other frames. This number of rounds empties any receive
 * buffer, unless its frames are short.
 */
const DEADLINES_PUT_OFF_ROUNDS = 64

/**
 * Drives one node over one port in real time: takes in frames, keeps deadlines, sends frames. Call `wake`
 * after a command to the node from outside its own callbacks.
 */
export class HostLoop implements Driven {
  readonly #node: Node
  readonly #port: Port
  readonly #onRound: (now: Nanos) => void
  readonly #loop: RealTimeLoop
  readonly #intake: Intake | null
  /** Acknowledgements, which leave behind the other frames of their round, SENT_FRAMES at most. */
  readonly #behind: Frame[] = []
  /** Consecutive rounds that did not take in all arrived frames. */
  #fullRounds = 0

  constructor(options: HostLoopOptions) {
    this.#node = options.node
    this.#port = options.port
    this.#onRound = options.onRound ?? (() => {})
    this.#intake = options.intake ?? null
    this.#loop = new RealTimeLoop(this, {
      clock: options.clock,
      busyPoll: options.busyPoll,
      spinNs: options.spinNs,
      waiter: options.waiter === undefined ? options.port.waiter : options.waiter,
      onError: options.onError ?? throwLater,
    })
    this.#port.onReadable(() => this.#loop.wake())
    this.#port.onWritable(() => this.#loop.wake())
  }

  /** The node's time: integer nanoseconds, monotonic. */
  now(): Nanos {
    return this.#loop.now()
  }

  /** Number of rounds so far. */
  get rounds(): number {
    return this.#loop.rounds
  }

  start(): void {
    this.#loop.start()
  }

  wake(): void {
    this.#loop.wake()
  }

  /** From now on the loop polls without sleeping, until `endPolling` has been called as often. */
  beginPolling(): void {
    this.#loop.beginPolling()
  }

  endPolling(): void {
    this.#loop.endPolling()
  }

  /** Stops the loop. The caller closes the port. */
  close(): void {
    this.#loop.close()
    // A full port counts them, and gives them back to their pool.
    for (const frame of this.#behind.splice(0)) this.#port.transmit(frame)
  }

  round(begun: Nanos): boolean {
    let now = begun
    this.#onRound(now)
    this.#intake?.begin(now)
    let received = 0
    let bytes = 0
    let answered = false
    while (received < RECEIVED_FRAMES && bytes < ROUND_BYTES) {
      const frame = this.#port.receive()
      if (frame === null) break
      const { length } = frame
      const run = this.#port.run ?? null
      // A new reading of the clock: the frame may have arrived while the frames before it were handled, or
      // while other processes ran. With the older time its round trip would be too short. What follows the
      // frame in its run has arrived with it.
      now = this.now()
      this.#node.onFrame(now, 0, frame, run)
      received++
      bytes += (run === null ? 1 : 1 + run.taken) * length
      // Who polls wants the answer to leave before the loop takes in what came behind the question.
      if (received === 1 && this.#loop.polls) answered = this.#send(now)
    }
    this.#intake?.took(bytes, this.#port.waitingBytes())
    const moreWaits = received >= RECEIVED_FRAMES || bytes >= ROUND_BYTES
    this.#keepDeadlines(now, moreWaits)
    const sent = this.#send(now)
    if (this.#intake?.wantsEnd) this.#intake.end(this.now())
    return moreWaits || sent || answered
  }

  /**
   * Sends what may leave. Returns true if it has sent as much as a round may, so there may be more. Acknowledgements are last. An answer would otherwise leave behind the
   * acknowledgement of its question, and its peer would take in that one before it saw the answer. Requests keep their order.
   */
  #send(now: Nanos): boolean {
    this.#sendBehind()
    let sent = 0
    let bytes = 0
    while (sent < SENT_FRAMES && bytes < ROUND_BYTES && this.#port.canTransmit()) {
      const frame = this.#node.pollTransmit(now)
      if (frame === null) break
      sent++
      bytes += (1 + frame.followers) * frame.length
      if (acknowledges(frame) && this.#behind.length < SENT_FRAMES) this.#behind.push(frame)
      else this.#port.transmit(frame)
    }
    this.#sendBehind()
    this.#port.flush()
    return sent >= SENT_FRAMES || bytes >= ROUND_BYTES
  }

  /** What the port has no room for now stays, and leaves before anything else of the next round. */
  #sendBehind(): void {
    const behind = this.#behind
    let sent = 0
    while (sent < behind.length && this.#port.canTransmit()) this.#port.transmit(behind[sent++]!)
    if (sent === 0) return
    behind.copyWithin(0, sent)
    behind.length -= sent
  }

  #keepDeadlines(now: Nanos, moreWaits: boolean): void {
    this.#fullRounds = moreWaits ? this.#fullRounds + 1 : 0
    if (this.#fullRounds % DEADLINES_PUT_OFF_ROUNDS !== 0) return
    if (this.#node.nextTimeout() <= now) this.#node.onTimeout(now)
  }

  nextDeadline(): Nanos {
    // While the port is full, its `onWritable` ends the wait. With the node's deadline the loop would only
    // spin.
    return this.#port.canTransmit() ? this.#node.nextTimeout() : NEVER
  }
}

/** Frames of tests may carry no RoCEv2 packet. */
function acknowledges({ view, bth: at }: Frame): boolean {
  return at >= 0 && isAcknowledgement(bth.opcode(view, at))
}

function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
