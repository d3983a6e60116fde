/**
 * Two NICs with a bottleneck between them: a drop-tail queue, random loss, delayed packets, outages. It
 * counts its drops.
 */
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { type Completion, WorkStatus } from '../../lib/qp/queues/completion-queue.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos, NEVER, SECOND, serialisationNs } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { ecn, markCe } from '../../switch-emu/core/forwarding/ip-header.js'

export interface PathOptions {
  /** Rate of the bottleneck, which data goes through. */
  rateBps: number
  /** Round trip of the idle path. */
  rttNs: Nanos
  /** Room of the bottleneck's queue. The rest is dropped. */
  bufferBytes: number
  /** Data packets are marked where so many bytes wait (DCTCP, section 3.1). Default: none are. */
  markBytes?: number
  /** Chance that a packet is lost, in each direction. */
  loss?: number
  lossBack?: number
  /** Chance that a data packet is delayed, and the longest delay. */
  reorder?: number
  reorderNs?: Nanos
  /** By which ports delayed data packets come. Default: all. */
  reorderPorts?: readonly number[]
  /** From when to when nothing passes in either direction, from the beginning of the data on. */
  outage?: [Nanos, Nanos]
  /** An answer is late by up to this, at random, so that flows do not stay in step. */
  jitterNs?: Nanos
  /** The receiving host is no Weir host, and its application takes this long to accept. */
  plainAcceptNs?: Nanos
}

export const HOST_RATE_BPS = 10e9
/** Packets are counted by spans of so long. */
export const SPAN_NS: Nanos = 0.1 * MILLISECOND
export const PORT = 7000

/**
 * Its even ports are those of senders. What one sends leaves by the next port. All data waits in one queue.
 */
export class Bottleneck implements Node {
  /** Payload bytes of data packets that were dropped, and how many they were. */
  droppedBytes = 0
  droppedPackets = 0
  maxQueueBytes = 0
  markedPackets = 0
  /** Data packets that came to the queue, and those it dropped, by spans of `SPAN_NS` since the data began. */
  readonly came: number[] = []
  readonly overflowed: number[] = []
  /** Dropped data packets by port. */
  readonly droppedOf: number[] = []
  /** When the data begins. */
  startNs: Nanos = NEVER
  readonly #options: PathOptions
  readonly #pool: FramePool
  readonly #random: () => number
  readonly #queue: Frame[] = []
  #busyUntil: Nanos = 0
  /** When the last answer by a port leaves. */
  readonly #answeredNs: number[] = []

  constructor(options: PathOptions, pool: FramePool, random: () => number) {
    this.#options = options
    this.#pool = pool
    this.#random = random
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    const forward = port % 2 === 0
    const departNs = this.#passes(now, forward) ? this.#depart(now, port, frame) : NEVER
    if (departNs === NEVER) {
      if (forward && frame.payloadLength > 0) {
        this.droppedPackets++
        this.droppedBytes += frame.payloadLength
        this.droppedOf[port] = (this.droppedOf[port] ?? 0) + 1
      }
      this.#pool.give(frame)
      return
    }
    frame.port = port ^ 1
    frame.departNs = departNs + this.#acceptNs(forward, frame)
    this.#queue.push(frame)
  }

  /** Removes Weir's data from the connection manager's datagrams. */
  #acceptNs(forward: boolean, frame: Frame): Nanos {
    const { plainAcceptNs } = this.#options
    if (plainAcceptNs === undefined || bth.destQpn(frame.view, frame.bth) !== deth.QPN_GSI) return 0
    const words = frame.bytes.indexOf('WEIR', frame.bth, 'latin1')
    if (words > 0 && words < frame.length) frame.bytes.fill(0, words, words + 4)
    return forward ? 0 : plainAcceptNs
  }

  #passes(now: Nanos, forward: boolean): boolean {
    if (now < this.startNs) return true
    const { outage, loss = 0, lossBack = 0 } = this.#options
    const atNs = now - this.startNs
    if (outage !== undefined && atNs >= outage[0] && atNs < outage[1]) return false
    return this.#random() >= (forward ? loss : lossBack)
  }

  /** When the frame leaves; NEVER if there is no room for it. */
  #depart(now: Nanos, port: number, frame: Frame): Nanos {
    if (port % 2 === 1) return this.#answerAt(now, port)
    const {
      rateBps,
      bufferBytes,
      markBytes = NEVER,
      reorder = 0,
      reorderNs = 0,
      reorderPorts,
    } = this.#options
    const startNs = Math.max(now, this.#busyUntil)
    const queueBytes = ((startNs - now) * rateBps) / 8e9 + frame.wireLength
    const span = Math.floor((now - this.startNs) / SPAN_NS)
    if (span >= 0 && frame.payloadLength > 0) this.came[span] = (this.came[span] ?? 0) + 1
    if (queueBytes > bufferBytes) {
      if (span >= 0 && frame.payloadLength > 0) this.overflowed[span] = (this.overflowed[span] ?? 0) + 1
      return NEVER
    }
    this.maxQueueBytes = Math.max(this.maxQueueBytes, queueBytes)
    if (queueBytes > markBytes && ecn(frame) !== ipv4.ECN_NOT_ECT) {
      markCe(frame)
      this.markedPackets++
    }
    this.#busyUntil = startNs + serialisationNs(frame.wireLength, rateBps)
    const isHeld = this.#random() < reorder && (reorderPorts?.includes(port) ?? true)
    const heldNs = isHeld ? Math.ceil(this.#random() * reorderNs) : 0
    return this.#busyUntil + heldNs
  }

  #answerAt(now: Nanos, port: number): Nanos {
    const { jitterNs = 0 } = this.#options
    if (jitterNs === 0) return now
    const atNs = Math.max(this.#answeredNs[port] ?? 0, now + Math.round(this.#random() * jitterNs))
    this.#answeredNs[port] = atNs
    return atNs
  }

  onTimeout(): void {}
  nextTimeout(): Nanos {
    return NEVER
  }
  pollTransmit(): Frame | null {
    return this.#queue.shift() ?? null
  }
}

