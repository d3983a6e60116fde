/** What ends a BGP session: the contents of a NOTIFICATION (RFC 4271, section 4.5). */
export interface BgpFault {
  code: number
  subcode: number
  data: Uint8Array
}

export const HEADER_FAULT = 1
export const OPEN_FAULT = 2
export const UPDATE_FAULT = 3
export const HOLD_TIMER_EXPIRED = 4
export const STATE_FAULT = 5
export const CEASE = 6
/** RFC 9687. */
export const SEND_HOLD_TIMER_EXPIRED = 8

/** Subcodes of CEASE (RFC 4486). */
export const Cease = {
  MAXIMUM_PREFIXES: 1,
  SHUTDOWN: 2,
  DECONFIGURED: 3,
  REJECTED: 5,
  COLLISION: 7,
  NO_RESOURCES: 8,
} as const

const NAMES: Readonly<Record<number, string>> = {
  [HEADER_FAULT]: 'message header error',
  [OPEN_FAULT]: 'OPEN error',
  [UPDATE_FAULT]: 'UPDATE error',
  [HOLD_TIMER_EXPIRED]: 'hold timer expired',
  [STATE_FAULT]: 'state error',
  [CEASE]: 'cease',
  [SEND_HOLD_TIMER_EXPIRED]: 'send hold timer expired',
}

export function makeFault(code: number, subcode: number, data: ArrayLike<number> = []): BgpFault {
  return { code, subcode, data: Uint8Array.from(data) }
}

/** Prints `UPDATE error 3/1`. */
export function printFault({ code, subcode }: BgpFault): string {
  return `${NAMES[code] ?? 'unknown error'} ${code}/${subcode}`
}
