/** The reliable connections in the captures of Linux's stack: each direction's requests and their answers. */
import { CapturedPacket, CaptureReader, loadFrame } from '../../lib/capture/capture-reader.js'
import { Frame } from '../../lib/frame/frame.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as atomicAckEth from '../../lib/wire/ib/atomic-ack-eth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { hasAeth, hasAtomicAckEth, hasReth, isLast, isRequest, opcodeName } from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { fixturePath } from '../support/fixtures.js'

const LAST_RC_OPCODE = 0x1f

export interface LinuxPacket {
  frame: Frame
  opcode: number
  psn: number
  isRequest: boolean
}

/** One requester, one responder: their packets in the order of the capture. */
export interface LinuxConnection {
  name: string
  qpn: number
  pathMtu: number
  packets: LinuxPacket[]
}

/**
 * Both ends of each connection in these captures have the same QPN. The sender's address distinguishes them.
 */
export function linuxConnections(capture: string): LinuxConnection[] {
  const connections = new Map<string, LinuxConnection>()
  const pathMtu = capture === 'cm_sendbw_R' ? 4096 : 1024
  const reader = CaptureReader.open(fixturePath(`roce-pcaps/${capture}.pcap`))
  const packet = new CapturedPacket()
  while (reader.next(packet)) {
    const frame = new Frame(0, Buffer.alloc(packet.capturedBytes + 64))
    if (!loadFrame(packet, frame) || parseFrame(frame) !== WireError.OK || frame.bth < 0) continue
    const opcode = bth.opcode(frame.view, frame.bth)
    if (opcode > LAST_RC_OPCODE) continue
    const qpn = bth.destQpn(frame.view, frame.bth)
    const request = isRequest(opcode)
    const requester = request ? ipv4.source(frame.view, frame.l3) : ipv4.destination(frame.view, frame.l3)
    const key = `${qpn} ${requester}`
    const name = `${capture}, QP ${qpn} of host ${requester & 0xff}`
    if (!connections.has(key)) connections.set(key, { name, qpn, pathMtu, packets: [] })
    const psn = bth.psn(frame.view, frame.bth)
    connections.get(key)!.packets.push({ frame, opcode, psn, isRequest: request })
  }
  reader.close()
  return [...connections.values()]
}

/** An answer in words: opcode, PSN, AETH, length, result of an atomic. */
export function printAnswer(frame: Frame): string {
  const view = frame.view
  const opcode = bth.opcode(view, frame.bth)
  const at = frame.bth + bth.BYTES
  let text = `${opcodeName(opcode)} ${bth.psn(view, frame.bth)}`
  if (frame.payloadLength > 0) text += ` len ${frame.payloadLength}`
  if (hasAeth(opcode)) text += ` syndrome 0x${aeth.syndrome(view, at).toString(16)} msn ${aeth.msn(view, at)}`
  if (hasAtomicAckEth(opcode)) {
    const result = at + aeth.BYTES
    text += ` original ${atomicAckEth.originalHigh(view, result)}:${atomicAckEth.originalLow(view, result)}`
  }
  return text
}

/** A request in words: opcode, PSN, length, bytes asked for or announced, AckReq at the end of a message. */
export function printRequest(frame: Frame): string {
  const view = frame.view
  const opcode = bth.opcode(view, frame.bth)
  const asked = hasReth(opcode) ? ` of ${reth.length(view, frame.bth + bth.BYTES)}` : ''
  const asks = isLast(opcode) && bth.ackRequest(view, frame.bth)
  return `${opcodeName(opcode)} ${bth.psn(view, frame.bth)} len ${frame.payloadLength}${asked}${asks ? ' ack-req' : ''}`
}
