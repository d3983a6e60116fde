/** One file on its way out, at the end that offers it: reads chunks and WRITEs them into the receiver's ring. */

import { Access, type MemoryRegion } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileSource } from '../file/file.js'
import { FileFeed } from '../file/file-feed.js'
import { OPEN_END } from '../protocol/chunk-plan.js'
import { DIGEST_BYTES, type Digest } from '../protocol/digest.js'
import {
  OPEN_END_VERSION,
  type SenderFigures,
  TRANSFER_VERSION,
  type TransferMessage,
  WRITES_LANE,
} from '../protocol/messages.js'
import { SenderMachine } from '../protocol/sender-machine.js'
import { wrapped } from '../protocol/wrapped-count.js'
import { CHANNEL_ID_MAX } from './channel.js'
import type { TransferEndpoint } from './endpoint.js'
import type { Lane } from './lane.js'
import type { ActiveMover, DeliveredFile, MoverHost } from './mover.js'

const WRITE_ID = CHANNEL_ID_MAX + 1
const REPEAT_ID = CHANNEL_ID_MAX + 2

export interface SendMoverConfig {
  /** Whoever made it closes it. */
  source: FileSource
  digest: Digest
  /** Name of the receiver for messages. */
  peer: string
  /** Name at the receiver. */
  name: string
  directory: string
  /** As in Offer. */
  nameInFolder?: string
  overwrite: boolean
  /** Names the transfer to the receiver, the same in all its attempts. Default: empty, this is the only one. */
  transfer?: Uint8Array
  /** Connections that carry chunks, 1 to STREAMS_MAX. Default 1. */
  streams?: number
}

export class SendMover implements ActiveMover {
  readonly machine: SenderMachine
  readonly #config: SendMoverConfig
  readonly #endpoint: TransferEndpoint
  readonly #host: MoverHost
  readonly #feed: FileFeed
  readonly #region: MemoryRegion
  #digest: Uint8Array = new Uint8Array()
  /** Bytes sent that bring nothing new of the file: messages, digests, chunks that are moved again. */
  #otherBytes = 0

