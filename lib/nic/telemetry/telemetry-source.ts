import type { TelemetrySettings } from '../../cc/telemetry-settings.js'
import * as intShim from '../../wire/telemetry/int-shim.js'

/** The next packet has no telemetry header. */
export const NO_SHIM = -1

/**
 * Where few packets are to collect, one that is alone counts as this much of a packet: nothing else is in flight or waits. Single messages
 * take a round trip each and never make the window larger, so one in a window would be one in ten. Each that collects costs two more packets.
 */
const ALONE_COUNTS = 1 / 8
/** One of so many single messages collects, however large the window has become. */
const ALONE_MOST = 256

/** Which of a flow's data packets collect telemetry, and which ask switches for direct answers. */
export class TelemetrySource {
  readonly #settings: TelemetrySettings
  /** Records that a packet may collect. */
  readonly slots: number
  /** Number of the encapsulation. */
  readonly format: number
  readonly #isNative: boolean
  #on = false
  #probesOnly = false
  /** Packets for which one that collects is enough, though the settings say more; 0 = as the settings say. */
  #sparse = 0
  /** Packets, and payload bytes, since one collected; packets since one asked. The first packet does both. */
  #packets = Number.POSITIVE_INFINITY
  #bytes = Number.POSITIVE_INFINITY
  #unsubscribed = Number.POSITIVE_INFINITY

  /** @param slots records that a packet may collect; @param format number of the encapsulation */
  constructor(settings: TelemetrySettings, slots: number, format: number) {
    this.#settings = settings
    this.slots = slots
    this.format = format
    this.#isNative = format <= intShim.FORMAT_COMPACT
  }

  /**
   * From now on packets collect: the flow's controller wants telemetry, and the peer understands it.
   * @param probesOnly its probes collect, whatever the settings say
   */
  start(probesOnly = false): void {
    this.#on = true
    this.#probesOnly = probesOnly
  }

  /** None collect any more: another controller has taken over. */
  stop(): void {
    this.#on = false
  }

  /** One packet of so many is enough for now; 0 = as many as the settings say. */
  set sparse(packets: number) {
    this.#sparse = packets
  }

  get sparse(): number {
    return this.#sparse
  }

  /** Telemetry is collected by probes. */
  get probes(): boolean {
    return this.#on && (this.#probesOnly || this.#settings.collect === 'probe')
  }

  /** Bytes that probes and their answers may take, as a share of the data's. */
  get probeShare(): number {
    return this.#settings.probeShare
  }

  /** The next data packet collects. */
  get collects(): boolean {
    const { collect, everyPackets, everyBytes } = this.#settings
    if (!this.#on || this.#probesOnly || collect !== 'data') return false
    if (this.#sparse > 0 && this.#packets + 1 < this.#sparse) return false
    return everyBytes > 0 ? this.#bytes >= everyBytes : this.#packets + 1 >= everyPackets
  }

  /** The next data packet asks switches for direct answers. */
  get subscribes(): boolean {
    const { subscribe, subscribeEvery } = this.#settings
    if (!this.#on || subscribe === 'off' || this.#unsubscribed + 1 < subscribeEvery) return false
    // INT-MD has its flag only in packets that collect: the next of these asks.
    return subscribe === 'dscp' || this.#isNative || this.collects
  }

  get subscribesByDscp(): boolean {
    return this.#settings.subscribe === 'dscp' && this.subscribes
  }

  /** The DSCP by which packets ask switches for direct answers; null: by none. */
  get subscribeDscp(): number | null {
    return this.#settings.subscribe === 'dscp' ? this.#settings.subscribeDscp : null
  }

  /** Slots of the next data packet's telemetry, 0 for an empty shim, or NO_SHIM. */
  get nextSlots(): number {
    if (this.collects) return this.slots
    if (!this.#on || !this.#isNative) return NO_SHIM
    const { plain, subscribe } = this.#settings
    if (subscribe === 'flag' && this.subscribes) return 0
    return plain ? NO_SHIM : 0
  }

  /** Shim flags of the next data packet. An empty shim is marked as an echo, so that no switch stamps it. */
  get nextFlags(): number {
    const subscribed = this.#settings.subscribe === 'flag' && this.subscribes ? intShim.FLAG_SUBSCRIBED : 0
    return this.collects ? subscribed : subscribed | intShim.FLAG_ECHO
  }

  /**
   * The packet to which all these getters applied has been sent. True if it collects.
   * @param isAlone no payload but its own is in flight, and none waits
   */
  onSent(payloadBytes: number, isAlone = false): boolean {
    if (!this.#on) return false
    const collected = this.collects
    const isFew = isAlone && this.#sparse > 0
    const packets = isFew ? Math.max(ALONE_COUNTS, this.#sparse / ALONE_MOST) : 1
    this.#unsubscribed = this.subscribes ? 0 : this.#unsubscribed + 1
    this.#packets = collected ? 0 : this.#packets + packets
    this.#bytes = (collected ? 0 : this.#bytes) + payloadBytes
    return collected
  }

  /**
   * Packets from the next one on to which all these getters apply as to the one sent last. It says 0 where that is not known: where
   * packets ask switches for direct answers, or bytes decide which of them collect.
   */
  get alikePackets(): number {
    const { collect, everyPackets, everyBytes, subscribe } = this.#settings
    if (!this.#on) return Number.POSITIVE_INFINITY
    if (subscribe !== 'off') return 0
    if (this.#probesOnly || collect !== 'data') return Number.POSITIVE_INFINITY
    if (everyBytes > 0) return 0
    const every = Math.max(this.#sparse, everyPackets)
    // The one sent last has collected if none has been sent since one did.
    if (this.#packets === 0) return every <= 1 ? Number.POSITIVE_INFINITY : 0
    return Math.max(0, Math.ceil(every - this.#packets) - 1)
  }

  /** So many packets, `alikePackets` at most, have followed the last one. */
  onRun(packets: number, payloadBytes: number): void {
    if (!this.#on) return
    this.#unsubscribed += packets
    if (this.#packets === 0 && this.collects) this.#bytes = payloadBytes / packets
    else {
      this.#packets += packets
      this.#bytes += payloadBytes
    }
  }
}
