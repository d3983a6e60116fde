/**
 * The kernel's TCP with CUBIC, as a pair of nodes: `net/ipv4/tcp_cubic.c` of Linux 6 with its HyStart, SACK,
 * proportional rate reduction, delayed acknowledgements. It is written from the kernel's source and not from
 * `lib/cc`, for comparison with Weir on a path.
 *
 * It has no segmentation offload, no pacing (CUBIC has none without the qdisc fq), no receiver's window, and
 * no ECN.
 */
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { MILLISECOND, type Nanos, NEVER, SECOND, serialisationNs } from '../../lib/time/nanos.js'

/** Payload of a segment with time stamps on Ethernet, and the bytes around it. */
export const SEGMENT_BYTES = 1448
const HEADER_BYTES = 66
const HOST_RATE_BPS = 10e9
/** Where a frame of this model has its sequence number and transmission. */
const SEQ_AT = 0
const TRANSMISSION_AT = 4

const BETA = 717 / 1024
const C = 0.4
/** Windows that are acknowledged before Reno adds a segment: beta_scale / 8. */
const RENO_WINDOWS = (1024 + 717) / 3 / (1024 - 717)
const INITIAL_WINDOW = 10
const DUPLICATES = 3
const RTO_LEAST: Nanos = 200 * MILLISECOND

/** tcp_cubic.c. Windows are segments, times seconds. */
class LinuxCubic {
  cwnd = INITIAL_WINDOW
  ssthresh = Number.POSITIVE_INFINITY
  #count = 0
  #lastMax = 0
  #epoch = -1
  #ackCount = 0
  #tcpCwnd = 0
  #k = 0
  #origin = 0
  delayMin = 0
  #found = false
  #roundStart = 0
  #lastAck = 0
  #roundEnd = 0
  #roundRtt = Number.POSITIVE_INFINITY
  #samples = 0

