/**
 * A wire between two NICs that delivers what one of them has sent in a row, harmed or not: each packet as a frame of its own, or as
 * the port of Linux does, a frame with the run of packets behind it.
 */
import { Backing } from '../../lib/frame/backing.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { ReceivedRun } from '../../lib/frame/received-run.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { parseFrame } from '../../lib/wire/parse.js'

const STEP_NS = 20_000
const BATCH = 40
const HEADER_BYTES = { 4: 42, 6: 62 }
/** As UDP_GRO. */
const RUN_BYTES_MAX = 65_000

interface WireOptions {
  asRuns: boolean
  seed: number
  family: 4 | 6
  /** Probability that a packet is harmed in one way or another. */
  harm: number
  /** Bits turn in the ICRC alone, where another one than 0 is found out also on connections without. */
  harmsIcrcAlone?: boolean
  nic?: Partial<NicConfig>
}

export class RunWire {
  readonly pool = new FramePool(400)
  readonly a: Nic
  readonly b: Nic
  now = 1000
  /** All that passed, in order. */
  readonly passed: Buffer[] = []
  /** Packets that a NIC took from runs, and those that were harmed. */
  taken = 0
  harmed = 0
  readonly #options: WireOptions
  readonly #random: Random
  readonly #run: ReceivedRun

  constructor(options: WireOptions) {
    this.#options = options
    const random = new Random(options.seed)
    this.#random = random.fork('harm')
    this.#run = new ReceivedRun(new Backing(new Uint8Array(1 << 16)))
    const addresses = options.family === 4 ? ['10.0.0.1', '10.0.0.2'] : ['fd00::1', 'fd00::2']
    const [a, b] = addresses.map((address, i) => {
      const source = random.fork(`nic ${i}`)
      return new Nic({
        address: HostAddress.parse(address),
        pool: this.pool,
        random: () => source.u32(),
        lineRateBps: 100e9,
        slackNs: STEP_NS,
        connectionsMax: 16,
        baseRttNs: STEP_NS,
        ...options.nic,
      })
    }) as [Nic, Nic]
    this.a = a
    this.b = b
  }

  /** Runs until `holds`, `steps` at most. */
  until(holds: () => boolean, steps = 5000): boolean {
    for (; !holds() && steps > 0; steps--) this.#step()
    return holds()
  }

  #step(): void {
    this.now = Math.max(this.now + STEP_NS, Math.min(this.a.nextTimeout(), this.b.nextTimeout()))
    for (const nic of [this.a, this.b]) if (nic.nextTimeout() <= this.now) nic.onTimeout(this.now)
    this.#deliver(this.b, this.#harm(this.#sent(this.a)))
    this.#deliver(this.a, this.#sent(this.b))
  }

  #sent(nic: Nic): Buffer[] {
    const packets: Buffer[] = []
    while (packets.length < BATCH) {
      const frame = nic.pollTransmit(this.now)
      if (frame === null) break
      frame.bringIn()
      packets.push(Buffer.from(frame.bytes.subarray(0, frame.length)))
      this.pool.give(frame)
    }
    this.passed.push(...packets)
    return packets
  }

  #harm(packets: Buffer[]): Buffer[] {
    const random = this.#random
    const out: Buffer[] = []
    for (const packet of packets) {
      if (random.next() >= this.#options.harm) {
        out.push(packet)
        continue
      }
      this.harmed++
      const kind = random.below(7)
      if (kind === 0) continue
      if (kind === 1) out.push(packet, packet)
      else if (kind === 2) out.splice(Math.max(0, out.length - 1), 0, packet)
      else if (kind === 3) out.push(this.#flipped(packet))
      else if (kind === 4) out.push(this.#flipped(this.#flipped(packet)))
      else out.push(this.#forged(packet, kind), packet)
    }
    return out
  }

  #flipped(packet: Buffer): Buffer {
    const copy = Buffer.from(packet)
    const { family, harmsIcrcAlone = false } = this.#options
    const first = harmsIcrcAlone ? copy.length - icrc.BYTES : HEADER_BYTES[family]
    const at = first + this.#random.below(copy.length - first)
    copy[at]! ^= 1 << this.#random.below(8)
    return copy
  }

  /**
   * A packet of another version, partition or queue pair, or with a PSN far from its own, and the right ICRC. (A packet
   * that gets all of these right is the peer's, whoever has sent it.)
   */
  #forged(packet: Buffer, kind: number): Buffer {
    const frame = this.#frameOf(packet)
    parseFrame(frame)
    const { view, bth: at } = frame
    if (at >= 0 && frame.payload >= 0) {
      const field = at + [1, 2, 5, 7][this.#random.below(4)]!
      if (kind === 5) view.setUint8(field, view.getUint8(field) ^ 1)
      else bth.setPsn(view, at, bth.psn(view, at) + [50_000, -50_000, 100_000][this.#random.below(3)]!)
      icrc.write(frame)
    }
    const copy = Buffer.from(frame.bytes.subarray(0, frame.length))
    this.pool.give(frame)
    return copy
  }

  #frameOf(packet: Buffer): Frame {
    const frame = this.pool.take()!
    packet.copy(frame.bytes)
    frame.length = frame.wireLength = packet.length
    return frame
  }

  #deliver(to: Nic, packets: Buffer[]): void {
    for (let n = 0; n < packets.length; ) {
      const run = this.#options.asRuns ? this.#behind(packets, n) : null
      to.onFrame(this.now, 0, this.#frameOf(packets[n]!), run)
      this.taken += run?.taken ?? 0
      n += 1 + (run?.taken ?? 0)
    }
  }

  /** What the kernel would have joined with that packet. */
  #behind(packets: Buffer[], first: number): ReceivedRun | null {
    const start = HEADER_BYTES[this.#options.family]
    const packet = packets[first]!
    const bytes = packet.length - start
    let count = 0
    for (let next = packets[first + 1]; next !== undefined; next = packets[first + 1 + count]) {
      const isLike =
        next.length === packet.length && next.subarray(0, start).equals(packet.subarray(0, start))
      if (!isLike || (count + 1) * bytes > RUN_BYTES_MAX) break
      next.copy(this.#run.memory.bytes, count * bytes, start)
      count++
    }
    this.#run.begin(0, bytes, start, count)
    return count > 0 ? this.#run : null
  }
}
