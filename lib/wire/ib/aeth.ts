/**
 * ACK Extended Transport Header (IBA 9.3.5): syndrome (8 bits) and message sequence number (24), big-endian.
 * Bits 6–5 of the syndrome are its kind, bits 4–0 its value (IBA 9.7.5): 000 credit count of an ACK,
 * 001 RNR timer code, 011 NAK code.
 */
export const BYTES = 4

const SYNDROME = 0

export const KIND_ACK = 0
const KIND_RNR_NAK = 1
export const KIND_RESERVED = 2
export const KIND_NAK = 3

export const NAK_PSN_SEQUENCE_ERROR = 0x60
export const NAK_INVALID_REQUEST = 0x61
export const NAK_REMOTE_ACCESS_ERROR = 0x62
export const NAK_REMOTE_OPERATIONAL_ERROR = 0x63
export const NAK_INVALID_RD_REQUEST = 0x64

/** Credit field of an ACK from a responder without end-to-end credits. */
export const CREDITS_UNLIMITED = 0x1f
/** Syndrome of an ACK without credits. */
export const ACK_UNLIMITED = 0x1f

/** 0 to 255. */
export function syndrome(view: DataView, at: number): number {
  return view.getUint8(at + SYNDROME)
}

/** Message sequence number, 24 bits: messages that the responder has completed. */
export function msn(view: DataView, at: number): number {
  return view.getUint32(at) & 0xffffff
}

export function setSyndrome(view: DataView, at: number, value: number): void {
  view.setUint8(at + SYNDROME, value)
}

export function write(view: DataView, at: number, syndromeByte: number, messageSequence: number): void {
  view.setUint32(at, ((syndromeByte << 24) | (messageSequence & 0xffffff)) >>> 0)
}

/** Returns KIND_ACK, KIND_RNR_NAK, KIND_RESERVED or KIND_NAK. Ignores the reserved top bit. */
export function kind(syndromeByte: number): number {
  return (syndromeByte >>> 5) & 3
}

/** Returns the low five bits: credit code, RNR timer code or NAK code, depending on `kind`. */
export function value(syndromeByte: number): number {
  return syndromeByte & 0x1f
}

export function isAck(syndromeByte: number): boolean {
  return kind(syndromeByte) === KIND_ACK
}

export function isRnrNak(syndromeByte: number): boolean {
  return kind(syndromeByte) === KIND_RNR_NAK
}

export function isNak(syndromeByte: number): boolean {
  return kind(syndromeByte) === KIND_NAK
}

/** @param timerCode 0 to 31, an index of RNR_TIMER_NS */
export function rnrNakSyndrome(timerCode: number): number {
  return 0x20 | (timerCode & 0x1f)
}

/** @param creditCode 0 to 31, an index of CREDITS */
export function ackSyndrome(creditCode: number): number {
  return creditCode & 0x1f
}

/** How long a requester waits after an RNR NAK, by timer code (IBA 9.7.5.2.8, table 45), ns. */
export const RNR_TIMER_NS = Float64Array.from(
  // In units of 10 µs.
  [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
  ],
  units => units * 10_000,
)

/** Receive work requests for each credit code of an ACK (IBA 9.7.7.2.4). 31 = no limit. */
export const CREDITS = Float64Array.from([
  0,
  1,
  2,
  3,
  4,
  6,
  8,
  12,
  16,
  24,
  32,
  48,
  64,
  96,
  128,
  192,
  256,
  384,
  512,
  768,
  1024,
  1536,
  2048,
  3072,
  4096,
  6144,
  8192,
  12_288,
  16_384,
  24_576,
  32_768,
  Number.POSITIVE_INFINITY,
])

/**
 * Returns the code of the largest count in the table that does not exceed `credits`, so that it never
 * promises too much.
 */
export function creditCode(credits: number): number {
  let code = 30
  while (code > 0 && CREDITS[code]! > credits) code--
  return code
}

const NAK_NAMES = ['psn-sequence', 'invalid-request', 'remote-access', 'remote-operational', 'invalid-rd']

export function print(view: DataView, at: number): string {
  const byte = syndrome(view, at)
  const low = value(byte)
  const tail = `msn ${msn(view, at)}`
  if (isRnrNak(byte)) return `rnr-nak ${RNR_TIMER_NS[low]! / 1000}us ${tail}`
  if (isNak(byte)) return `nak ${NAK_NAMES[low] ?? low} ${tail}`
  if (isAck(byte)) return low === CREDITS_UNLIMITED ? `ack ${tail}` : `ack credits ${CREDITS[low]} ${tail}`
  return `syndrome 0x${byte.toString(16)} ${tail}`
}
