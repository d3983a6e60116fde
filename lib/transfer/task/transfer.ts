/** A running transfer as a daemon lists it. This host or another one has begun it, in either direction. */
import type { Nanos } from '../../time/nanos.js'
import type { SenderFigures } from '../protocol/messages.js'
import type { ActiveSession, TransferOutcome } from '../session/active-session.js'
import type { PassiveSession } from '../session/passive-session.js'

export type TransferDirection = 'send' | 'receive' | 'get' | 'serve'

/** What all attempts of a transfer together have done. */
export interface TransferResult extends TransferOutcome {
  attempts: number
  /** Attempts that began at byte 0 although something had arrived: it was gone, or was no part of this file. */
  restarts: number
}

/** An attempt after one that lost the connection. */
export interface Retry {
  /** Its number among the attempts in a row without progress, from 1. */
  number: number
  /** How many attempts in a row without progress are allowed. */
  most: number
  /** Time until it begins; 0: it has begun. */
  inNs: Nanos
}

export interface Transfer {
  readonly id: string
  readonly direction: TransferDirection
  readonly peer: string
  /** The session of the latest attempt. */
  readonly session: ActiveSession | PassiveSession
  /** What it does, as in proto/control.proto. */
  readonly state: string
  /** Bytes of the file that are known to have arrived, resumed ones included. They become less only where what had arrived is gone. */
  readonly deliveredBytes: number
  /** Bytes of the file that all attempts have moved. What one has moved again counts again. */
  readonly movedBytes: number
  /** State of the path, with what all attempts have retransmitted; null before it is known. */
  readonly figures: SenderFigures | null
  /** Chunks that did not have their digest, in all attempts. */
  readonly damagedChunks: number
  /** Sessions that were begun. */
  readonly attempts: number
  readonly retry: Retry | null
  /** Resolves when everything has been given back. Never rejects. */
  readonly ended: Promise<unknown>
  /** Call about once a second. */
  tick(now: Nanos): void
  /** Ends it at both ends, as WEIR_CANCELLED: what has arrived is removed. */
  cancel(text: string): void
  /** Ends it at both ends, as WEIR_CONNECTION_LOST: what has arrived is kept. */
  interrupt(text: string): void
}

/** A transfer that another host has begun. It is that host which makes another attempt. */
export class PassiveTransfer implements Transfer {
  readonly id: string
  readonly direction: TransferDirection
  readonly peer: string
  readonly session: PassiveSession
  readonly attempts = 1
  readonly retry = null

  constructor(id: string, direction: TransferDirection, peer: string, session: PassiveSession) {
    this.id = id
    this.direction = direction
    this.peer = peer
    this.session = session
  }

  get state(): string {
    return this.session.state
  }

  get deliveredBytes(): number {
    return this.session.deliveredBytes
  }

  get movedBytes(): number {
    return this.session.movedBytes
  }

  get figures(): SenderFigures | null {
    return this.session.figures
  }

  get damagedChunks(): number {
    return this.session.damagedChunks
  }

  get ended(): Promise<unknown> {
    return this.session.outcome
  }

  tick(now: Nanos): void {
    this.session.tick(now)
  }

  cancel(text: string): void {
    this.session.cancel(text)
  }

  interrupt(text: string): void {
    this.session.interrupt(text)
  }
}
