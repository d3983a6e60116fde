/** iNOF at a host's NIC: its agent, and the LLDP frames that it exchanges with the switch at the other end of the link. */
import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { HostPresence, InofNotice } from '../wire/weir/inof-tlv.js'
import { type FrameSender, isLldp, noticesOf, writePresenceFrame } from './frames.js'
import { HostAgent } from './host-agent.js'

/** When no frame was free, the next attempt is after this time. */
const NO_FRAME_RETRY_NS: Nanos = 1000

/** Options of a host's end. */
interface InofHostEndOptions {
  /** Its IPv4 address as a number. */
  address: number
  sender: FrameSender
  /** 0: a host, 1: a host with storage. */
  kind: number
  /** A random number of this start. */
  epoch: number
  /** Its switch forgets the host after a silence of so long, 1 to 65,535. */
  silenceSeconds: number
}

/** What the host learns. */
interface InofHostEndOwner {
  /** A member has arrived, departed or failed. */
  peerChanged?(now: Nanos, notice: InofNotice): void
  /** A link between switches has failed, or is up again. */
  linkChanged?(now: Nanos, notice: InofNotice): void
}

/** One announcement waits at most: a newer one says all that the older did. */
export class InofHostEnd {
  readonly agent: HostAgent
  readonly counters = { presences: 0, notices: 0, otherLldp: 0 }
  readonly #sender: FrameSender
  #waiting: { presence: HostPresence; ttlSeconds: number } | null = null
  #dueNs: Nanos = NEVER

  constructor(now: Nanos, options: InofHostEndOptions, owner: InofHostEndOwner = {}) {
    const { sender, ...agent } = options
    this.#sender = sender
    this.agent = new HostAgent(now, agent, {
      sendPresence: (at, presence, ttlSeconds) => {
        this.#waiting = { presence, ttlSeconds }
        this.#dueNs = at
      },
      peerChanged: (at, notice) => owner.peerChanged?.(at, notice),
      linkChanged: (at, notice) => owner.linkChanged?.(at, notice),
    })
  }

  /** Takes an LLDP frame of the switch. False: it is something else. The caller owns it either way. */
  receive(now: Nanos, frame: Frame): boolean {
    if (!isLldp(frame)) return false
    const said = noticesOf(frame)
    if (said === null) this.counters.otherLldp++
    else {
      this.counters.notices += said.notices.length
      this.agent.onNotices(now, said.header, said.notices)
    }
    return true
  }

  /** Says that the host leaves. */
  leave(now: Nanos): void {
    this.agent.leave(now)
  }

  /** When a frame waits for the link, or NEVER. */
  get dueNs(): Nanos {
    return this.#dueNs
  }

  /** Returns the frame that is due, or null. */
  transmit(now: Nanos, pool: FramePool): Frame | null {
    const waiting = this.#waiting
    if (waiting === null || now < this.#dueNs) return null
    const frame = pool.take()
    if (frame === null) {
      this.#dueNs = now + NO_FRAME_RETRY_NS
      return null
    }
    writePresenceFrame(frame, this.#sender, waiting.presence, waiting.ttlSeconds)
    this.#waiting = null
    this.#dueNs = NEVER
    this.counters.presences++
    return frame
  }

  nextTimeout(): Nanos {
    return this.agent.nextTimeout()
  }

  onTimeout(now: Nanos): void {
    this.agent.onTimeout(now)
  }
}
