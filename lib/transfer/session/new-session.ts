/** The kinds of session: for each way of a file or a tree, a mover at the end that a user asked and one at the other end. */

import { GetMover, type GetMoverConfig } from '../mover/get-mover.js'
import { ReceiveMover, type ReceiveMoverConfig } from '../mover/receive-mover.js'
import { SendMover, type SendMoverConfig } from '../mover/send-mover.js'
import { ServeMover, type ServeMoverConfig } from '../mover/serve-mover.js'
import { TreeGetMover, type TreeGetMoverConfig } from '../mover/tree-get-mover.js'
import { TreeReceiveMover, type TreeReceiveMoverConfig } from '../mover/tree-receive-mover.js'
import { TreeSendMover, type TreeSendMoverConfig } from '../mover/tree-send-mover.js'
import { TreeServeMover, type TreeServeMoverConfig } from '../mover/tree-serve-mover.js'
import { FETCH_PRIVATE_DATA, GET_PRIVATE_DATA, TREE_PRIVATE_DATA } from '../protocol/messages.js'
import { ActiveSession, type ActiveSessionConfig } from './active-session.js'
import { PassiveSession, type PassiveSessionConfig } from './passive-session.js'

/** Receives at a receiver beyond one a slot: for messages. */
const SPARE_RECEIVES = 8
/** Receives at a server for the getter's messages: at most one of each kind is in flight, and there are Pings. */
const SERVER_RECEIVES = 16

type SendSessionConfig = ActiveSessionConfig & SendMoverConfig
export type GetSessionConfig = ActiveSessionConfig & GetMoverConfig
type ReceiveSessionConfig = PassiveSessionConfig & ReceiveMoverConfig
type TreeSendSessionConfig = ActiveSessionConfig & TreeSendMoverConfig
type TreeReceiveSessionConfig = PassiveSessionConfig & TreeReceiveMoverConfig
export type TreeGetSessionConfig = ActiveSessionConfig & TreeGetMoverConfig
type TreeServeSessionConfig = PassiveSessionConfig & TreeServeMoverConfig
type ServeSessionConfig = PassiveSessionConfig & ServeMoverConfig

/** Sends a file to another host. Throws WEIR_FULL when no ring is free. */
export function newSendSession(config: SendSessionConfig): ActiveSession {
  return new ActiveSession(config, {
    cannot: 'send',
    being: 'sent',
    newMover: (endpoint, host) => new SendMover(config, endpoint, host),
  })
}

/** Sends a tree of files to another host. */
export function newTreeSendSession(config: TreeSendSessionConfig): ActiveSession {
  return new ActiveSession(config, {
    privateData: TREE_PRIVATE_DATA,
    cannot: 'send',
    being: 'sent',
    newMover: (endpoint, host) => new TreeSendMover(config, endpoint, host),
  })
}

/** Gets a file of another host. Throws WEIR_FULL when no ring is free. */
export function newGetSession(config: GetSessionConfig): ActiveSession {
  return new ActiveSession(config, {
    privateData: GET_PRIVATE_DATA,
    cannot: 'write',
    being: 'fetched',
    newMover: (endpoint, host) => new GetMover(config, endpoint, host),
  })
}

/** Gets a tree of another host. */
export function newTreeGetSession(config: TreeGetSessionConfig): ActiveSession {
  return new ActiveSession(config, {
    privateData: FETCH_PRIVATE_DATA,
    cannot: 'write',
    being: 'fetched',
    newMover: (endpoint, host) => new TreeGetMover(config, endpoint, host),
  })
}

/** Receives a file that another host sends. */
export function newReceiveSession(config: ReceiveSessionConfig): PassiveSession {
  return new PassiveSession(config, {
    receives: config.slots + SPARE_RECEIVES,
    cannot: 'write',
    being: 'received',
    newMover: (endpoint, host) => new ReceiveMover(config, endpoint, host),
  })
}

/** Receives a tree that another host sends. */
export function newTreeReceiveSession(config: TreeReceiveSessionConfig): PassiveSession {
  return new PassiveSession(config, {
    receives: config.slots + SPARE_RECEIVES,
    cannot: 'write',
    being: 'received',
    newMover: (endpoint, host) => new TreeReceiveMover(config, endpoint, host),
  })
}

/** Serves a file that another host gets. */
export function newServeSession(config: ServeSessionConfig): PassiveSession {
  return new PassiveSession(config, {
    receives: SERVER_RECEIVES,
    cannot: 'read',
    being: 'served',
    newMover: (endpoint, host) => new ServeMover(config, endpoint, host),
  })
}

/** Serves a tree that another host gets. */
export function newTreeServeSession(config: TreeServeSessionConfig): PassiveSession {
  return new PassiveSession(config, {
    receives: SERVER_RECEIVES,
    cannot: 'read',
    being: 'served',
    newMover: (endpoint, host) => new TreeServeMover(config, endpoint, host),
  })
}
