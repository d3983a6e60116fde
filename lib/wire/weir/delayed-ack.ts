/**
 * Behind BTH and AETH of NOTIFY and RATE: what the packet answers, and the acknowledgement that it carries along
 * (draft-miao-rtgwg-hpccplus, section 3: notification packets include delayed ACK information). Behind the BTH of
 * DIRECT_NOTIFY, which has no AETH and acknowledges nothing.
 *
 *     0   acknowledges (1 bit)   reserved (5 bits)   KIND_* (2 bits)   PSN acknowledged (24 bits)
 *
 * With the first bit set, the AETH and this PSN say what an ACK would say. The BTH's PSN is the number of what is
 * answered, by its kind.
 */
export const BYTES = 4

/** A PROBE; the BTH's PSN is its sequence. */
export const KIND_PROBE = 0
/** Telemetry of a request with payload; its PSN. */
export const KIND_REQUEST = 1
/** Telemetry of a READ response; its PSN. */
export const KIND_RESPONSE = 2

const ACKNOWLEDGES = 0x80

/** True if the packet acknowledges what came up to `psn`. */
export function acknowledges(view: DataView, at: number): boolean {
  return (view.getUint8(at) & ACKNOWLEDGES) !== 0
}

/** KIND_PROBE, KIND_REQUEST or KIND_RESPONSE; 3 is not used. */
export function kind(view: DataView, at: number): number {
  return view.getUint8(at) & 3
}

/** 24 bits. */
export function psn(view: DataView, at: number): number {
  return view.getUint32(at) & 0xffffff
}

/** @param psnValue taken modulo 2^24, or negative: nothing is acknowledged */
export function write(view: DataView, at: number, kindValue: number, psnValue: number): void {
  const first = psnValue < 0 ? kindValue : kindValue | ACKNOWLEDGES
  view.setUint32(at, ((first << 24) | (psnValue < 0 ? 0 : psnValue & 0xffffff)) >>> 0)
}

const KIND_NAMES = ['probe', 'request', 'response', 'kind 3']

export function print(view: DataView, at: number): string {
  const answered = `answers ${KIND_NAMES[kind(view, at)]}`
  return acknowledges(view, at) ? `${answered} acks ${psn(view, at)}` : answered
}
