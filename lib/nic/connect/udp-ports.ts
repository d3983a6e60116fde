/** UDP ports of RoCEv2 that peers have, where they are not all 4791. */
import type { WeirError } from '../../errors.js'
import type { Nanos } from '../../time/nanos.js'
import type { NicSettings } from '../config.js'
import type { Flow } from '../flow/flow.js'
import type { Connecting } from '../types.js'

/** For messages: the peer's port is named if it is not this host's. */
export function peerOf({ remote, peer: { udpPort } }: Flow): string {
  return udpPort === 0 ? remote.toString() : `${remote} on UDP port ${udpPort}`
}

/** A peer's UDP port; 0 for the one that this host has too, which its port knows. */
export function otherThanOwn(own: NicSettings, udpPort: number = own.udpPort): number {
  return udpPort === own.udpPort ? 0 : udpPort
}

/** A flow that connects, as whoever looks after it sees it. */
export function connectingOf(
  own: NicSettings,
  flow: Flow,
  giveUp: (now: Nanos, why: WeirError) => void,
): Connecting {
  return {
    remote: flow.remote,
    udpPort: flow.peer.udpPort || own.udpPort,
    get waits() {
      return flow.ending.phase === 'connecting'
    },
    giveUp,
  }
}
