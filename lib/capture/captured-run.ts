/**
 * Splits runs of packets that were captured as one datagram. A sender passes many packets of one length to
 * the kernel as one datagram (UDP_SEGMENT), and a receiver may get them so (UDP_GRO). On loopback, and where
 * a capture is taken before the network card, the capture shows that datagram: its length is that of the run,
 * and it does not contain the length of a packet.
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

/** Lengths of RoCEv2 packets are multiples of 4, because they are padded. */
const STEP = 4

export class CapturedRun {
  /** The packet that `take` returned last. */
  readonly packet: Frame
  #frame: Frame
  /** Where the first packet begins, after UDP, and where the last one ends. */
  #from = 0
  #end = 0
  #packetBytes = 0

  /** @param frameBytes length of the longest frame */
  constructor(frameBytes: number) {
    this.packet = new Frame(0, Buffer.alloc(frameBytes))
    this.#frame = this.packet
  }

  /**
   * Returns the number of packets in the frame: 1 unless it is a run that was captured as one datagram. The
   * frame has been parsed and its ICRC is wrong. It must not change while `take` is used.
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

  /**
   * Makes `packet` the packet of that number, from 0 on, with the headers that the kernel or a network card
   * would give it.
   */
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

  /**
   * Returns true if the bytes at an offset of `bytes` from the first packet's start look like the start of
   * another packet.
   */
  #mayFollow(bytes: number): boolean {
    const { view, bth: first } = this.#frame
    const at = this.#bthAt(this.#from + bytes)
    // Compares partition key, transport version and reserved bits (IBA 9.2). The bits beside AckReq are left
    // out, because Weir uses them: acknowledgements count duplicates there, and data names a window.
    return (
      at + bth.BYTES + icrc.BYTES <= this.#end &&
      view.getUint16(at + 2) === view.getUint16(first + 2) &&
      isKnown(bth.opcode(view, at)) &&
      (view.getUint8(at + 1) & 0x0f) === 0 &&
      (view.getUint8(at + 4) & 0x3f) === 0
    )
  }

  /**
   * Returns the offset of the BTH of a packet that begins at `from`, after UDP. Its shim may have a different
   * number of slots than the first packet's.
   */
  #bthAt(from: number): number {
    const { view, bth: first, shim, intFormat } = this.#frame
    if (shim !== this.#from || intFormat !== NATIVE) return from + first - this.#from
    const sound = intShim.check(view, from, this.#end) === WireError.OK
    return sound ? from + intShim.totalBytes(view, from) : this.#end
  }

  #isSound(): boolean {
    if (parseFrame(this.packet) !== WireError.OK || this.packet.bth < 0) return false
    const verdict = checkIcrc(this.packet)
    return verdict !== 'wrong' && verdict !== 'not-captured'
  }
}
