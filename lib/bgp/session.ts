/**
 * One connection of two BGP speakers, from OPEN on: the states OpenSent, OpenConfirm and Established of RFC 4271, section
 * 8.2.2. Idle, Connect and Active have no connection: `neighbour.ts` has them.
 */
import { type Nanos, NEVER } from '../time/nanos.js'
import {
  type BgpFault,
  HOLD_TIMER_EXPIRED,
  makeFault,
  OPEN_FAULT,
  printFault,
  SEND_HOLD_TIMER_EXPIRED,
  STATE_FAULT,
} from '../wire/bgp/fault.js'
import * as message from '../wire/bgp/message.js'
import { type BgpOpen, readOpen, writeOpen } from '../wire/bgp/open.js'
import { type BgpUpdate, readUpdate } from '../wire/bgp/update.js'
import type { ByteStream } from './byte-stream.js'
import { MessageReader } from './message-reader.js'

const NS_PER_S = 1_000_000_000
/** The hold time until the OPEN has arrived. RFC 4271 suggests 4 minutes: here a peer that says nothing is given up sooner. */
const OPEN_WAIT_NS: Nanos = 10 * NS_PER_S
/** Keepalives in a hold time (RFC 4271, section 10). */
const KEEPALIVES = 3
/**
 * A peer that has read nothing for so many hold times is given up (RFC 9687, which suggests 8 minutes at least: they would be longer than
 * anything else here).
 */
const SEND_HOLD_TIMES = 2
/** A speaker that was held up again and again gives its peer up all the same: the peer gets so many more intervals, at most. */
const REPRIEVES_MAX = KEEPALIVES
/** Remarks about malformed attributes that are kept. */
const REMARKS_MAX = 16

export const SessionState = { OPEN_SENT: 1, OPEN_CONFIRM: 2, ESTABLISHED: 3, CLOSED: 4 } as const
export type SessionState = (typeof SessionState)[keyof typeof SessionState]

const { OPEN_SENT, OPEN_CONFIRM, ESTABLISHED, CLOSED } = SessionState
const { OPEN, UPDATE, KEEPALIVE, ROUTE_REFRESH } = message.BgpType

/** State, message → next state. Any other message ends the session; the subcode of that is the state (RFC 6608). */
const TRANSITIONS: Readonly<Record<number, Readonly<Record<number, SessionState>>>> = {
  [OPEN_SENT]: { [OPEN]: OPEN_CONFIRM },
  [OPEN_CONFIRM]: { [KEEPALIVE]: ESTABLISHED },
  [ESTABLISHED]: { [KEEPALIVE]: ESTABLISHED, [UPDATE]: ESTABLISHED, [ROUTE_REFRESH]: ESTABLISHED },
}

/** Why a session has ended. */
export interface SessionEnd {
  /** In words. */
  reason: string
  /** A NOTIFICATION ended it, from either end: no graceful restart then (RFC 4724, section 4). */
  notified: boolean
}

/** Who has sessions. */
export interface SessionOwner {
  /** The peer's OPEN is sound. Returns what speaks against it, or null. It may end other sessions, and this one. */
  opened(now: Nanos, session: BgpSession, open: BgpOpen): BgpFault | null
  established(now: Nanos, session: BgpSession): void
  update(now: Nanos, session: BgpSession, update: BgpUpdate): void
  /** The peer asks for all routes once more. */
  refresh(now: Nanos, session: BgpSession): void
  ended(now: Nanos, session: BgpSession, end: SessionEnd): void
}

interface SessionOptions {
  stream: ByteStream
  /** True: this end has made the connection. */
  outgoing: boolean
  /** What this end says of itself. */
  open: BgpOpen
  owner: SessionOwner
}

export class BgpSession {
  readonly outgoing: boolean
  readonly stream: ByteStream
  /** Remarks about attributes that were malformed (RFC 7606), the last ones. */
  readonly remarks: string[] = []
  readonly #open: BgpOpen
  readonly #owner: SessionOwner
  readonly #reader = new MessageReader()
  readonly #bytes = new Uint8Array(message.MESSAGE_BYTES_MAX)
  readonly #view = new DataView(this.#bytes.buffer)
  #state: SessionState = OPEN_SENT
  #peer: BgpOpen | null = null
  #holdNs: Nanos = OPEN_WAIT_NS
  #holdAtNs: Nanos
  #keepaliveAtNs: Nanos = NEVER
  /** When the stream last had room for what was to be sent. */
  #sentNs: Nanos
  /** Times since the peer's last message that it got another interval of keepalives. */
  #reprieves = 0

  constructor(now: Nanos, { stream, outgoing, open, owner }: SessionOptions) {
    this.stream = stream
    this.outgoing = outgoing
    this.#open = open
    this.#owner = owner
    this.#holdAtNs = now + OPEN_WAIT_NS
    this.#sentNs = now
    this.send(now, view => writeOpen(view, 0, open))
  }

  get state(): SessionState {
    return this.#state
  }

  /** The peer's OPEN, from OpenConfirm on. */
  get peer(): BgpOpen | null {
    return this.#peer
  }

  get fourOctetAs(): boolean {
    return this.#open.fourOctetAs && this.#peer?.fourOctetAs === true
  }

  nextTimeout(): Nanos {
    return this.#state === CLOSED ? NEVER : Math.min(this.#holdAtNs, this.#keepaliveAtNs)
  }

