/**
 * Why a frame cannot be used. It is a small number, so that the code that drops a frame can count it in an
 * array. 0 means that nothing is wrong. `WIRE_ERROR_NAMES[error]` is its name.
 */
export const WireError = {
  OK: 0,
  SHORT_ETHERNET: 1,
  SHORT_IPV4: 2,
  BAD_IPV4_HEADER: 3,
  BAD_IPV4_LENGTH: 4,
  SHORT_IPV6: 5,
  BAD_IPV6_HEADER: 6,
  BAD_IPV6_LENGTH: 7,
  SHORT_UDP: 8,
  BAD_UDP_LENGTH: 9,
  SHORT_SHIM: 10,
  BAD_SHIM: 11,
  SHORT_BTH: 12,
  BAD_BTH_VERSION: 13,
  UNKNOWN_OPCODE: 14,
  SHORT_EXTENDED_HEADER: 15,
  BAD_PAD: 16,
  SHORT_VXLAN: 17,
  BAD_VXLAN: 18,
  SHORT_PFC: 19,
  BAD_PFC: 20,
  SHORT_INT_MD: 21,
  BAD_INT_MD: 22,
  SHORT_IFA: 23,
  BAD_IFA: 24,
  SHORT_IOAM: 25,
  BAD_IOAM: 26,
  SHORT_LLDP: 27,
  BAD_LLDP: 28,
} as const
export type WireError = (typeof WireError)[keyof typeof WireError]

export const WIRE_ERROR_NAMES: readonly string[] = Object.keys(WireError).map(name =>
  name.toLowerCase().replaceAll('_', '-'),
)

/** Returns true if a frame that was cut short has this error, when nothing else is wrong with it. */
export function isShort(error: WireError): boolean {
  return WIRE_ERROR_NAMES[error]!.startsWith('short-')
}
