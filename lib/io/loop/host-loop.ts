import { DOUBLE_0 } from '../../double.js'
import { type Frame, UNKNOWN_ARRIVAL } from '../../frame/frame.js'
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
  /** The port has frames where the kernel has put them, and the node takes such frames. */
  readonly #peeks: boolean
  /** The node has taken the last frame there. */
  #tookInPlace = false
  /** The node's time in this round. */
  #now: Nanos = DOUBLE_0
  /** Consecutive rounds that did not take in all arrived frames. */
  #fullRounds = 0

  constructor(options: HostLoopOptions) {
    this.#node = options.node
    this.#port = options.port
    this.#peeks = options.port.peek !== undefined && options.node.takeInPlace !== undefined
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
    this.#now = begun
    this.#onRound(begun)
    this.#intake?.begin(begun)
    let received = 0
    let bytes = 0
    let answered = false
    // Nothing has happened since the node had nothing more to send.
    let isSettled = false
    while (received < RECEIVED_FRAMES && bytes < ROUND_BYTES) {
      const taken = this.#receive(received === 0)
      if (taken === 0) break
      received++
      bytes += taken
      isSettled = false
      // Who polls wants the answer to leave before the loop takes in what came behind the question.
      if (received === 1 && this.#loop.polls) {
        answered = this.#send(this.#now, this.#tookInPlace)
        isSettled = !answered
      }
    }
    this.#intake?.took(bytes, this.#port.waitingBytes())
    const moreWaits = received >= RECEIVED_FRAMES || bytes >= ROUND_BYTES
    if (this.#keepDeadlines(this.#now, moreWaits)) isSettled = false
    const sent = !isSettled && this.#send(this.#now)
    if (this.#intake?.wantsEnd) this.#intake.end(this.now())
    return moreWaits || sent || answered
  }

  /** Hands the next frame to the node, and what it takes of the run behind it. Returns their bytes; 0: there is none. */
  #receive(isFirst: boolean): number {
    this.#tookInPlace = false
    const placed = this.#peeks ? this.#port.peek!() : null
    if (placed !== null) {
      this.#arrived(placed, isFirst)
      this.#tookInPlace = this.#node.takeInPlace!(this.#now, placed)
      if (this.#tookInPlace) {
        this.#port.skip!()
        return placed.length
      }
    }
    const frame = this.#port.receive()
    if (frame === null) return 0
    const { length } = frame
    const run = this.#port.run ?? null
    if (placed === null) this.#arrived(frame, isFirst)
    this.#node.onFrame(this.#now, 0, frame, run)
    return (run === null ? 1 : 1 + run.taken) * length
  }

  /**
   * Reads the clock for a frame: it may have arrived while the frames before it were handled, or while other processes ran. With the
   * older time its round trip would be too short. The first one may be known to have arrived before the round. What follows the frame in its
   * run has arrived with it.
   */
  #arrived({ arrivedNs }: Frame, isFirst: boolean): void {
    if (!isFirst || arrivedNs === UNKNOWN_ARRIVAL || arrivedNs > this.#now) this.#now = this.now()
  }

  /**
   * Sends what may leave. Returns true if it has sent as much as a round may, so there may be more. Acknowledgements are last. An answer would otherwise leave behind the
   * acknowledgement of its question, and its peer would take in that one before it saw the answer. Requests keep their order.
   * @param atOnce the first frame does not wait for others: it answers a single message, so it is probably alone
   */
  #send(now: Nanos, atOnce = false): boolean {
    this.#sendBehind()
    let sent = 0
    let bytes = 0
    while (sent < SENT_FRAMES && bytes < ROUND_BYTES && this.#port.canTransmit()) {
      const frame = this.#node.pollTransmit(now)
      if (frame === null) break
      sent++
      bytes += (1 + frame.followers) * frame.length
      if (acknowledges(frame) && this.#behind.length < SENT_FRAMES) this.#behind.push(frame)
      else {
        this.#port.transmit(frame)
        if (atOnce && sent === 1) this.#port.flush()
      }
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

  /** True if one has passed. */
  #keepDeadlines(now: Nanos, moreWaits: boolean): boolean {
    this.#fullRounds = moreWaits ? this.#fullRounds + 1 : 0
    if (this.#fullRounds % DEADLINES_PUT_OFF_ROUNDS !== 0 || this.#node.nextTimeout() > now) return false
    this.#node.onTimeout(now)
    return true
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
