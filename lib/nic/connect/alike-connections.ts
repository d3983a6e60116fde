import type { FlowPlan } from '../flow/make-flow.js'
import type { ConnectOptions } from '../types.js'
import type { PeerWords } from './peer-words.js'

/** Peers that are remembered. */
const PEERS_MAX = 64

/** What one end of a connection is made with, and says of itself but for its application's data. */
export interface AlikeEnd {
  plan: FlowPlan
  words: PeerWords
}

/** A connection between two hosts of one program, as both ends have agreed on it. */
interface Alike {
  port: number
  /** What its active end has asked for. */
  options: ConnectOptions
  own: AlikeEnd
  peer: AlikeEnd
}

/**
 * Connections to other hosts of this program, which agree without messages: the first one to a host is worked out, and those that are like it
 * take over what it has come to. One is like another if it asks for the same, to the same port.
 */
export class AlikeConnections<Peer> {
  /** That which has been remembered for longest is first. */
  readonly #byPeer = new Map<Peer, Alike>()

  /** The last connection to that peer, if one with these options is like it. */
  find(to: Peer, port: number, options: ConnectOptions): Alike | null {
    const last = this.#byPeer.get(to)
    return last !== undefined && last.port === port && asksForSame(last.options, options) ? last : null
  }

  /** A connection has been agreed on. */
  add(to: Peer, alike: Alike): void {
    if (this.#byPeer.size >= PEERS_MAX && !this.#byPeer.has(to)) {
      const [oldest] = this.#byPeer.keys()
      this.#byPeer.delete(oldest!)
    }
    this.#byPeer.set(to, alike)
  }
}

/** Objects among the options are frozen, so the same one asks for the same. Source ports may differ, and whatever the peer's application is to hear has to be written. */
function asksForSame(one: ConnectOptions, other: ConnectOptions): boolean {
  return (
    one.cc === other.cc &&
    one.baseRttNs === other.baseRttNs &&
    one.priority === other.priority &&
    one.pathMtu === other.pathMtu &&
    one.udpPort === other.udpPort &&
    one.telemetry === other.telemetry &&
    one.paths === other.paths &&
    other.privateData === undefined
  )
}
