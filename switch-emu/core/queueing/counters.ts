/** Why a switch dropped a frame. */
export const DropReason = {
  NONE: 0,
  MALFORMED: 1,
  NOT_IP: 2,
  NO_ROUTE: 3,
  TTL_EXPIRED: 4,
  QUEUE_FULL: 5,
  BUFFER_FULL: 6,
  WRED: 7,
  /** A lossless priority had used up its headroom. */
  HEADROOM_FULL: 8,
  /** A watchdog drops all frames for the queue. */
  PFC_WATCHDOG: 9,
  /** A malformed PFC frame: too short, or sent to another address. */
  BAD_PFC: 10,
  /** The link of the egress port is down. */
  LINK_DOWN: 11,
  /** It waited in a switch that restarted. */
  RESTARTED: 12,
  /** To this end of a tunnel, and no VXLAN packet, or what it contains is malformed. */
  BAD_VXLAN: 13,
  /** VXLAN of a virtual network, or from an end, that this end does not know. */
  UNKNOWN_VNI: 14,
  UNKNOWN_VTEP: 15,
  /** The outer header says that there was congestion, the inner one that its transport does not understand it (RFC 6040). */
  TUNNEL_ECN: 16,
  /** The links of the underlay take no packet that long. */
  TUNNEL_TOO_BIG: 17,
} as const
export type DropReason = (typeof DropReason)[keyof typeof DropReason]

/** Names of the reasons, by number. */
const DROP_REASON_NAMES = [
  'none',
  'malformed',
  'notIp',
  'noRoute',
  'ttlExpired',
  'queueFull',
  'bufferFull',
  'wred',
  'headroomFull',
  'pfcWatchdog',
  'badPfc',
  'linkDown',
  'restarted',
  'badVxlan',
  'unknownVni',
  'unknownVtep',
  'tunnelEcn',
  'tunnelTooBig',
] as const

/** Reasons from here on are reported where they have occurred: they belong to features that few switches have. */
const FIRST_RARE = DropReason.BAD_VXLAN

const RX_FRAMES = 0
const RX_BYTES = 1
const TX_FRAMES = 2
const TX_BYTES = 3
const ECN_MARKS = 4
const DROPPED_BYTES = 5
const GLOBAL_PAUSES = 6
const DROPS = 7
const COLUMNS = DROPS + DROP_REASON_NAMES.length

/**
 * Counters of one port since the beginning. Bytes are those on the wire, without FCS. A dropped frame counts
 * at the port that caused the drop: the ingress port if the frame could not be forwarded at all, the egress
 * port if there was no room.
 */
export class SwitchPortCounters {
  readonly #now = new Float64Array(COLUMNS)
  readonly #windowStart = new Float64Array(COLUMNS)
  #restartTxBytes = 0

  onReceived(bytes: number): void {
    this.#now[RX_FRAMES]! += 1
    this.#now[RX_BYTES]! += bytes
  }

  onTransmitted(bytes: number): void {
    this.#now[TX_FRAMES]! += 1
    this.#now[TX_BYTES]! += bytes
  }

  onMarked(): void {
    this.#now[ECN_MARKS]! += 1
  }

  /** A PAUSE frame of 802.3x, which would stop all priorities. The switch counts it and ignores it. */
  onGlobalPause(): void {
    this.#now[GLOBAL_PAUSES]! += 1
  }

  onDropped(reason: DropReason, bytes: number): void {
    this.#now[DROPS + reason]! += 1
    this.#now[DROPPED_BYTES]! += bytes
  }

  /** Bytes whose transmission has started since the switch started: the txBytes of INT. */
  get txBytes(): number {
    return this.#now[TX_BYTES]! - this.#restartTxBytes
  }

  /** Bytes whose transmission has started since the beginning, whatever has restarted. */
  get sentBytes(): number {
    return this.#now[TX_BYTES]!
  }

  /** The switch has restarted: what it reports in packets counts from 0. */
  restart(): void {
    this.#restartTxBytes = this.#now[TX_BYTES]!
  }

  /** Starts a new window of counts. */
  resetWindow(): void {
    this.#windowStart.set(this.#now)
  }

  /** Returns the counts of the window. */
  window(): WindowCounts {
    const drops: Record<string, number> = {}
    let dropped = 0
    for (let reason = 1; reason < DROP_REASON_NAMES.length; reason++) {
      const count = this.#inWindow(DROPS + reason)
      if (reason < FIRST_RARE || count > 0) drops[DROP_REASON_NAMES[reason]!] = count
      dropped += count
    }
    return {
      rxFrames: this.#inWindow(RX_FRAMES),
      rxBytes: this.#inWindow(RX_BYTES),
      txFrames: this.#inWindow(TX_FRAMES),
      txBytes: this.#inWindow(TX_BYTES),
      ecnMarks: this.#inWindow(ECN_MARKS),
      globalPauses: this.#inWindow(GLOBAL_PAUSES),
      drops: dropped,
      droppedBytes: this.#inWindow(DROPPED_BYTES),
      dropsByReason: drops,
    }
  }

  #inWindow(column: number): number {
    return this.#now[column]! - this.#windowStart[column]!
  }
}

export interface WindowCounts {
  rxFrames: number
  rxBytes: number
  txFrames: number
  txBytes: number
  /** Frames that this port marked CE. */
  ecnMarks: number
  /** PAUSE frames of 802.3x that arrived. */
  globalPauses: number
  /** All drops of the port. */
  drops: number
  droppedBytes: number
  dropsByReason: Record<string, number>
}
