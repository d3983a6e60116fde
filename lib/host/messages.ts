/** Requests and reports between an application's Host and the thread of its NIC. */
import type { NicOptions } from '../daemon/open-nic.js'
import type { ConnectOptions } from '../nic/types.js'
import type { DomainId } from '../qp/memory/memory.js'
import type { ErrorRecord } from '../thread/error-record.js'
import type { SharedQueues } from './queues.js'

/** What the thread is started with. */
export interface VerbsStart {
  options: NicOptions
  /** Memory of the Doorbell. */
  doorbell: SharedArrayBuffer
}

/** What does not change while a host is open. */
export interface VerbsAbout {
  address: string
  /** UDP port of RoCEv2. */
  port: number
  /** Name of the port that sends its packets. */
  io: string
  lineRateBps: number
  pathMtu: number
}

/** What is asked, by kind. */
export interface VerbsCalls {
  /** Views of shared memory are shared, not copied. */
  register: { bytes: Uint8Array; access: number; domain: DomainId }
  deregister: { key: number }
  /** Each connection of `'own'` has a domain of its own: minus its id. */
  listen: { port: number; backlog: number; privateData: Uint8Array; domain: DomainId | 'own' }
  unlisten: { port: number }
  connect: {
    id: number
    remote: string
    port: number
    options: ConnectOptions
    queues: SharedQueues
    domain: DomainId
  }
  /** The application has taken an incoming connection: there is room for another one. */
  accept: { id: number }
  disconnect: { id: number }
  stats: { id: number }
}

/** An established connection. */
export interface EstablishedConnection {
  /** The host chooses it if it connected: 1 and up. The thread chooses it otherwise: -1 and down. */
  id: number
  /** Its number at the doorbell. */
  bell: number
  qpn: number
  remote: string
  pathMtu: number
  peerPrivateData: Uint8Array
  /** Protection domain. */
  domain: DomainId
}

/** What the host reports. */
export type ToVerbs = { type: 'wake' }

/** What the thread reports. */
export type FromVerbs =
  | { type: 'incoming'; port: number; connection: EstablishedConnection; queues: SharedQueues }
  /** There are completions, and the application wanted to know. */
  | { type: 'completions'; id: number }
  /** The last word of a connection; what it had not taken from the queues stays there. */
  | { type: 'closed'; id: number; error: ErrorRecord | null }
