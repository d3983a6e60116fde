/**
 * Captures of Linux's soft-RoCE, replayed against a queue pair. For its requests the answers must be Linux's,
 * packet by packet. For its answers the requests must be Linux's, and every work request must end as it did
 * there.
 */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import type { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { TxKind } from '../../lib/qp/queue-pair.js'
import { Completion, WorkStatus, workStatusName } from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as atomicAckEth from '../../lib/wire/ib/atomic-ack-eth.js'
import * as atomicEth from '../../lib/wire/ib/atomic-eth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as ieth from '../../lib/wire/ib/ieth.js'
import * as immdt from '../../lib/wire/ib/immdt.js'
import {
  hasAtomicEth,
  hasIeth,
  hasImmediate,
  hasReth,
  isFirst,
  isLast,
  isRcSend,
  Opcode,
} from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'
import {
  type LinuxConnection,
  type LinuxPacket,
  linuxConnections,
  printAnswer,
  printRequest,
} from './linux-connections.js'
import { Host } from './pipe.js'

const CAPTURES = [
  'vt_all',
  'vt_all_psn0xfffffa',
  'vt_badrkey_w',
  'loss_send_data',
  'rnr_send',
  'ib_read_bw_64k_mtu1024',
  'ib_send_bw_64k_mtu1024',
  'ib_write_bw_64k_mtu1024',
  'rc_pingpong_64k_mtu1024',
  'rc_pingpong_small_mtu1024',
  'cm_rping',
  'cm_sendbw_R',
]
const CONFIG = { ackEveryPackets: 0, ackTimeoutExponent: 0 }
const REGION_BYTES = 1 << 20
const HEADROOM = 64

const out = new Frame(0, Buffer.alloc(HEADROOM + 4608))

/** What Linux answered, except what `echoesRnr` describes. */
function answersOfLinux(connection: LinuxConnection): string[] {
  const answers = connection.packets.filter(packet => !packet.isRequest)
  return answers.filter(answer => !echoesRnr(answers, answer)).map(answer => printAnswer(answer.frame))
}

/**
 * After an RNR NAK Linux also sends a NAK for a sequence error for the same PSN. Weir does not, because the
 * peer must wait and not come back at once.
 */
function echoesRnr(answers: LinuxPacket[], answer: LinuxPacket): boolean {
  const before = answers[answers.indexOf(answer) - 1]
  return isSequenceNak(answer) && before !== undefined && isRnr(before) && before.psn === answer.psn
}

function isSequenceNak(answer: LinuxPacket): boolean {
  return syndrome(answer) === aeth.NAK_PSN_SEQUENCE_ERROR
}

function syndrome(packet: LinuxPacket): number {
  return packet.opcode === Opcode.RC_RDMA_READ_RESPONSE_MIDDLE
    ? aeth.ACK_UNLIMITED
    : aeth.syndrome(packet.frame.view, packet.frame.bth + bth.BYTES)
}

function isRnr(packet: LinuxPacket): boolean {
  return aeth.isRnrNak(syndrome(packet))
}

/** Replays the requests to a responder. Receives are posted where Linux had them. */
function answersToLinux(connection: LinuxConnection): string[] {
  const { packets, qpn, pathMtu } = connection
  // As often as Linux refused a PSN for lack of a receive, none is posted when its turn comes.
  const rnrNaks = packets.filter(p => !p.isRequest && isRnr(p))
  const minRnrTimer = aeth.value(rnrNaks.map(syndrome)[0] ?? 0)
  const host = new Host(qpn, { ...CONFIG, pathMtu, minRnrTimer })
  const firstPsn = packets.find(packet => packet.isRequest)!.psn
  host.connect(qpn, 0, firstPsn)
  const memory = new LinuxMemory(host, packets)
  const receives = host.memory.register(null, REGION_BYTES, 1)
  const answers: string[] = []
  packets.forEach((packet, i) => {
    if (!packet.isRequest || wasLost(packets, i)) return
    const { frame, opcode, psn } = packet
    const expected = (host.qp.nextReceiveSeq & 0xffffff) === psn
    const takes = isRcSend(opcode) ? isFirst(opcode) : hasImmediate(opcode)
    if (expected && takes) {
      const refused = rnrNaks.findIndex(answer => answer.psn === psn)
      if (refused >= 0) rnrNaks.splice(refused, 1)
      else host.qp.postReceive({ id: i, region: receives, offset: 0, length: REGION_BYTES })
    }
    memory.translate(packet)
    host.qp.onPacket(i, frame)
    while (host.qp.pollTransmit(i, out, HEADROOM) !== TxKind.NONE) answers.push(printAnswer(out))
  })
  return answers
}

/** The captures were taken at the sender: what Linux requested again later was lost after that. */
function wasLost(packets: LinuxPacket[], index: number): boolean {
  const { psn } = packets[index]!
  const answers = packets.filter(p => !p.isRequest)
  return packets
    .slice(index)
    .some(p => !p.isRequest && p.psn === psn && isSequenceNak(p) && !echoesRnr(answers, p))
}

/** A region here for each key there. Keys that Linux refused have none. */
class LinuxMemory {
  readonly #regions = new Map<number, { base: number; region: MemoryRegion }>()

  constructor(host: Host, packets: LinuxPacket[]) {
    const refused = packets.some(p => !p.isRequest && syndrome(p) === aeth.NAK_REMOTE_ACCESS_ERROR)
    if (refused) return
    for (const { frame, opcode } of packets) {
      const at = frame.bth + bth.BYTES
      if (hasReth(opcode)) this.#note(host, reth.rkey(frame.view, at), reth.address(frame.view, at))
      if (hasAtomicEth(opcode))
        this.#note(host, atomicEth.rkey(frame.view, at), atomicEth.address(frame.view, at))
      if (hasIeth(opcode)) this.#note(host, ieth.rkey(frame.view, at), 0)
    }
    this.#presetAtomics(packets)
  }

  #note(host: Host, key: number, address: number): void {
    const known = this.#regions.get(key)
    // Addresses remain congruent modulo 8, as atomics require, with room on either side.
    const base = address - (address % 8) - REGION_BYTES / 2
    if (known === undefined) {
      const region = host.memory.register(Buffer.alloc(REGION_BYTES), REGION_BYTES, 15)
      this.#regions.set(key, { base, region })
    }
  }

  /** What each word contained before the first atomic on it, as Linux reported. Weir computes the rest. */
  #presetAtomics(packets: LinuxPacket[]): void {
    const preset = new Set<number>()
    for (const request of packets.filter(p => hasAtomicEth(p.opcode))) {
      const answer = packets.find(p => p.opcode === Opcode.RC_ATOMIC_ACKNOWLEDGE && p.psn === request.psn)!
      const at = request.frame.bth + bth.BYTES
      const address = atomicEth.address(request.frame.view, at)
      if (preset.has(address)) continue
      preset.add(address)
      const { base, region } = this.#regions.get(atomicEth.rkey(request.frame.view, at))!
      const result = answer.frame.bth + bth.BYTES + aeth.BYTES
      region.buffer!.writeUInt32LE(atomicAckEth.originalLow(answer.frame.view, result), address - base)
      region.buffer!.writeUInt32LE(atomicAckEth.originalHigh(answer.frame.view, result), address - base + 4)
    }
  }

  /** Replaces Linux's key and address by ours. */
  translate({ frame, opcode }: LinuxPacket): void {
    const view = frame.view
    const at = frame.bth + bth.BYTES
    if (hasReth(opcode)) {
      const known = this.#regions.get(reth.rkey(view, at))
      if (known === undefined) return
      reth.setAddress(view, at, known.region.address + reth.address(view, at) - known.base)
      reth.setRkey(view, at, known.region.key)
    } else if (hasAtomicEth(opcode)) {
      const { base, region } = this.#regions.get(atomicEth.rkey(view, at))!
      atomicEth.setAddress(view, at, region.address + atomicEth.address(view, at) - base)
      atomicEth.setRkey(view, at, region.key)
    } else if (hasIeth(opcode)) ieth.setRkey(view, at, this.#regions.get(ieth.rkey(view, at))!.region.key)
  }
}

