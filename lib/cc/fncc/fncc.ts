/**
 * FNCC, fast notification congestion control (Xu et al., "FNCC: Fast Notification Congestion Control in Data Center Networks", 2024).
 * It is HPCC++ with another way of notification, and with LHCS.
 *
 * | part of the paper                                               | where it is                                             |
 * |-----------------------------------------------------------------|---------------------------------------------------------|
 * | data collects no telemetry; each switch writes that of the      | the need `reverseTelemetry: data-way` of the catalogue; |
 * | data's link into the ACK that comes back (3.2.1, algorithm 1)   | `switch-emu/core/telemetry`                             |
 * | records in path order at the sender (figure 7)                  | `lib/nic/rx`                                            |
 * | N, the flows that send to the receiver now, 16 bits (3.2.3)     | `lib/nic/rx/concurrent-flows.ts`                        |
 * | MeasureInFlight, ComputeWind, NewAck (algorithm 3, lines 4-15   | `lib/cc/hpcc`                                           |
 * | and 29-48; equations 4 to 6: W = Wc / (U / eta) + W_AI)         |                                                         |
 * | Hop_Detection, UpdateWc (algorithms 2 and 3, lines 16-28): LHCS | `lib/cc/hpcc/last-hop.ts`                               |
 *
 * The telemetry of an ACK is of the moment at which the ACK passes the switch. So it may be newer than the packet which the ACK
 * acknowledges by almost one T, and speaks of packets that were sent later. Wc is updated once a T, by the first packet that was sent with
 * the Wc before, as in HPCC. An ACK that acknowledges m packets counts as one.
 *
 * Losses and timeouts bound W as with HPCC++ (`lib/cc/loss-cap.ts`), where `lossReaction` is on: always in flows that begin carefully.
 */
import type { CongestionContext, CongestionControl } from '../congestion-control.js'
import { Hpcc } from '../hpcc/hpcc.js'
import { hpccOptions } from '../hpcc/hpcc-options.js'
import { lastHopOptions } from '../hpcc/last-hop.js'
import { lossOptions } from '../loss-cap.js'
import type { OptionSpec, OptionValues } from '../options.js'

export const FNCC_OPTIONS: readonly OptionSpec[] = [
  ...hpccOptions(false),
  ...lastHopOptions(true),
  ...lossOptions(null),
]

const FNCC = { name: 'fncc', options: FNCC_OPTIONS }

export function createFncc(context: CongestionContext, options: OptionValues): CongestionControl {
  return new Hpcc(context, options, FNCC)
}
