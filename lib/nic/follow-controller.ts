import { recordController } from './connection-stats.js'
import type { Flow } from './flow.js'

/** AckReq is set at least on every 64th packet (Linux: about every 66th). */
const ACK_REQUEST_PACKETS_MAX = 64

/** Does what follows from the controller's window and rate, which may have changed. */
export function followController(flow: Flow): void {
  const { cc, stats } = flow
  if (cc === null) return
  recordController(stats, cc)
  stats.windowBytes = flow.windowBytes()
  const windowPackets = stats.windowBytes / flow.pathMtu
  // A window that has become small must not run out while it waits for an acknowledgement.
  const packets = Math.floor(windowPackets * (cc.ackShare ?? flow.ackShare))
  flow.qp.ackRequestEveryPackets = Math.min(ACK_REQUEST_PACKETS_MAX, packets)
  const share = flow.responds ? flow.ackShare : 1
  const isSparse = cc.collectsAll === false
  flow.telemetry.sparse = isSparse ? Math.ceil(windowPackets * share) : 0
  // Only a weir answers READ responses. It has to do so before the window is used up.
  flow.responseAskEvery = isSparse && flow.peerIsWeir ? Math.max(1, packets) : 0
  flow.paceInRuns(isSparse)
}