  onTimeout(now: Nanos): void {
    if (this.#state === CLOSED) return
    if (now >= this.#holdAtNs) {
      this.end(now, makeFault(HOLD_TIMER_EXPIRED, 0))
      return
    }
    if (now >= this.#keepaliveAtNs) this.#sendKeepalive(now)
  }

  /**
   * The speaker did not run for a time that ends at `now`: what the peer has said meanwhile is still to be read. If the hold time would be
   * over by now, the peer gets another interval of keepalives.
   */
  onHeldUp(now: Nanos): void {
    if (this.#holdAtNs > now || this.#reprieves === REPRIEVES_MAX) return
    this.#reprieves++
    this.#holdAtNs = now + Math.floor(this.#holdNs / KEEPALIVES)
  }

  onBytes(now: Nanos, bytes: Uint8Array): void {
    if (this.#state === CLOSED) return
    const fault = this.#reader.read(bytes, view => this.#onMessage(now, view))
    if (fault !== null) this.end(now, fault)
  }

  /** The connection is gone. */
  onClosed(now: Nanos): void {
    this.#leave(now, { reason: 'the connection was closed', notified: false })
  }

  /** Ends the session with a NOTIFICATION. */
  end(now: Nanos, fault: BgpFault): void {
    if (this.#state === CLOSED) return
    this.send(now, view => message.writeNotification(view, 0, fault))
    this.stream.close(now)
    this.#leave(now, { reason: `${printFault(fault)}, found here`, notified: true })
  }

  /** Ends it without one: the peer has begun anew (RFC 4724, section 5). */
  replace(now: Nanos): void {
    if (this.#state === CLOSED) return
    this.stream.close(now)
    this.#leave(now, { reason: 'the peer has begun anew', notified: false })
  }

  /** Sends what `write` writes from byte 0 on; it returns the end. */
  send(now: Nanos, write: (view: DataView) => number): void {
    this.#sentNs = now
    this.stream.write(now, this.#bytes.slice(0, write(this.#view)))
  }

  /** Returns false when the session has ended. */
  #onMessage(now: Nanos, view: DataView): boolean {
    const type = message.type(view, 0)
    if (type === message.BgpType.NOTIFICATION) {
      const fault = message.readNotification(view, 0)
      this.stream.close(now)
      this.#leave(now, { reason: `${printFault(fault)}, found by the peer`, notified: true })
      return false
    }
    const next = TRANSITIONS[this.#state]![type]
    if (next === undefined) {
      this.end(now, makeFault(STATE_FAULT, this.#state, [type]))
      return false
    }
    this.#holdAtNs = this.#holdNs === 0 ? NEVER : now + this.#holdNs
    this.#reprieves = 0
    if (type === OPEN) this.#onOpen(now, view)
    else if (type === UPDATE) this.#onUpdate(now, view)
    else if (type === ROUTE_REFRESH) {
      if (message.refreshesIpv4(view, 0)) this.#owner.refresh(now, this)
    } else if (this.#state === OPEN_CONFIRM) {
      this.#state = ESTABLISHED
      this.#owner.established(now, this)
    }
    // The owner may have ended it meanwhile.
    return this.#state !== CLOSED
  }

  #onOpen(now: Nanos, view: DataView): void {
    const open = readOpen(view, 0)
    const fault = 'code' in open ? open : this.#accept(now, open)
    if (fault !== null) this.end(now, fault)
  }

  #accept(now: Nanos, open: BgpOpen): BgpFault | null {
    this.#peer = open
    // RFC 5492, section 5: an end that needs a capability says which.
    if (!open.ipv4) return makeFault(OPEN_FAULT, 7, [1, 4, 0, 1, 0, 1])
    const fault = this.#owner.opened(now, this, open)
    if (fault !== null || this.#state === CLOSED) return fault
    this.#holdNs = Math.min(this.#open.holdSeconds, open.holdSeconds) * NS_PER_S
    this.#holdAtNs = this.#holdNs === 0 ? NEVER : now + this.#holdNs
    this.#state = OPEN_CONFIRM
    this.#sendKeepalive(now)
    return null
  }

  #onUpdate(now: Nanos, view: DataView): void {
    const update = readUpdate(view, 0, this.fourOctetAs)
    if ('code' in update) {
      this.end(now, update)
      return
    }
    this.remarks.push(...update.remarks)
    this.remarks.splice(0, Math.max(0, this.remarks.length - REMARKS_MAX))
    this.#owner.update(now, this, update)
  }

  #sendKeepalive(now: Nanos): void {
    // A stream without room has bytes on their way, which serve as well, for a while.
    if (this.stream.room() >= message.MESSAGE_BYTES_MAX)
      this.send(now, view => message.writeKeepalive(view, 0))
    else if (now - this.#sentNs >= SEND_HOLD_TIMES * this.#holdNs) {
      this.end(now, makeFault(SEND_HOLD_TIMER_EXPIRED, 0))
      return
    }
    this.#keepaliveAtNs = this.#holdNs === 0 ? NEVER : now + Math.floor(this.#holdNs / KEEPALIVES)
  }

  #leave(now: Nanos, end: SessionEnd): void {
    if (this.#state === CLOSED) return
    this.#state = CLOSED
    this.#owner.ended(now, this, end)
  }
}