/** Keeps WRITEs posted until it has written this many bytes. */
export class Writer implements ConnectionHandler {
  connection: Connection | null = null
  error: unknown = null
  doneBytes = 0
  endNs: Nanos = NEVER
  readonly #region: MemoryRegion
  readonly #bytes: number
  readonly #messageBytes: number
  readonly #target: { address: number; key: number }
  #posted = 0

  constructor(nic: Nic, bytes: number, messageBytes: number, target: { address: number; key: number }) {
    this.#region = nic.memory.register(null, messageBytes, Access.LOCAL_WRITE)
    this.#bytes = bytes
    this.#messageBytes = messageBytes
    this.#target = target
  }

  onEstablished(_now: Nanos, connection: Connection): void {
    this.connection = connection
  }

  start(now: Nanos): void {
    const { address: remoteAddress, key: rkey } = this.#target
    const length = this.#messageBytes
    const region = this.#region
    const opcode = WorkOpcode.RDMA_WRITE
    while (this.#posted * length < this.#bytes) {
      const work = { id: this.#posted, opcode, region, offset: 0, length, remoteAddress, rkey }
      if (!this.connection!.postSend(now, work)) return
      this.#posted++
    }
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    if (completion.status !== WorkStatus.SUCCESS) return
    this.doneBytes += this.#messageBytes
    if (this.doneBytes >= this.#bytes) this.endNs = now
    this.start(now)
  }

  onClosed(_now: Nanos, _connection: Connection, error: unknown): void {
    this.error = error
  }
}

export interface Outcome {
  seconds: number
  goodputBps: number
  retransmittedBytes: number
  spurious: number
  timeouts: number
  droppedBytes: number
  droppedPackets: number
  maxQueueBytes: number
  /** By spans of `SPAN_NS`: data packets that came to the queue, and those that it dropped. */
  came: readonly number[]
  overflowed: readonly number[]
  doneBytes: number
  /** T at the end. */
  baseRttNs: Nanos
  error: unknown
}

export const MTU = 1024

/** Writes this many bytes over the path, or as many as it can in a minute. Payloads are not materialised. */
export function write(path: PathOptions, config: Partial<NicConfig>, bytes: number, seed: number): Outcome {
  const random = new Random(seed)
  const pool = new FramePool(60_000, 512)
  const network = new Network({ pool, startNs: 1000 })
  const [a, b] = ['10.0.0.1', '10.0.0.2'].map((address, i) => {
    const source = random.fork(`nic ${i}`)
    return new Nic({
      address: HostAddress.parse(address),
      pool,
      random: () => source.u32(),
      lineRateBps: HOST_RATE_BPS,
      icrc: 'off',
      pathMtu: MTU,
      ackEveryPackets: 4,
      ackTimeoutNs: 268_435_456,
      baseRttNs: path.rttNs,
      ...config,
    })
  }) as [Nic, Nic]
  const luck = random.fork('path')
  const bottleneck = new Bottleneck(path, pool, () => luck.next())
  const [aId, bId, middle] = [network.addNode(a), network.addNode(b), network.addNode(bottleneck)]
  network.connect(aId, 0, middle, 0, Math.round(path.rttNs / 4))
  network.connect(middle, 1, bId, 0, Math.round(path.rttNs / 4))
  const messageBytes = 64 * MTU
  const target = b.memory.register(null, messageBytes, Access.REMOTE_WRITE)
  const writer = new Writer(a, bytes, messageBytes, target)
  const sink: ConnectionHandler = { onEstablished() {}, onCompletion() {}, onClosed() {} }
  b.listen(PORT, { accept: () => sink })
  a.connect(network.now, b.address, PORT, writer)
  network.kick(aId)
  while (writer.connection === null && network.step()) {
    // The connection is not established yet.
  }
  network.runUntil(network.now + 10 * MILLISECOND + 2 * path.rttNs)
  const startNs = network.now
  bottleneck.startNs = startNs
  writer.start(startNs)
  network.kick(aId)
  while (writer.endNs === NEVER && writer.error === null && network.now < startNs + 60 * SECOND) {
    if (!network.step()) break
  }
  const seconds = (network.now - startNs) / SECOND
  const { stats } = writer.connection!
  const { droppedBytes, droppedPackets, maxQueueBytes, came, overflowed } = bottleneck
  return {
    seconds,
    goodputBps: (writer.doneBytes * 8) / seconds,
    retransmittedBytes: stats.retransmittedBytes,
    spurious: stats.spuriousRetransmissions,
    timeouts: stats.timeouts,
    droppedBytes,
    droppedPackets,
    maxQueueBytes,
    came,
    overflowed,
    doneBytes: writer.doneBytes,
    baseRttNs: stats.baseRttNs,
    error: writer.error,
  }
}
