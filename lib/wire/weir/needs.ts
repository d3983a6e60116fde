/**
 * What one end of a connection needs of the other, as REQ and REP carry it (field `needs` of proto/connect.proto): a list of needs, each
 * as below.
 *
 *     0   id (5 bits)   length of the value in bytes, 0 to 4 (3 bits)
 *     1   value, big-endian, without leading zeros: the value 0 has no bytes
 *
 * A reader skips ids that it does not know, by their length. An id never changes its meaning. Of the lengths 5 to 7, which no need has
 * today, the value is skipped too.
 */

/** Ids of needs: 1 to 31. */
export const NeedId = {
  /** The telemetry that data collects comes back. The value says how: one of TelemetryReturn. */
  TELEMETRY: 1,
  /** Acknowledgements collect telemetry. The value says of which way: one of ReverseTelemetry. */
  REVERSE_TELEMETRY: 2,
  /** Acknowledgements say when the packet arrived and when they left, by the clock of the host that sends them. */
  TIME_STAMPS: 3,
  /** Acknowledgements say over how many hops the packet came. */
  HOP_COUNT: 4,
  /** A packet with a CE mark is answered by a CNP, at most once in so many ns: the value. */
  CNPS: 5,
  /** The receiver works out the window. The value is the number of its algorithm. */
  RECEIVING_PART: 6,
  /** Packets are ECN-capable, and acknowledgements echo CE marks. A plain RoCEv2 peer reports marks by CNPs. */
  MARKS: 7,
  /** Acknowledgements come at least once in so many packets: the value, 1 to ACK_EVERY_MAX. */
  ACK_EVERY: 8,
  /** Probes are answered, with the telemetry that they have collected. */
  PROBES: 9,
} as const
export type NeedId = (typeof NeedId)[keyof typeof NeedId]

/** How telemetry comes back. */
export const TelemetryReturn = {
  /** As the receiving host is set. */
  AS_SET: 0,
  /** On acknowledgements. */
  ACK: 1,
  /** By notifications. */
  NOTIFY: 2,
} as const

/** What acknowledgements collect. */
export const ReverseTelemetry = {
  /** Their own way, from the receiver to the sender of the data. */
  OWN_WAY: 0,
  /** The way of the data: each switch writes of the port by which the acknowledgement came in, as data leaves there (FNCC, section 3.2.1). */
  DATA_WAY: 1,
} as const

/** The rarest acknowledgements that can be asked for: one in so many packets. */
export const ACK_EVERY_MAX = 65_535

export interface Need {
  /** 1 to 31. */
  id: number
  /** 32 bits. */
  value: number
}

/** Bytes of the longest list: what is left of a REQ. */
export const BYTES_MAX = 40
const LENGTH_BITS = 3
const VALUE_BYTES_MAX = 4

/** The list as bytes, in its order. */
export function encode(needs: readonly Need[]): Uint8Array {
  return Uint8Array.from(
    needs.flatMap(({ id, value }) => {
      const bytes = bytesOf(value)
      return [(id << LENGTH_BITS) | bytes.length, ...bytes]
    }),
  )
}

/** The list of these bytes, without needs whose values are longer than any known one's; null: malformed. Never throws. */
export function decode(bytes: Uint8Array): Need[] | null {
  if (bytes.length > BYTES_MAX) return null
  const needs: Need[] = []
  for (let at = 0; at < bytes.length; ) {
    const id = bytes[at]! >>> LENGTH_BITS
    const length = bytes[at]! & ((1 << LENGTH_BITS) - 1)
    const end = at + 1 + length
    if (id === 0 || end > bytes.length || needs.some(need => need.id === id)) return null
    if (length <= VALUE_BYTES_MAX) needs.push({ id, value: numberOf(bytes.subarray(at + 1, end)) })
    at = end
  }
  return needs
}

function bytesOf(value: number): number[] {
  return value === 0 ? [] : [...bytesOf(Math.floor(value / 256)), value % 256]
}

function numberOf(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0)
}