interface Replayed {
  requests: string[]
  ends: string[]
  expectedRequests: string[]
  expectedEnds: string[]
}

/** Posts the work that Linux had, and replays the answers that Linux got. */
function requestsToLinux(connection: LinuxConnection): Replayed {
  const { packets, qpn, pathMtu } = connection
  const firsts = firstTransmissions(packets)
  const host = new Host(qpn, { ...CONFIG, pathMtu, sendQueueDepth: 256, rnrRetry: 7 })
  host.connect(qpn, firsts[0]!.psn, 0)
  const local = host.memory.register(Buffer.alloc(REGION_BYTES), REGION_BYTES, 15)
  const works = workOf(firsts, local)
  for (const work of works) host.qp.postSend(0, work)
  const requests: string[] = []
  const ends: string[] = []
  const completion = new Completion()
  let now = 0
  for (const packet of [null, ...packets.filter(p => !p.isRequest)]) {
    if (packet !== null) host.qp.onPacket(now, packet.frame)
    // Time enough for any RNR wait.
    now += 1e9
    host.qp.onTimeout(now)
    while (host.qp.pollTransmit(now, out, HEADROOM) !== TxKind.NONE) {
      if (!host.qp.lastTransmittedWasRetransmission) requests.push(printRequest(out))
    }
    while (host.sendCq.poll(completion)) ends.push(`${completion.id} ${workStatusName(completion.status)}`)
  }
  const refused = packets.some(p => !p.isRequest && syndrome(p) === aeth.NAK_REMOTE_ACCESS_ERROR)
  const status = workStatusName(refused ? WorkStatus.REM_ACCESS_ERR : WorkStatus.SUCCESS)
  return {
    // Where it was refused, Linux had not sent the rest yet.
    requests: refused ? requests.slice(0, firsts.length) : requests,
    ends,
    expectedRequests: firsts.map(packet => printRequest(packet.frame)),
    expectedEnds: works.map(work => `${work.id} ${status}`),
  }
}

