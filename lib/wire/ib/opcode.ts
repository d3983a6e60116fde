/**
 * BTH opcodes (IBA 9.2.1) and their properties. The high 3 bits are the transport service, the low 5 the
 * operation. Tables are indexed by the opcode, so that a packet handler needs no branches to know the
 * headers.
 */
export const Opcode = {
  RC_SEND_FIRST: 0x00,
  RC_SEND_MIDDLE: 0x01,
  RC_SEND_LAST: 0x02,
  RC_SEND_LAST_WITH_IMM: 0x03,
  RC_SEND_ONLY: 0x04,
  RC_SEND_ONLY_WITH_IMM: 0x05,
  RC_RDMA_WRITE_FIRST: 0x06,
  RC_RDMA_WRITE_MIDDLE: 0x07,
  RC_RDMA_WRITE_LAST: 0x08,
  RC_RDMA_WRITE_LAST_WITH_IMM: 0x09,
  RC_RDMA_WRITE_ONLY: 0x0a,
  RC_RDMA_WRITE_ONLY_WITH_IMM: 0x0b,
  RC_RDMA_READ_REQUEST: 0x0c,
  RC_RDMA_READ_RESPONSE_FIRST: 0x0d,
  RC_RDMA_READ_RESPONSE_MIDDLE: 0x0e,
  RC_RDMA_READ_RESPONSE_LAST: 0x0f,
  RC_RDMA_READ_RESPONSE_ONLY: 0x10,
  RC_ACKNOWLEDGE: 0x11,
  RC_ATOMIC_ACKNOWLEDGE: 0x12,
  RC_COMPARE_SWAP: 0x13,
  RC_FETCH_ADD: 0x14,
  RC_SEND_LAST_WITH_INV: 0x16,
  RC_SEND_ONLY_WITH_INV: 0x17,
  UC_SEND_FIRST: 0x20,
  UC_SEND_MIDDLE: 0x21,
  UC_SEND_LAST: 0x22,
  UC_SEND_LAST_WITH_IMM: 0x23,
  UC_SEND_ONLY: 0x24,
  UC_SEND_ONLY_WITH_IMM: 0x25,
  UC_RDMA_WRITE_FIRST: 0x26,
  UC_RDMA_WRITE_MIDDLE: 0x27,
  UC_RDMA_WRITE_LAST: 0x28,
  UC_RDMA_WRITE_LAST_WITH_IMM: 0x29,
  UC_RDMA_WRITE_ONLY: 0x2a,
  UC_RDMA_WRITE_ONLY_WITH_IMM: 0x2b,
  UD_SEND_ONLY: 0x64,
  UD_SEND_ONLY_WITH_IMM: 0x65,
  /** Congestion notification packet of RoCEv2 (IBA annex A17). */
  CNP: 0x81,
  /** Weir: collects telemetry and carries no data (probe packet of the HPCC++ draft). */
  PROBE: 0xc0,
  /**
   * Weir: returns telemetry without an ACK (the telemetry response of the HPCC++ draft), and acknowledges.
   */
  NOTIFY: 0xc1,
  /** Weir: the window of receiver-based HPCC, and acknowledges. */
  RATE: 0xc2,
  /** Weir: AETH as in an ACK, then a bitmap of the packets received beyond it. */
  SACK: 0xc3,
  /** Weir: asks the receiver to compute the window. */
  RATE_REQUEST: 0xc4,
  /**
   * Weir: telemetry that a congested switch sends by itself (draft-01 of HPCC++, section 6.3). PSN and QPN
   * (its receiver's) are those of the packet that met the congestion. BECN marks a response to that packet's
   * sender, FECN a response to its receiver.
   */
  DIRECT_NOTIFY: 0xc5,
  /**
   * Weir: collects telemetry of the path that its source port selects, for path selection. The PSN is its
   * number.
   */
  PATH_PROBE: 0xc6,
  /** Weir: returns that telemetry, with the probe's number. */
  PATH_ANSWER: 0xc7,
  /** Weir: an ACK with the arrival of the packet. */
  STAMPED_ACK: 0xc8,
  /** Weir: a SACK with the arrival of the packet. */
  STAMPED_SACK: 0xc9,
  /**
   * Weir: the fair rate of a switch's queue, for a source of that queue (RoCC). PSN and QPN (its receiver's) are those of a packet of the
   * flow. BECN is set: it goes to that packet's sender.
   */
  FAIR_RATE: 0xca,
} as const
export type Opcode = (typeof Opcode)[keyof typeof Opcode]