  /** cubictcp_acked and hystart_update. */
  sample(now: number, rtt: number, una: number, next: number): void {
    if (this.#epoch >= 0 && now - this.#epoch < 1) return
    if (this.delayMin === 0 || rtt < this.delayMin) this.delayMin = rtt
    if (this.#found || this.cwnd >= this.ssthresh || this.cwnd < 16) return
    if (una > this.#roundEnd) {
      this.#roundStart = now
      this.#lastAck = now
      this.#roundEnd = next
      this.#roundRtt = Number.POSITIVE_INFINITY
      this.#samples = 0
    }
    if (now - this.#lastAck <= 0.002) {
      this.#lastAck = now
      if (now - this.#roundStart > this.delayMin / 2) this.#exit()
    }
    this.#roundRtt = Math.min(this.#roundRtt, rtt)
    if (this.#samples < 8) this.#samples++
    else if (this.#roundRtt > this.delayMin + Math.max(0.004, Math.min(0.016, this.delayMin / 8)))
      this.#exit()
  }

  #exit(): void {
    this.#found = true
    this.ssthresh = this.cwnd
  }

  /** cubictcp_cong_avoid. */
  avoid(now: number, acked: number): void {
    let left = acked
    if (this.cwnd < this.ssthresh) {
      const grown = Math.min(this.cwnd + left, this.ssthresh)
      left -= grown - this.cwnd
      this.cwnd = grown
      if (left <= 0) return
    }
    // tcp_cong_avoid_ai: the count from when segments counted less adds a single segment.
    const count = this.#update(now, left)
    if (this.#count >= count) {
      this.#count = 0
      this.cwnd++
    }
    this.#count += left
    const grown = Math.floor(this.#count / count)
    this.#count -= grown * count
    this.cwnd += grown
  }

  /** bictcp_update: the number of segments for which the window grows by one. */
  #update(now: number, acked: number): number {
    const { cwnd } = this
    this.#ackCount += acked
    if (this.#epoch < 0) {
      this.#epoch = now
      this.#ackCount = acked
      this.#tcpCwnd = cwnd
      this.#k = this.#lastMax <= cwnd ? 0 : Math.cbrt((this.#lastMax - cwnd) / C)
      this.#origin = Math.max(this.#lastMax, cwnd)
    }
    const target = this.#origin + C * (now - this.#epoch + this.delayMin - this.#k) ** 3
    let count = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd
    if (this.#lastMax === 0) count = Math.min(count, 20)
    while (this.#ackCount > cwnd * RENO_WINDOWS) {
      this.#ackCount -= cwnd * RENO_WINDOWS
      this.#tcpCwnd++
    }
    if (this.#tcpCwnd > cwnd) count = Math.min(count, cwnd / (this.#tcpCwnd - cwnd))
    return Math.max(2, count)
  }

  /** cubictcp_recalc_ssthresh. */
  reduce(): void {
    this.#epoch = -1
    this.#lastMax = this.cwnd < this.#lastMax ? (this.cwnd * (1 + BETA)) / 2 : this.cwnd
    this.ssthresh = Math.max(2, Math.floor(this.cwnd * BETA))
  }

  /** After a timeout cubictcp_state resets everything. */
  forget(): void {
    this.#lastMax = 0
    this.#epoch = -1
    this.delayMin = 0
    this.#found = false
  }
}

interface Segment {
  sentNs: Nanos
  transmission: number
  lost: boolean
  acked: boolean
  again: boolean
}

/** Sends without end, from `startNs` on. */
export class LinuxSender implements Node {
  readonly cubic = new LinuxCubic()
  retransmitted = 0
  timeouts = 0
  readonly #pool: FramePool
  readonly #startNs: Nanos
  readonly #segments = new Map<number, Segment>()
  /** Sequence numbers by transmission, for those that are not judged yet. */
  readonly #sent: { seq: number; transmission: number }[] = []
  readonly #lost: number[] = []
  #una = 0
  #next = 0
  #transmission = 0
  #highest = -1
  #inFlight = 0
  #busyUntil: Nanos = 0
  #recoverUntil = -1
  #priorCwnd = 0
  #prrDelivered = 0
  #prrOut = 0
  #srtt = 0
  #rttvar = 0
  #deadline: Nanos = NEVER

  constructor(pool: FramePool, startNs: Nanos) {
    this.#pool = pool
    this.#startNs = startNs
  }

  get #recovering(): boolean {
    return this.#una <= this.#recoverUntil
  }

  onFrame(now: Nanos, _port: number, frame: Frame): void {
    const una = frame.view.getUint32(SEQ_AT)
    const count = frame.view.getUint32(8)
    const arrived: [number, number][] = []
    for (let i = 0; i < count; i++)
      arrived.push([frame.view.getUint32(12 + 8 * i), frame.view.getUint32(16 + 8 * i)])
    this.#pool.give(frame)
    let newly = 0
    let rttNs = 0
    for (const [seq, transmission] of arrived) {
      const segment = this.#segments.get(seq)
      if (segment === undefined || segment.acked) continue
      segment.acked = true
      newly++
      if (!segment.lost) this.#inFlight--
      if (segment.transmission === transmission) {
        this.#highest = Math.max(this.#highest, transmission)
        if (!segment.again) rttNs = now - segment.sentNs
      }
    }
    const advanced = una > this.#una
    const wasRecovering = this.#recovering
    for (; this.#una < una; this.#una++) this.#segments.delete(this.#una)
    if (rttNs > 0) this.#time(now, rttNs / SECOND)
    const newlyLost = this.#judge()
    if (newlyLost > 0 && !wasRecovering && this.#una > this.#recoverUntil) this.#enter()
    else if (wasRecovering && !this.#recovering) {
      this.cubic.cwnd = this.cubic.ssthresh
    }
    if (this.#recovering) this.#reduce(newly, advanced && newlyLost === 0)
    else if (newly > 0) this.cubic.avoid(now / SECOND, newly)
    this.#arm(now)
  }

  #time(now: Nanos, rtt: number): void {
    if (this.#srtt === 0) {
      this.#srtt = rtt
      this.#rttvar = rtt / 2
    }
    this.#rttvar += (Math.abs(this.#srtt - rtt) - this.#rttvar) / 4
    this.#srtt += (rtt - this.#srtt) / 8
    this.cubic.sample(now / SECOND, rtt, this.#una, this.#next)
  }

  /** A segment is lost when three later ones have arrived, because nothing is reordered here. */
  #judge(): number {
    let lost = 0
    while (this.#sent.length > 0 && this.#sent[0]!.transmission <= this.#highest) {
      const { seq, transmission } = this.#sent[0]!
      const segment = this.#segments.get(seq)
      const open =
        segment !== undefined && !segment.acked && !segment.lost && segment.transmission === transmission
      if (open && transmission > this.#highest - DUPLICATES) break
      this.#sent.shift()
      if (!open) continue
      segment.lost = true
      this.#inFlight--
      this.#lost.push(seq)
      lost++
    }
    return lost
  }

  #enter(): void {
    this.#priorCwnd = this.cubic.cwnd
    this.#prrDelivered = 0
    this.#prrOut = 0
    this.cubic.reduce()
    this.#recoverUntil = this.#next - 1
  }

  /** tcp_cwnd_reduction. */
  #reduce(newly: number, safe: boolean): void {
    const { ssthresh } = this.cubic
    this.#prrDelivered += newly
    const delta = ssthresh - this.#inFlight
    let sndcnt: number
    if (delta < 0) sndcnt = Math.ceil((ssthresh * this.#prrDelivered) / this.#priorCwnd) - this.#prrOut
    else {
      sndcnt = Math.max(this.#prrDelivered - this.#prrOut, newly)
      if (safe) sndcnt++
      sndcnt = Math.min(delta, sndcnt)
    }
    this.cubic.cwnd = this.#inFlight + Math.max(sndcnt, this.#prrOut > 0 ? 0 : 1)
  }

  #arm(now: Nanos): void {
    const rto = Math.max(RTO_LEAST, (this.#srtt + 4 * this.#rttvar) * SECOND)
    this.#deadline = this.#segments.size > 0 ? Math.ceil(now + rto) : NEVER
  }

  onTimeout(now: Nanos): void {
    if (now < this.#deadline) return
    this.timeouts++
    this.cubic.reduce()
    this.cubic.forget()
    this.cubic.cwnd = 1
    this.#lost.length = 0
    this.#sent.length = 0
    for (const [seq, segment] of this.#segments) {
      if (segment.acked) continue
      segment.lost = true
      this.#lost.push(seq)
    }
    this.#inFlight = 0
    this.#recoverUntil = -1
    this.#arm(now)
  }

  nextTimeout(): Nanos {
    if (this.#next === 0) return this.#startNs
    return Math.min(this.#deadline, this.#maySend() ? this.#busyUntil : NEVER)
  }

  #maySend(): boolean {
    return this.#inFlight < this.cubic.cwnd
  }

  pollTransmit(now: Nanos): Frame | null {
    if (now < this.#startNs || now < this.#busyUntil || !this.#maySend()) return null
    const frame = this.#pool.take()
    if (frame === null) return null
    while (this.#lost.length > 0 && this.#isSettled(this.#lost[0]!)) this.#lost.shift()
    const again = this.#lost.shift()
    const seq = again ?? this.#next++
    const transmission = this.#transmission++
    this.#segments.set(seq, {
      sentNs: now,
      transmission,
      lost: false,
      acked: false,
      again: again !== undefined,
    })
    this.#sent.push({ seq, transmission })
    this.#inFlight++
    if (again !== undefined) this.retransmitted++
    if (this.#recovering) this.#prrOut++
    if (this.#deadline === NEVER) this.#arm(now)
    frame.view.setUint32(SEQ_AT, seq)
    frame.view.setUint32(TRANSMISSION_AT, transmission)
    frame.payloadLength = SEGMENT_BYTES
    frame.length = HEADER_BYTES
    frame.wireLength = SEGMENT_BYTES + HEADER_BYTES
    frame.port = 0
    this.#busyUntil = now + Math.ceil(serialisationNs(frame.wireLength, HOST_RATE_BPS))
    frame.departNs = this.#busyUntil
    return frame
  }

  #isSettled(seq: number): boolean {
    const segment = this.#segments.get(seq)
    return segment === undefined || segment.acked || !segment.lost
  }
}

const QUICK_ACKS = 16
const DELAYED_ACK: Nanos = 40 * MILLISECOND

/** Acknowledges every second segment, and at once each one out of order. */
export class LinuxReceiver implements Node {
  /** Segments that arrived for the first time. */
  received = 0
  readonly #pool: FramePool
  readonly #early = new Set<number>()
  #next = 0
  #arrived: [number, number][] = []
  #acks = 0
  #due = false
  #deadline: Nanos = NEVER

  constructor(pool: FramePool) {
    this.#pool = pool
  }

  onFrame(now: Nanos, _port: number, frame: Frame): void {
    const seq = frame.view.getUint32(SEQ_AT)
    this.#arrived.push([seq, frame.view.getUint32(TRANSMISSION_AT)])
    this.#pool.give(frame)
    const inOrder = seq === this.#next && this.#early.size === 0
    if (seq >= this.#next && !this.#early.has(seq)) {
      this.received++
      this.#early.add(seq)
    }
    while (this.#early.delete(this.#next)) this.#next++
    this.#due = !inOrder || this.#arrived.length >= 2 || this.#acks < QUICK_ACKS
    this.#deadline = this.#due ? NEVER : now + DELAYED_ACK
  }

  onTimeout(now: Nanos): void {
    if (now >= this.#deadline) this.#due = true
  }

  nextTimeout(): Nanos {
    return this.#due ? 0 : this.#deadline
  }

  pollTransmit(now: Nanos): Frame | null {
    if (!this.#due) return null
    const frame = this.#pool.take()
    if (frame === null) return null
    this.#due = false
    this.#deadline = NEVER
    this.#acks++
    frame.view.setUint32(SEQ_AT, this.#next)
    frame.view.setUint32(8, this.#arrived.length)
    for (const [i, [seq, transmission]] of this.#arrived.entries()) {
      frame.view.setUint32(12 + 8 * i, seq)
      frame.view.setUint32(16 + 8 * i, transmission)
    }
    this.#arrived = []
    frame.length = HEADER_BYTES
    frame.wireLength = HEADER_BYTES
    frame.port = 0
    frame.departNs = now
    return frame
  }
}
