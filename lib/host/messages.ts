/** Messages between an application's Host and the thread of its NIC. */

import type { AddressOptions } from '../nic/paced/address-handle.js'
import type { DatagramOptions } from '../nic/paced/datagram-pair.js'
import type { UnreliableOptions } from '../nic/paced/unreliable-pair.js'
import type { ConnectOptions, QueuePairPeer } from '../nic/types.js'
import type { NicOptions } from '../open-nic/open-nic.js'
import type { DomainId } from '../qp/memory/memory.js'
import type { SealingOptions } from '../secure/seal-verbs.js'
import type { ErrorRecord } from '../thread/error-record.js'
import type { SharedQueues } from './queues.js'

/** Data with which the thread starts. */
export interface VerbsStart {
  options: NicOptions & SealingOptions
  /** Memory of the Doorbell. */
  doorbell: SharedArrayBuffer
}

/** Properties of a host that do not change while it is open. */
export interface VerbsAbout {
  address: string
  /** UDP port of RoCEv2. */
  port: number
  /** Name of the port that sends its packets. */
  io: string
  lineRateBps: number
  /** Path MTU towards Weir hosts, which leaves room for telemetry. */
  pathMtu: number
  /** The greatest path MTU of queue pairs that are made by hand, whose packets collect no telemetry. */
  plainPathMtu: number
}

/** Id of the shared receive queue of a queue pair; null: it has receives of its own. */
type SharedReceiveQueueId = number | null

/** The calls, by kind. */
export interface VerbsCalls {
  /** Views of shared memory cross to the other thread without a copy. */
  register: { bytes: Uint8Array; access: number; domain: DomainId }
  deregister: { key: number }
  /** Each connection of `'own'` has a domain of its own: minus its id. */
  listen: {
    port: number
    backlog: number
    privateData: Uint8Array
    domain: DomainId | 'own'
    sharedReceiveQueue: SharedReceiveQueueId
  }
  unlisten: { port: number }
  connect: {
    id: number
    remote: string
    port: number
    options: ConnectOptions
    queues: SharedQueues
    domain: DomainId
    sharedReceiveQueue: SharedReceiveQueueId
  }
  createQueuePair: {
    id: number
    remote: string
    options: ConnectOptions
    queues: SharedQueues
    domain: DomainId
    sharedReceiveQueue: SharedReceiveQueueId
  }
  connectQueuePair: { id: number; peer: QueuePairPeer }
  createDatagramPair: {
    id: number
    options: DatagramOptions
    queues: SharedQueues
    domain: DomainId
    sharedReceiveQueue: SharedReceiveQueueId
  }
  createUnreliable: {
    id: number
    remote: string
    options: UnreliableOptions
    queues: SharedQueues
    domain: DomainId
    sharedReceiveQueue: SharedReceiveQueueId
  }
  connectUnreliable: { id: number; qpn: number }
  createSharedReceiveQueue: { id: number; ring: SharedArrayBuffer; domain: DomainId }
  awaitLimit: { id: number; limit: number }
  closeSharedReceiveQueue: { id: number }
  /** Ends a datagram queue pair, or an unreliable connection. */
  closePaced: { id: number }
  /** Returns the number of the address handle. */
  createAddress: { remote: string; options: AddressOptions }
  destroyAddress: { id: number }
  /** The port of RDMA_PS_UDP answers with that queue pair from now on. */
  serveDatagrams: { port: number; id: number; privateData: Uint8Array }
  unserveDatagrams: { port: number }
  /** Returns a DatagramService. */
  resolveDatagrams: { remote: string; port: number; options: ResolveOptions }
  /** The application has taken an incoming connection, so there is room for another one. */
  accept: { id: number }
  disconnect: { id: number }
  stats: { id: number }
  /** Returns UnreliableStats. */
  unreliableStats: { id: number }
}

/** Figures of an unreliable connection. */
export interface UnreliableStats {
  /** Packets of the peer that were taken. */
  receivedPackets: number
  /** Packets of the peer's host for this queue pair that were of another service, and were dropped. */
  otherService: number
}

/** Options of a question for a datagram port. */
export interface ResolveOptions {
  /** UDP port of RoCEv2 at the peer. Default: the same as this host's. */
  udpPort?: number
  /** At most 180 bytes for the program that has the port. */
  privateData?: Uint8Array
}

/** A datagram queue pair of the NIC. */
export interface MadeDatagramPair {
  bell: number
  qpn: number
  qkey: number
  pathMtu: number
}

/** An unreliable connection of the NIC, before it is connected. */
export interface MadeUnreliable {
  bell: number
  qpn: number
  /** First PSN that it sends with. */
  psn: number
  remote: string
  pathMtu: number
}

/** An established connection. */
export interface EstablishedConnection {
  /**
   * The host chooses the ids of connections that it requests: 1 and up. The thread chooses the others: -1 and
   * down.
   */
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

/** What the host sends without expecting an answer. */
export type ToVerbs = { type: 'wake' }

/** What the thread reports. */
export type FromVerbs =
  | {
      type: 'incoming'
      port: number
      connection: EstablishedConnection
      queues: SharedQueues
      sharesReceives: boolean
    }
  /** There are completions, and the application asked to be woken. */
  | { type: 'completions'; id: number }
  /** The last report of a connection. Work that the thread had not taken stays in the queues. */
  | { type: 'closed'; id: number; error: ErrorRecord | null }
