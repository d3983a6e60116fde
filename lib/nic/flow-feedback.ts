/** What comes back of a flow's packets other than by acknowledgements, on its way to the controller. */
import type { AckSample } from '../cc/congestion-control.js'
import type { Nanos } from '../time/nanos.js'
import type { Flow } from './flow.js'

/** Telemetry of a packet came back by a notification. @param ofResponse the packet was a READ response */
export function onTelemetry(
  flow: Flow,
  now: Nanos,
  ofResponse: boolean,
  psn: number,
  sample: AckSample,
): void {
  const acknowledges = ofResponse && flow.responses !== null
  if ((sample.hops.count === 0 && !acknowledges) || !flow.fill(sample, now, ofResponse, psn)) return
  sample.ackedBytes = 0
  if (acknowledges) {
    // It tells that the response has arrived, even where no switch has written anything.
    flow.responses!.onArrived(now, sample)
    flow.baseRtt?.onResponse(now, flow, sample.rttNs)
    flow.cc?.onAck(now, sample)
    // The flow's own count is of requests.
    sample.ackedBytes = 0
  } else flow.cc?.onTelemetry(now, sample)
  flow.record(sample)
}

/**
 * A READ of the peer shows that it has earlier responses. That is all that a plain RoCEv2 peer tells of them.
 * @param psn of the last one; @param bytes of those that are news, at most
 */
export function onAnswersTaken(flow: Flow, now: Nanos, psn: number, bytes: number, sample: AckSample): void {
  if (flow.responses === null || flow.cc === null || !flow.fill(sample, now, true, psn) || sample.seq < 0)
    return
  // The peer's program may have asked late, so this measures no round trip.
  sample.rttNs = 0
  sample.hops.count = 0
  sample.ecnEcho = false
  flow.responses.onTaken(now, sample, bytes, flow.cc, flow.stats.baseRttNs)
  flow.cc.onAck(now, sample)
  // The flow's own count is of requests.
  sample.ackedBytes = 0
  flow.record(sample)
}

/** Telemetry of a probe came back. @param sndNxt the first transmission after it */
export function onProbed(flow: Flow, now: Nanos, sndNxt: number, sample: AckSample): void {
  sample.ackedBytes = 0
  // What the probe measures is the packets before it.
  sample.seq = sndNxt - 1
  sample.sndNxt = flow.transmissions
  sample.inFlightBytes = flow.qp.inFlightBytes
  sample.rttNs = 0
  sample.probed = flow.telemetryProbe?.always ?? false
  flow.cc?.onTelemetry(now, sample)
  sample.probed = false
  flow.record(sample)
}

/** A congested switch on the way of that packet has answered by itself. */
export function onDirectResponse(
  flow: Flow,
  now: Nanos,
  ofResponse: boolean,
  psn: number,
  sample: AckSample,
): void {
  if (sample.hops.count === 0 || !flow.fill(sample, now, ofResponse, psn)) return
  sample.ackedBytes = 0
  flow.cc?.onDirectResponse?.(now, sample)
  flow.record(sample)
}