  /** Throws WEIR_FULL when no ring is free. */
  constructor(config: SendMoverConfig, endpoint: TransferEndpoint, host: MoverHost) {
    const { source, digest, peer } = config
    this.#config = config
    this.#endpoint = endpoint
    this.#host = host
    this.#region = endpoint.registerRing(Access.LOCAL_WRITE)
    this.machine = new SenderMachine(source.size, endpoint.ringBytes, peer, DIGEST_BYTES[digest.kind])
    if (source.pipe) source.pipe.onReady = () => host.advance()
    this.#feed = new FileFeed({
      chunks: this.machine.chunks,
      source,
      digest,
      ring: endpoint.ring,
      seal: () => endpoint.seal,
      onLoaded: () => host.advance(),
      onFinished: bytes => this.#commit(bytes),
    })
  }

  get name(): string {
    return this.#config.source.name
  }

  get sizeBytes(): number {
    const { size } = this.#config.source
    return size === OPEN_END ? 0 : size
  }

  get begun(): boolean {
    return this.machine.chunks.plan !== null
  }

  get resumedBytes(): number {
    return this.machine.chunks.plan?.resumeBytes ?? 0
  }

  get deliveredBytes(): number {
    const { plan, freed, posted } = this.machine.chunks
    if (!plan) return 0
    const certain = plan.bytesAfter(freed)
    const possible = plan.bytesAfter(posted)
    // The transport counts acknowledged packets, which is finer than chunks. A few of those packets carry messages.
    const fine = plan.resumeBytes + this.#endpoint.ackedBytes - this.#otherBytes
    return Math.max(certain, Math.min(possible, fine))
  }

  get figures(): SenderFigures | null {
    return this.#endpoint.figures
  }

  get awaitsTransport(): boolean {
    return this.#endpoint.lanes.areBusy
  }

  greet(now: Nanos): void {
    const { source, name, directory, nameInFolder, overwrite, digest } = this.#config
    const { transfer = new Uint8Array(), streams } = this.#config
    const { allocatedBytes, mode, mtimeMs, mtimeNanos } = source
    const size = this.sizeBytes
    const openEnd = source.pipe !== undefined
    const version = openEnd ? OPEN_END_VERSION : TRANSFER_VERSION
    const where = { name, directory, nameInFolder, overwrite }
    const file = { ...where, size, allocatedBytes, mode, mtimeMs, mtimeNanos, transfer }
    const known = { chunkDigests: true, knowsHeld: true, openEnd, streams }
    const offer = { version, ...file, digest: digest.kind, ring: null, ...known }
    this.#endpoint.channel.send(now, { body: 'offer', offer })
    this.machine.onOffered()
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    if (message.body !== 'ping') this.#host.onProgress(now)
    this.machine.sealBytes = this.#endpoint.sealBytes
    this.machine.onMessage(message)
    if (message.body !== 'ready') return
    this.#otherBytes = this.#endpoint.ackedBytes
    if (!this.machine.ended)
      this.#endpoint.openLanes(this.#config.streams ?? 1, WRITES_LANE, message.ready.laneKey)
  }

  onTransferred(now: Nanos, completion: Completion, lane: Lane): void {
    if (completion.opcode !== WorkOpcode.RDMA_WRITE_WITH_IMM) return
    this.#host.onProgress(now)
    if (completion.id === REPEAT_ID) this.machine.onRepeatCompleted()
    else this.machine.onCompleted(lane.chunks.shift()!)
  }

  onLaneLost(now: Nanos, lane: Lane): void {
    if (lane.chunks.length === 0) return
    this.#endpoint.channel.send(now, {
      body: 'lost',
      lost: this.machine.onLaneLost(lane.number, lane.chunks),
    })
    lane.chunks = []
  }

  /** Hands every chunk that may go to the queue pair. */
  advance(now: Nanos): void {
    const { machine } = this
    const { chunks } = machine
    const { lanes } = this.#endpoint
    const again = chunks.toRepeat
    if (again >= 0) {
      const length = chunks.plan!.wholeBytesOf(again)
      if (!this.#post(now, lanes.main, REPEAT_ID, again, chunks.repeatSlot, 0, length)) return
      this.#otherBytes += length
      machine.onRepeated()
    }
    for (let chunk = chunks.toPost; chunk >= 0; chunk = chunks.toPost) {
      const plan = chunks.plan!
      const slot = chunks.localSlotOf(chunk)
      const lane = lanes.leastBusy
      if (!this.#post(now, lane, WRITE_ID, chunk, slot, plan.movesFrom(chunk), plan.movedBytesOf(chunk)))
        return
      lane.chunks.push(chunk)
      this.#otherBytes += plan.digestBytes + plan.sealBytes
      chunks.onPosted()
    }
  }

  nextStep(): (() => Promise<void>) | null {
    return this.#feed.nextStep()
  }

  delivered(): DeliveredFile {
    const { source, digest } = this.#config
    return {
      path: this.machine.path,
      bytes: source.size,
      digestKind: digest.kind,
      digest: this.#digest,
    }
  }

  async close(): Promise<void> {}

  /** Posts the WRITE of a chunk, or of the end of it from `offset` on. Returns false if the send queue is full. */
  #post(
    now: Nanos,
    { connection }: Lane,
    id: number,
    chunk: number,
    slot: number,
    offset: number,
    length: number,
  ): boolean {
    return connection!.postSend(now, {
      id,
      opcode: WorkOpcode.RDMA_WRITE_WITH_IMM,
      region: this.#region,
      offset: slot * this.machine.chunks.plan!.slotBytes + offset,
      length,
      remoteAddress: this.machine.remoteAddressOf(chunk) + offset,
      rkey: this.machine.ready!.rkey,
      immediate: wrapped(chunk),
    })
  }

  #commit(digest: Uint8Array): void {
    this.#digest = digest
    this.#endpoint.say({ body: 'commit', commit: { digest } })
  }
}
