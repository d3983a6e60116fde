/**
 * The fair rate of a queue, that its switch sends to the sources of the queue (RoCC, Taheri et al., CoNEXT 2020), behind the BTH of
 * FAIR_RATE. QPN (the receiver's) and PSN of the BTH are those of a packet of the flow. Big-endian.
 *
 *     0   id of the switch (16 bits)        port (16 bits): both name the congestion point
 *     4   fair rate in kbit/s (32 bits)
 *     8   T in ns (32 bits): when the next one may be expected
 *     12  KIND_* of that packet (8 bits)    reserved (24 bits)
 */
export const BYTES = 16

/** The packet was a request, or a READ response: PSNs of both are counted apart. */
export const KIND_REQUEST = 1
export const KIND_RESPONSE = 2

/** What the packet says. */
export interface FairRateFields {
  switchId: number
  port: number
  rateBps: number
  intervalNs: number
}

const MOST = 0xffff_ffff

export function kind(view: DataView, at: number): number {
  return view.getUint8(at + 12)
}

export function read(view: DataView, at: number, into: FairRateFields): void {
  into.switchId = view.getUint16(at)
  into.port = view.getUint16(at + 2)
  into.rateBps = view.getUint32(at + 4) * 1000
  into.intervalNs = view.getUint32(at + 8)
}

/** Rates and times above 32 bits are written as the greatest. */
export function write(view: DataView, at: number, kindValue: number, fields: FairRateFields): void {
  view.setUint16(at, fields.switchId)
  view.setUint16(at + 2, fields.port)
  view.setUint32(at + 4, Math.min(MOST, Math.round(fields.rateBps / 1000)))
  view.setUint32(at + 8, Math.min(MOST, Math.round(fields.intervalNs)))
  view.setUint32(at + 12, (kindValue << 24) >>> 0)
}

export function print(view: DataView, at: number): string {
  const point = `${view.getUint16(at)}:${view.getUint16(at + 2)}`
  return `fair rate ${view.getUint32(at + 4)} kbit/s of ${point} each ${view.getUint32(at + 8)} ns`
}