/** Services: 0 of reliable connections, 1 of unreliable ones, 2 of reliable datagrams, 3 of datagrams. Packets of those behind are not parsed. */
const LAST_SERVICE = 3

/** Extended headers in the order after the BTH. */
const ExtendedHeader = {
  DETH: 0x01,
  RETH: 0x02,
  ATOMIC_ETH: 0x04,
  AETH: 0x08,
  ATOMIC_ACK_ETH: 0x10,
  IMMDT: 0x20,
  IETH: 0x40,
  CNP: 0x80,
  SACK: 0x100,
  DELAYED_ACK: 0x200,
  RATE: 0x400,
  RATE_REQUEST: 0x800,
  ARRIVAL: 0x1000,
  FAIR_RATE: 0x2000,
} as const

const { DETH, RETH, ATOMIC_ETH, AETH, ATOMIC_ACK_ETH, IMMDT, IETH, CNP, SACK } = ExtendedHeader
const { DELAYED_ACK, RATE, RATE_REQUEST, ARRIVAL, FAIR_RATE } = ExtendedHeader

const REQUEST = 0x01
const RESPONSE = 0x02
const FIRST = 0x04
const MIDDLE = 0x08
const LAST = 0x10
const ONLY = FIRST | LAST
const PAYLOAD = 0x20
const KNOWN = 0x80

const names: string[] = []
const headers = new Uint16Array(256)
const traits = new Uint8Array(256)
/** Bytes of extended headers after the BTH, by opcode. 0 for unknown opcodes. */
export const EXTENDED_HEADER_BYTES = new Uint8Array(256)

const HEADER_BYTES = new Map<number, number>([
  [DETH, 8],
  [RETH, 16],
  [ATOMIC_ETH, 28],
  [AETH, 4],
  [ATOMIC_ACK_ETH, 8],
  [IMMDT, 4],
  [IETH, 4],
  [CNP, 16],
  [SACK, 36],
  [DELAYED_ACK, 4],
  [RATE, 8],
  [RATE_REQUEST, 120],
  [ARRIVAL, 16],
  [FAIR_RATE, 16],
])