/** Request packets without repetitions. */
function firstTransmissions(packets: LinuxPacket[]): LinuxPacket[] {
  const seen = new Set<number>()
  return packets.filter(packet => {
    if (!packet.isRequest || seen.has(packet.psn)) return false
    seen.add(packet.psn)
    return true
  })
}

/** The work requests whose packets these are. */
function workOf(packets: LinuxPacket[], region: MemoryRegion): SendWork[] {
  const works: SendWork[] = []
  let length = 0
  let first: LinuxPacket | null = null
  for (const packet of packets) {
    if (isFirst(packet.opcode)) {
      length = 0
      first = packet
    }
    length += packet.frame.payloadLength
    if (isLast(packet.opcode)) works.push(workRequest(works.length, first!, packet, length, region))
  }
  // The bad key: it was refused at its first packet, and its last one was never captured.
  if (works.length === 0) works.push(workRequest(0, first!, first!, length, region))
  return works
}

function workRequest(
  id: number,
  first: LinuxPacket,
  last: LinuxPacket,
  sentBytes: number,
  region: MemoryRegion,
): SendWork {
  const view = first.frame.view
  const at = first.frame.bth + bth.BYTES
  const work: SendWork = { id, opcode: opcodeOf(last.opcode), region, offset: 0, length: sentBytes }
  if (hasReth(first.opcode)) {
    work.length = reth.length(view, at)
    work.remoteAddress = reth.address(view, at)
    work.rkey = reth.rkey(view, at)
  }
  if (hasAtomicEth(first.opcode)) {
    work.length = 8
    work.remoteAddress = atomicEth.address(view, at)
    work.rkey = atomicEth.rkey(view, at)
    work.compareOrAdd = 1n
    work.swap = 1n
  }
  const end = last.frame.payload - immdt.BYTES
  if (hasImmediate(last.opcode)) work.immediate = immdt.immediate(last.frame.view, end)
  if (hasIeth(last.opcode)) work.invalidateKey = ieth.rkey(last.frame.view, end)
  return work
}

function opcodeOf(opcode: number): WorkOpcode {
  if (opcode === Opcode.RC_RDMA_READ_REQUEST) return WorkOpcode.RDMA_READ
  if (opcode === Opcode.RC_COMPARE_SWAP) return WorkOpcode.COMPARE_AND_SWAP
  if (opcode === Opcode.RC_FETCH_ADD) return WorkOpcode.FETCH_AND_ADD
  if (hasIeth(opcode)) return WorkOpcode.SEND_WITH_INV
  if (isRcSend(opcode)) return hasImmediate(opcode) ? WorkOpcode.SEND_WITH_IMM : WorkOpcode.SEND
  return hasImmediate(opcode) ? WorkOpcode.RDMA_WRITE_WITH_IMM : WorkOpcode.RDMA_WRITE
}

for (const capture of CAPTURES) {
  for (const connection of linuxConnections(capture)) {
    t.test(`responder: ${connection.name}`, async t => {
      t.same(answersToLinux(connection), answersOfLinux(connection))
    })
    t.test(`requester: ${connection.name}`, async t => {
      const { requests, ends, expectedRequests, expectedEnds } = requestsToLinux(connection)
      t.same(requests, expectedRequests)
      t.same(ends, expectedEnds)
    })
  }
}
