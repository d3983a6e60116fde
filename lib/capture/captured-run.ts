/**
 * Runs of packets that were captured before anything cut them. A sender hands many packets of one length to the kernel as
 * one datagram (UDP_SEGMENT), and a receiver may get them so (UDP_GRO). On loopback, and where a capture is taken before
 * the network card, that datagram is what is captured: its length is that of the run, and nothing in it says how long a
 * packet is.
 */
import { Frame } from '../frame/frame.js'
import * as bth from '../wire/ib/bth.js'
import * as icrc from '../wire/ib/icrc.js'
import { isKnown } from '../wire/ib/opcode.js'
import * as ipv4 from '../wire/net/ipv4.js'
import * as ipv6 from '../wire/net/ipv6.js'
import * as udp from '../wire/net/udp.js'
import { parseFrame, WireError } from '../wire/parse.js'
import * as intShim from '../wire/telemetry/int-shim.js'
import { NATIVE } from '../wire/telemetry/telemetry.js'
import { checkIcrc } from './check-icrc.js'

/** All lengths of RoCEv2 packets are multiples of it: the pad sees to that. */
const STEP = 4

export class CapturedRun {
  /** The packet that was asked for last. */
  readonly packet: Frame
  #frame: Frame
  /** Where the first packet begins, behind UDP, and where the last one ends. */
  #from = 0
  #end = 0
  #packetBytes = 0

  /** @param frameBytes of the longest frame */
  constructor(frameBytes: number) {
    this.packet = new Frame(0, Buffer.alloc(frameBytes))
    this.#frame = this.packet
  }

  /**
   * How many packets the frame is; 1 unless it is a run that was captured whole. The frame has been parsed, its ICRC is
   * wrong, and it stays as it is for as long as its packets are asked for.
   */
  open(frame: Frame): number {
    this.#frame = frame
    this.#from = frame.l4 + udp.BYTES
    this.#end = frame.l4 + udp.length(frame.view, frame.l4)
    const last = this.#end - this.#from - (bth.BYTES + icrc.BYTES)
    for (let bytes = frame.bth - this.#from + bth.BYTES + icrc.BYTES; bytes <= last; bytes += STEP) {
      if (!this.#mayFollow(bytes)) continue
      this.#packetBytes = bytes
      this.take(0)
      if (this.#isSound()) return Math.ceil((this.#end - this.#from) / bytes)
    }
    return 1
  }

  /** Makes `packet` the packet of that number, from 0 on, with headers as the kernel or a network card gives it. */
  take(index: number): void {
    const from = this.#from + index * this.#packetBytes
    const bytes = Math.min(this.#packetBytes, this.#end - from)
    const { packet } = this
    const { l3, l4 } = this.#frame
    this.#frame.bytes.copy(packet.bytes, 0, 0, this.#from)
    this.#frame.bytes.copy(packet.bytes, this.#from, from, from + bytes)
    packet.reset()
    packet.length = this.#from + bytes
    packet.wireLength = packet.length
    const { view } = packet
    if (ipv4.version(view, l3) === 4) ipv4.setTotalLength(view, l3, packet.length - l3)
    else ipv6.setPayloadLength(view, l3, packet.length - l3 - ipv6.BYTES)
    udp.setLength(view, l4, udp.BYTES + bytes)
  }

  /** True if what lies `bytes` behind the first packet's start looks like the start of another one. */
  #mayFollow(bytes: number): boolean {
    const { view, bth: first } = this.#frame
    const at = this.#bthAt(this.#from + bytes)
    // Partition key, transport version, and bits that are reserved (IBA 9.2); not those beside AckReq, in which acknowledgements
    // between Weir hosts count duplicates, and data names a window.
    return (
      at + bth.BYTES + icrc.BYTES <= this.#end &&
      view.getUint16(at + 2) === view.getUint16(first + 2) &&
      isKnown(bth.opcode(view, at)) &&
      (view.getUint8(at + 1) & 0x0f) === 0 &&
      (view.getUint8(at + 4) & 0x3f) === 0
    )
  }

  /** Where the BTH of a packet lies that begins there, behind UDP. Its shim may have other slots than the first one's. */
  #bthAt(from: number): number {
    const { view, bth: first, shim, intFormat } = this.#frame
    if (shim !== this.#from || intFormat !== NATIVE) return from + first - this.#from
    const sound = intShim.check(view, from, this.#end) === WireError.OK
    return sound ? from + intShim.totalBytes(view, from) : this.#end
  }

  #isSound(): boolean {
    if (parseFrame(this.packet) !== WireError.OK || this.packet.bth < 0) return false
    const verdict = checkIcrc(this.packet)
    return verdict === 'right' || verdict === 'as-meant'
  }
}
