/**
 * What a program gets for a captured packet. Times are nanoseconds, rates bit/s, sizes bytes. Null stands for
 * what a packet does not have.
 */

/** One decoded packet of a capture. It does not change when the next one is read. */
export interface Packet {
  /** Its place in the file, from 1. */
  number: number
  /** Nanoseconds since 1970; in captures of virtual time, since the network began. */
  timeNs: bigint
  /** Its length on the wire, with the Ethernet header, without the FCS. */
  wireBytes: number
  /**
   * The captured bytes, at most `wireBytes`. Bare IP packets and those of "any" have an Ethernet header of
   * zeros.
   */
  bytes: Uint8Array
  /**
   * What is wrong with it, such as `malformed: bad-pad` or `captured too short: short-bth`. Null: nothing.
   */
  fault: string | null
  ethernet: EthernetHeader | null
  /**
   * PFC (802.1Qbb): pause time by priority 0 to 7, in quanta of 512 bit times. 0 resumes the priority. Null:
   * the frame does not change it.
   */
  pfcQuanta: (number | null)[] | null
  ip: IpHeader | null
  udp: UdpHeader | null
  /** VXLAN (RFC 7348), and the packet within. Null: it is none. Deeper than four packets nothing is decoded. */
  vxlan: { vni: number; inner: Packet } | null
  /** Telemetry, stamped by switches or echoed by the receiver. */
  telemetry: Telemetry | null
  /** The acknowledgement of what the packet answers, which a Weir host has put into the shim. Such a packet has no telemetry. */
  carriedAck: CarriedAck | null
  /** RoCEv2: the base transport header. */
  bth: BaseTransportHeader | null
  /** The headers after the BTH. `{}` when there are none. */
  extended: ExtendedHeaders
  /** Length of the transport payload, without pad and ICRC. */
  payloadBytes: number
  /** The captured part of the payload: a view of `bytes`. Zeros in captures of virtual time. */
  payload: Uint8Array
  /** null: it is not RoCEv2. */
  icrc: IcrcVerdict | null
  /** The packet as one line, as `weir dump` prints it, without its time and verdict. */
  text: string
}

/**
 * `right`: also if it fits an IPv4 identification of zero, with which hosts on ordinary sockets compute it.
 * `absent`: the packet was cut before it (`snapBytes`).
 */
export type IcrcVerdict = 'right' | 'unused' | 'wrong' | 'absent'

/** The Ethernet header of a packet, with its VLAN tag. */
export interface EthernetHeader {
  /** `02:00:00:00:00:01` */
  source: string
  destination: string
  /** EtherType, after a VLAN tag if there is one: 0x0800 is IPv4. */
  type: number
  /** VLAN tag: id 0 to 4095, priority 0 to 7. */
  vlan: { id: number; priority: number } | null
}

/** The IPv4 or IPv6 header of a packet. */
export interface IpHeader {
  version: 4 | 6
  source: string
  destination: string
  /** 0 to 63. */
  dscp: number
  ecn: 'not-ect' | 'ect1' | 'ect0' | 'ce'
  /** TTL or hop limit. */
  ttl: number
  /** Protocol, or next header: 17 is UDP. */
  protocol: number
}

/** The UDP header of a packet. */
export interface UdpHeader {
  sourcePort: number
  destinationPort: number
  /** Bytes of its payload. */
  bytes: number
}

/** IBA 9.2. */
export interface BaseTransportHeader {
  opcode: number
  /** `RC_RDMA_WRITE_ONLY`; `0x…` for one that is unknown. */
  opcodeName: string
  /** 24 bits. */
  psn: number
  destinationQp: number
  partitionKey: number
  ackRequest: boolean
  solicited: boolean
  fecn: boolean
  becn: boolean
}

/** IBA 9.3, and Weir's own. */
export interface ExtendedHeaders {
  deth?: { queueKey: number; sourceQp: number }
  reth?: { remoteAddress: bigint; remoteKey: number; length: number }
  atomic?: { remoteAddress: bigint; remoteKey: number; swapOrAdd: bigint; compare: bigint }
  /** `value`: the credit code of an ACK, the timer code of an RNR NAK, the reason code of a NAK. */
  aeth?: { kind: 'ack' | 'rnr-nak' | 'reserved' | 'nak'; value: number; msn: number }
  atomicAck?: { original: bigint }
  immediate?: number
  invalidatedKey?: number
  /** PSNs that have arrived beyond the cumulative acknowledgement. */
  sack?: number[]
  /** What the packet is for, and the PSN up to which it acknowledges. Null: it acknowledges nothing. */
  delayedAck?: { of: 'probe' | 'request' | 'response' | 'unknown'; psn: number | null }
  rate?: { flows: number; windowBytes: number }
  rateRequest?: { baseRttNs: number; lineRateBps: number; mtuBytes: number }
}

/** It means the same as an ACK: PSN, and AETH as in `extended` of a packet. */
export interface CarriedAck {
  /** 24 bits. */
  psn: number
  aeth: NonNullable<ExtendedHeaders['aeth']>
  /** Packets that have arrived twice, modulo 128. */
  duplicates: number
}

/** Telemetry of a path. */
export interface Telemetry {
  format: 'wide' | 'compact' | 'p4-int-md' | 'ifa' | 'ioam'
  /** True: the receiver returned it. False: the packet collected it on its own way so far. */
  echo: boolean
  /** XOR of the switch ids. */
  pathId: number
  /** Flows that the receiver counts. 0: unknown. */
  flows: number
  /** The packet passed more hops than it had slots. */
  overflow: boolean
  /** In the order of the path. */
  hops: Hop[]
}

/** The record of one hop. */
interface Hop {
  /** 0xffff: the receiving host itself. Compact telemetry does not name switches and ports: 0. */
  switchId: number
  port: number
  rateBps: number
  /** Time on the hop's own clock. Counters wrap as the format says. */
  timeNs: number
  /** Bytes sent before this packet. */
  txBytes: number
  queueBytes: number
}
