/** Two NICs with real payloads and ICRCs, joined by links with a tap in the middle: a node that sees every frame. */
import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { type Completion, workStatusName } from '../../lib/qp/queues/completion-queue.js'
import type { LinkFaults } from '../../lib/sim/faults.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { NEVER, SECOND } from '../../lib/time/nanos.js'
import { attributeName } from '../../lib/wire/cm/cm-messages.js'
import * as mad from '../../lib/wire/cm/mad.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import { opcodeName } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { parseFrame } from '../../lib/wire/parse.js'

export const PORT = 7000
export const DELAY_NS = 1000

/** Whether the tap passes a frame on. It may change it first. */
type Watcher = (frame: Frame, now: number, fromA: boolean) => boolean

class Tap implements Node {
  watch: Watcher = () => true
  readonly #pool: FramePool
  readonly #queue: Frame[] = []

  constructor(pool: FramePool) {
    this.#pool = pool
  }

  onFrame(now: number, port: number, frame: Frame): void {
    // As after a real wire: only the bytes of the frame are known.
    parseFrame(frame)
    if (!this.watch(frame, now, port === 0)) {
      this.#pool.give(frame)
      return
    }
    frame.l3 = -1
    frame.port = 1 - port
    frame.departNs = now
    this.#queue.push(frame)
  }

  onTimeout(): void {}
  nextTimeout(): number {
    return NEVER
  }
  pollTransmit(): Frame | null {
    return this.#queue.shift() ?? null
  }
}

/** Hands frames to a NIC as a port does that has them where the kernel has put them: the NIC never owns those that it takes. */
class InPlace implements Node {
  /** Frames that the NIC has taken so. */
  taken = 0
  readonly #nic: Nic
  readonly #pool: FramePool

  constructor(nic: Nic, pool: FramePool) {
    this.#nic = nic
    this.#pool = pool
  }

  onFrame(now: number, port: number, frame: Frame): void {
    frame.l3 = -1
    if (!this.#nic.takeInPlace(now, frame)) {
      this.#nic.onFrame(now, port, frame)
      return
    }
    this.taken++
    // Nobody may look at it any more.
    frame.bytes.fill(0xa5)
    this.#pool.give(frame)
  }

  onTimeout(now: number): void {
    this.#nic.onTimeout(now)
  }
  nextTimeout(): number {
    return this.#nic.nextTimeout()
  }
  pollTransmit(now: number): Frame | null {
    return this.#nic.pollTransmit(now)
  }
}

export interface PairOptions {
  v6?: boolean
  poolSize?: number
  /** Bytes of a slot of the pool: 512 for regions without storage, whose payloads are not materialised. */
  slotBytes?: number
  /** Delay of each link. Default DELAY_NS. */
  delayNs?: number
  /** Faults on the link of `a`, in both directions. */
  faults?: { ab?: LinkFaults; ba?: LinkFaults }
  /** The NICs take in place what they can. */
  inPlace?: boolean
  a?: Partial<NicConfig>
  b?: Partial<NicConfig>
  seed?: number
}

export interface Pair {
  pool: FramePool
  network: Network
  a: Nic
  b: Nic
  /** With `inPlace`: how the NICs get their frames. */
  placed: readonly InPlace[]
  aId: number
  bId: number
  tap: Tap
  /** Every frame that passed the tap, by name: `>REQ`, `<REP`, `>SEND_ONLY`. */
  passed: string[]
  /** Runs until `holds`, or for a minute of virtual time. Returns true if it holds. */
  until(holds: () => boolean): boolean
  /** Runs until nothing is under way any more. */
  settle(): void
  kick(): void
}

export const RATE_BPS = 10e9

/** Each link has DELAY_NS; the tap takes no time. */
export function makePair(options: PairOptions = {}): Pair {
  const pool = new FramePool(options.poolSize ?? 1500, options.slotBytes)
  const network = new Network({ pool, startNs: 1000 })
  const random = new Random(options.seed ?? 1)
  const addresses = options.v6 ? ['fd00::1', 'fd00::2'] : ['10.0.0.1', '10.0.0.2']
  const [a, b] = [options.a, options.b].map((more, i) => {
    const source = random.fork(`nic ${i}`)
    return new Nic({
      address: HostAddress.parse(addresses[i]!),
      pool,
      random: () => source.u32(),
      lineRateBps: RATE_BPS,
      // Tables of default size cost more than most of these tests.
      connectionsMax: 128,
      ...more,
    })
  }) as [Nic, Nic]
  const tap = new Tap(pool)
  const placed = options.inPlace ? [a, b].map(nic => new InPlace(nic, pool)) : []
  const [aId, bId] = (options.inPlace ? placed : [a, b]).map(node => network.addNode(node)) as [
    number,
    number,
  ]
  const tapId = network.addNode(tap)
  const delayNs = options.delayNs ?? DELAY_NS
  network.connect(aId, 0, tapId, 0, delayNs, options.faults)
  network.connect(tapId, 1, bId, 0, delayNs)
  const passed: string[] = []
  tap.watch = (frame, _now, fromA) => {
    passed.push((fromA ? '>' : '<') + frameName(frame))
    return true
  }
  const kick = () => {
    network.kick(aId)
    network.kick(bId)
  }
  const until = (holds: () => boolean) => {
    kick()
    const end = network.now + 60 * SECOND
    while (!holds() && network.now < end && network.step()) {
      // goes on
    }
    return holds()
  }
  const settle = () => {
    kick()
    network.runUntil(network.now + 120 * SECOND)
  }
  return { pool, network, a, b, placed, aId, bId, tap, passed, until, settle, kick }
}

