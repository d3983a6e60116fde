import type { Connection } from '../nic/types.js'

export interface Retransmissions {
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
}

/** Sums over all connections of one end. */
export function retransmissionsOf(qps: Iterable<{ connection: Connection | null }>): Retransmissions {
  let retransmittedBytes = 0
  let spuriousRetransmissions = 0
  for (const { connection } of qps) {
    retransmittedBytes += connection?.stats.retransmittedBytes ?? 0
    spuriousRetransmissions += connection?.stats.spuriousRetransmissions ?? 0
  }
  return { retransmittedBytes, spuriousRetransmissions }
}
