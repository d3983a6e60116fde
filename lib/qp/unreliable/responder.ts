import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as immdt from '../../wire/ib/immdt.js'
import { hasImmediate, hasReth, isFirst, isLast, isOfOtherService, isRcWrite } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import { Access, type DomainId, type MemoryRegion, type MemoryTable } from '../memory/memory.js'
import { readPayload } from '../memory/payload.js'
import { ReceiveOpcode } from '../queues/completion-queue.js'
import { PSN_MASK } from '../queues/psn.js'
import type { ReceiveQueue } from '../queues/receive-queue.js'
import { MESSAGE_BYTES_MAX } from '../queues/send-queue.js'
import { WorkStatus } from '../queues/work-status.js'
import type { UnreliableCounters } from './counters.js'

/** The unreliable connected service: the high three bits of an opcode. */
export const SERVICE = 0x20
const OPERATION_MAX = 0x0b

interface ResponderConfig {
  memory: MemoryTable
  domain: DomainId
  pathMtu: number
  receives: ReceiveQueue
  counters: UnreliableCounters
}

/**
 * Puts messages together. A first packet begins one, whatever came before (IBA 9.8.2.2): the PSN only says whether a message goes on without
 * a gap. What is wrong with a packet ends its message in silence, and the receive that it was filling takes the next one (IBA 9.9.3,
 * classes D and D1).
 */
export class UnreliableResponder {
  readonly #config: ResponderConfig
  /** A message is under way, and this is the operation of its first packet. */
  #isWrite = false
  #goesOn = false
  /** PSN of its next packet. */
  #psn = 0
  /** Where the next packet of a WRITE goes, and the bytes to come. */
  #region: MemoryRegion | null = null
  #offset = 0
  #leftBytes = 0
  #bytes = 0
  /** Packets that were taken. */
  receivedPackets = 0
  /** Packets of another service, which were dropped. */
  otherService = 0

  constructor(config: ResponderConfig) {
    this.#config = config
  }

  /** A parsed packet of the peer with the right ICRC. */
  onPacket(frame: Frame): void {
    const { view, bth: at } = frame
    const { counters } = this.#config
    const opcode = bth.opcode(view, at)
    const operation = opcode - SERVICE
    const isOurs = operation >= 0 && operation <= OPERATION_MAX && bth.version(view, at) === 0
    if (isOfOtherService(opcode, SERVICE)) this.otherService++
    if (!isOurs || (bth.partitionKey(view, at) & 0x7fff) !== 0x7fff) {
      counters.droppedOpcode++
      return
    }
    const psn = bth.psn(view, at)
    const isWrite = isRcWrite(operation)
    // A message that has not ended when another one begins has lost its end.
    const follows = this.#goesOn && psn === this.#psn && isWrite === this.#isWrite
    this.#goesOn = false
    this.#psn = (psn + 1) & PSN_MASK
    if (!isFirst(opcode) && !follows) counters.droppedSequence++
    else if (!this.#hasLength(frame, opcode)) counters.droppedLength++
    else if (isWrite ? this.#write(frame, opcode) : this.#send(frame, opcode)) {
      this.receivedPackets++
      this.#isWrite = isWrite
      this.#goesOn = !isLast(opcode)
      if (isLast(opcode)) counters.received++
    }
  }

  /** Full packets, but for the last, which is empty in an empty message only. */
  #hasLength({ payloadLength }: Frame, opcode: number): boolean {
    const { pathMtu } = this.#config
    if (!isLast(opcode)) return payloadLength === pathMtu
    return payloadLength <= pathMtu && (payloadLength > 0 || isFirst(opcode))
  }

  #send(frame: Frame, opcode: number): boolean {
    const { receives, counters } = this.#config
    if (isFirst(opcode)) this.#bytes = 0
    if (!this.#hasReceive(isFirst(opcode))) return false
    const { region, offset, length } = receives.head
    const bytes = this.#bytes + frame.payloadLength
    if (bytes > length) {
      counters.droppedNoRoom++
      return false
    }
    readPayload(frame, region!, offset + this.#bytes)
    this.#bytes = bytes
    if (isLast(opcode)) this.#complete(frame, opcode, ReceiveOpcode.RECV)
    return true
  }

  /** Receives whose memory may not be written any more fail: those behind them are good for another message. */
  #hasReceive(begins: boolean): boolean {
    const { receives, counters } = this.#config
    let isWhole = true
    while (receives.isReady() && !receives.head.region!.allows(Access.LOCAL_WRITE)) {
      receives.failHead(WorkStatus.LOC_PROT_ERR)
      isWhole = begins
    }
    if (isWhole && receives.isReady()) return true
    counters.droppedNoReceive++
    return false
  }

  #write(frame: Frame, opcode: number): boolean {
    const { counters, receives } = this.#config
    if (isFirst(opcode) && !this.#begin(frame)) {
      counters.droppedAccess++
      return false
    }
    const { payloadLength } = frame
    const fits = isLast(opcode) ? payloadLength === this.#leftBytes : payloadLength < this.#leftBytes
    if (!fits) {
      counters.droppedLength++
      return false
    }
    if (hasImmediate(opcode) && !receives.isReady()) {
      counters.droppedNoReceive++
      return false
    }
    const region = this.#region
    if (region !== null) {
      // Its rights may have changed as it goes on.
      if (!region.allows(Access.REMOTE_WRITE) || !region.admits(this.#offset, payloadLength)) {
        counters.droppedAccess++
        return false
      }
      readPayload(frame, region, this.#offset)
    }
    this.#offset += payloadLength
    this.#leftBytes -= payloadLength
    if (hasImmediate(opcode)) this.#complete(frame, opcode, ReceiveOpcode.RECV_RDMA_WITH_IMM)
    return true
  }

  /** False: the memory is not the peer's to write. Neither key nor address of a message without bytes counts (IBA 9.4.3). */
  #begin({ view, bth: from }: Frame): boolean {
    const at = from + bth.BYTES
    const length = reth.length(view, at)
    this.#region = null
    this.#bytes = length
    this.#leftBytes = length
    if (length === 0) return true
    const { memory, domain } = this.#config
    const region = memory.findIn(domain, reth.rkey(view, at))
    if (region === null || length > MESSAGE_BYTES_MAX || !region.allows(Access.REMOTE_WRITE)) return false
    this.#offset = reth.address(view, at) - region.address
    if (!region.holds(this.#offset, length) || !region.admits(this.#offset, length)) return false
    this.#region = region
    return true
  }

  #complete(frame: Frame, opcode: number, kind: ReceiveOpcode): void {
    const { view, bth: at } = frame
    const has = hasImmediate(opcode)
    const behind = at + bth.BYTES + (hasReth(opcode) ? reth.BYTES : 0)
    const immediate = has ? immdt.immediate(view, behind) : 0
    const done = this.#config.receives.completeHead(kind, this.#bytes, has, immediate, 0)
    done.solicited = bth.solicited(view, at)
  }
}