/** The kind of a management datagram, or the opcode. */
export function frameName(frame: Frame): string {
  if (frame.bth < 0) return 'other'
  if (bth.destQpn(frame.view, frame.bth) === deth.QPN_GSI && frame.payload >= 0) {
    return attributeName(mad.attributeId(frame.view, frame.payload))
  }
  return opcodeName(bth.opcode(frame.view, frame.bth))
}

const RECEIVE_BYTES = 8192
/** Receives that an App posts. */
export const RECEIVES = 8

/** An application's end: posts receives, and records events. */
export class App implements ConnectionHandler {
  /** `established`, `completion 1 SUCCESS`, `received TEXT`, `closed` and so on, in order. */
  readonly log: string[] = []
  connection: Connection | null = null
  error: WeirError | null = null
  closed = 0
  /** Called when established. */
  onReady: (now: number, connection: Connection) => void = () => {}
  onDone: (now: number, connection: Connection, completion: Completion) => void = () => {}
  readonly words: Uint8Array | undefined
  readonly #buffers: MemoryRegion

  constructor(nic: Nic, words?: Uint8Array) {
    this.words = words
    const bytes = RECEIVES * RECEIVE_BYTES
    this.#buffers = nic.memory.register(Buffer.alloc(bytes), bytes, Access.LOCAL_WRITE)
  }

  acceptData(): Uint8Array {
    return this.words ?? new Uint8Array(0)
  }

  onCreated(_now: number, connection: Connection): void {
    this.log.push('created')
    this.connection = connection
    for (let slot = 0; slot < RECEIVES; slot++) this.#post(connection, slot)
  }

  onEstablished(now: number, connection: Connection): void {
    this.log.push('established')
    this.onReady(now, connection)
  }

  onCompletion(now: number, connection: Connection, completion: Completion): void {
    const status = workStatusName(completion.status)
    if (!completion.isReceive) this.log.push(`completion ${completion.id} ${status}`)
    else if (status === 'SUCCESS') {
      const from = completion.id * RECEIVE_BYTES
      this.log.push(
        `received ${this.#buffers.buffer!.toString('latin1', from, from + completion.byteLength)}`,
      )
      this.#post(connection, completion.id)
    }
    this.onDone(now, connection, completion)
  }

  onClosed(_now: number, _connection: Connection, error: WeirError | null): void {
    this.closed++
    this.error = error
    this.log.push(error === null ? 'closed' : `closed ${error.code}`)
  }

  #post(connection: Connection, slot: number): void {
    connection.postReceive({
      id: slot,
      region: this.#buffers,
      offset: slot * RECEIVE_BYTES,
      length: RECEIVE_BYTES,
    })
  }
}

/** A memory region with these contents and all rights. */
export function memoryOf(nic: Nic, bytes: Buffer): MemoryRegion {
  const access = Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC
  return nic.memory.register(bytes, bytes.length, access)
}

/** Takes memory away from who has a view of it, as an application does that gives it to another thread. */
export function transfer({ buffer }: Uint8Array): void {
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
}

/** `length` bytes that depend on `seed` and do not repeat soon. */
export function pattern(seed: number, length: number): Buffer {
  const random = new Random(seed)
  const bytes = Buffer.alloc(length)
  for (let i = 0; i < length; i++) bytes[i] = random.u32()
  return bytes
}

/** Connects an App of `a` to one of `b` and runs until both are established. */
export function connected(pair: Pair): { left: App; right: App } {
  const left = new App(pair.a)
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  const made = pair.until(() => left.log.includes('established') && right.log.includes('established'))
  if (!made) throw new Error(`not established: ${left.log} | ${right.log} | ${pair.passed}`)
  return { left, right }
}

/** Expects a WeirError of `code`; returns its message. */
export function refusal(call: () => unknown, code: string): string {
  try {
    call()
  } catch (error) {
    if (error instanceof WeirError && error.code === code) return error.message
    throw error
  }
  throw new Error(`accepted, where ${code} was expected`)
}