defineMessages(0x00, 'RC_')
defineMessages(0x20, 'UC_')
define(Opcode.RC_RDMA_READ_REQUEST, 'RC_RDMA_READ_REQUEST', RETH, REQUEST | ONLY)
define(Opcode.RC_RDMA_READ_RESPONSE_FIRST, 'RC_RDMA_READ_RESPONSE_FIRST', AETH, RESPONSE | FIRST | PAYLOAD)
define(Opcode.RC_RDMA_READ_RESPONSE_MIDDLE, 'RC_RDMA_READ_RESPONSE_MIDDLE', 0, RESPONSE | MIDDLE | PAYLOAD)
define(Opcode.RC_RDMA_READ_RESPONSE_LAST, 'RC_RDMA_READ_RESPONSE_LAST', AETH, RESPONSE | LAST | PAYLOAD)
define(Opcode.RC_RDMA_READ_RESPONSE_ONLY, 'RC_RDMA_READ_RESPONSE_ONLY', AETH, RESPONSE | ONLY | PAYLOAD)
define(Opcode.RC_ACKNOWLEDGE, 'RC_ACKNOWLEDGE', AETH, RESPONSE | ONLY)
define(Opcode.RC_ATOMIC_ACKNOWLEDGE, 'RC_ATOMIC_ACKNOWLEDGE', AETH | ATOMIC_ACK_ETH, RESPONSE | ONLY)
define(Opcode.RC_COMPARE_SWAP, 'RC_COMPARE_SWAP', ATOMIC_ETH, REQUEST | ONLY)
define(Opcode.RC_FETCH_ADD, 'RC_FETCH_ADD', ATOMIC_ETH, REQUEST | ONLY)
define(Opcode.RC_SEND_LAST_WITH_INV, 'RC_SEND_LAST_WITH_INV', IETH, REQUEST | LAST | PAYLOAD)
define(Opcode.RC_SEND_ONLY_WITH_INV, 'RC_SEND_ONLY_WITH_INV', IETH, REQUEST | ONLY | PAYLOAD)
define(Opcode.UD_SEND_ONLY, 'UD_SEND_ONLY', DETH, REQUEST | ONLY | PAYLOAD)
define(Opcode.UD_SEND_ONLY_WITH_IMM, 'UD_SEND_ONLY_WITH_IMM', DETH | IMMDT, REQUEST | ONLY | PAYLOAD)
define(Opcode.CNP, 'CNP', CNP, RESPONSE | ONLY)
define(Opcode.PROBE, 'PROBE', 0, REQUEST | ONLY)
define(Opcode.NOTIFY, 'NOTIFY', AETH | DELAYED_ACK, RESPONSE | ONLY)
define(Opcode.RATE, 'RATE', AETH | DELAYED_ACK | RATE, RESPONSE | ONLY)
define(Opcode.SACK, 'SACK', AETH | SACK, RESPONSE | ONLY)
define(Opcode.RATE_REQUEST, 'RATE_REQUEST', RATE_REQUEST, REQUEST | ONLY)
define(Opcode.DIRECT_NOTIFY, 'DIRECT_NOTIFY', DELAYED_ACK, RESPONSE | ONLY)
define(Opcode.PATH_PROBE, 'PATH_PROBE', 0, REQUEST | ONLY)
define(Opcode.PATH_ANSWER, 'PATH_ANSWER', 0, RESPONSE | ONLY)
define(Opcode.STAMPED_ACK, 'STAMPED_ACK', AETH | ARRIVAL, RESPONSE | ONLY)
define(Opcode.STAMPED_SACK, 'STAMPED_SACK', AETH | SACK | ARRIVAL, RESPONSE | ONLY)
define(Opcode.FAIR_RATE, 'FAIR_RATE', FAIR_RATE, RESPONSE | ONLY)

/** SEND and RDMA WRITE have the same operation codes in RC and UC. */
function defineMessages(service: number, prefix: string): void {
  const data = REQUEST | PAYLOAD
  define(service | 0x00, `${prefix}SEND_FIRST`, 0, data | FIRST)
  define(service | 0x01, `${prefix}SEND_MIDDLE`, 0, data | MIDDLE)
  define(service | 0x02, `${prefix}SEND_LAST`, 0, data | LAST)
  define(service | 0x03, `${prefix}SEND_LAST_WITH_IMM`, IMMDT, data | LAST)
  define(service | 0x04, `${prefix}SEND_ONLY`, 0, data | ONLY)
  define(service | 0x05, `${prefix}SEND_ONLY_WITH_IMM`, IMMDT, data | ONLY)
  define(service | 0x06, `${prefix}RDMA_WRITE_FIRST`, RETH, data | FIRST)
  define(service | 0x07, `${prefix}RDMA_WRITE_MIDDLE`, 0, data | MIDDLE)
  define(service | 0x08, `${prefix}RDMA_WRITE_LAST`, 0, data | LAST)
  define(service | 0x09, `${prefix}RDMA_WRITE_LAST_WITH_IMM`, IMMDT, data | LAST)
  define(service | 0x0a, `${prefix}RDMA_WRITE_ONLY`, RETH, data | ONLY)
  define(service | 0x0b, `${prefix}RDMA_WRITE_ONLY_WITH_IMM`, RETH | IMMDT, data | ONLY)
}

function define(opcode: number, name: string, headerSet: number, traitSet: number): void {
  names[opcode] = name
  headers[opcode] = headerSet
  traits[opcode] = KNOWN | traitSet
  for (const [header, bytes] of HEADER_BYTES) {
    if (headerSet & header) EXTENDED_HEADER_BYTES[opcode]! += bytes
  }
}

/** Returns true for what a switch sends by itself, in the name of the flow's receiver or sender. */
export function isOfSwitch(opcode: number): boolean {
  return opcode === Opcode.DIRECT_NOTIFY || opcode === Opcode.FAIR_RATE
}

/** Returns the standard's name, or `0x…` for an unknown opcode. */
export function opcodeName(opcode: number): string {
  return names[opcode] ?? `0x${opcode.toString(16).padStart(2, '0')}`
}

/**
 * Returns true for a packet of another transport service than that of the opcode `own`: the high three bits (IBA 9.2.1). Congestion
 * notifications come to queue pairs of each service, and vendors' opcodes are of none.
 */
export function isOfOtherService(opcode: number, own: number): boolean {
  const service = opcode >> 5
  return service !== own >> 5 && service <= LAST_SERVICE
}

export function isKnown(opcode: number): boolean {
  return (traits[opcode]! & KNOWN) !== 0
}

/** Returns true for packets of the requester of an operation. */
export function isRequest(opcode: number): boolean {
  return (traits[opcode]! & REQUEST) !== 0
}

/**
 * Returns true for packets of the responder: acknowledgements, READ responses, CNP and Weir's own answers.
 */
export function isResponse(opcode: number): boolean {
  return (traits[opcode]! & RESPONSE) !== 0
}

/** Returns true for the first packet of a message, including ONLY. */
export function isFirst(opcode: number): boolean {
  return (traits[opcode]! & FIRST) !== 0
}

/** Returns true for the last packet of a message, including ONLY. */
export function isLast(opcode: number): boolean {
  return (traits[opcode]! & LAST) !== 0
}

/** Returns true if packets of this opcode may carry payload. */
export function hasPayload(opcode: number): boolean {
  return (traits[opcode]! & PAYLOAD) !== 0
}

export function hasReth(opcode: number): boolean {
  return (headers[opcode]! & RETH) !== 0
}

export function hasAeth(opcode: number): boolean {
  return (headers[opcode]! & AETH) !== 0
}

export function hasAtomicEth(opcode: number): boolean {
  return (headers[opcode]! & ATOMIC_ETH) !== 0
}

export function hasAtomicAckEth(opcode: number): boolean {
  return (headers[opcode]! & ATOMIC_ACK_ETH) !== 0
}

export function hasImmediate(opcode: number): boolean {
  return (headers[opcode]! & IMMDT) !== 0
}

export function hasIeth(opcode: number): boolean {
  return (headers[opcode]! & IETH) !== 0
}

export function hasDeth(opcode: number): boolean {
  return (headers[opcode]! & DETH) !== 0
}

export function hasSack(opcode: number): boolean {
  return (headers[opcode]! & SACK) !== 0
}

export function hasDelayedAck(opcode: number): boolean {
  return (headers[opcode]! & DELAYED_ACK) !== 0
}

export function hasFairRate(opcode: number): boolean {
  return (headers[opcode]! & FAIR_RATE) !== 0
}

export function hasRate(opcode: number): boolean {
  return (headers[opcode]! & RATE) !== 0
}

export function hasRateRequest(opcode: number): boolean {
  return (headers[opcode]! & RATE_REQUEST) !== 0
}

export function hasArrival(opcode: number): boolean {
  return (headers[opcode]! & ARRIVAL) !== 0
}

/** Returns true for an RC SEND of any kind, 0x00–0x05, 0x16, 0x17. */
export function isRcSend(opcode: number): boolean {
  return opcode <= 0x05 || opcode === 0x16 || opcode === 0x17
}

/** Returns true for an RC RDMA WRITE of any kind, 0x06–0x0b. */
export function isRcWrite(opcode: number): boolean {
  return opcode >= 0x06 && opcode <= 0x0b
}

/** Returns true for an acknowledgement, with a bitmap or without, that acknowledges and nothing else. */
export function isAcknowledgement(opcode: number): boolean {
  return opcode === Opcode.RC_ACKNOWLEDGE || opcode === Opcode.SACK
}

/** Returns true for an RC RDMA READ response, 0x0d–0x10. */
export function isReadResponse(opcode: number): boolean {
  return opcode >= 0x0d && opcode <= 0x10
}
