import type { Frame } from '../../lib/frame/frame.js'
import type { MemoryRegion } from '../../lib/qp/memory/memory.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as atomicAckEth from '../../lib/wire/ib/atomic-ack-eth.js'
import * as atomicEth from '../../lib/wire/ib/atomic-eth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as ieth from '../../lib/wire/ib/ieth.js'
import * as immdt from '../../lib/wire/ib/immdt.js'
import {
  hasAeth,
  hasAtomicAckEth,
  hasAtomicEth,
  hasIeth,
  hasImmediate,
  hasReth,
  Opcode,
  opcodeName,
} from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'

const NAKS = ['sequence', 'invalid', 'access', 'operational', 'invalid-rd']
const PEER_ADDRESS = 0x1000
const PEER_KEY = 0x77

const OPCODES = new Map<string, number>(Object.values(Opcode).map(opcode => [shortName(opcode), opcode]))

function shortName(opcode: number): string {
  if (opcode === Opcode.RC_ACKNOWLEDGE) return 'ACK'
  if (opcode === Opcode.RC_ATOMIC_ACKNOWLEDGE) return 'ATOMIC_ACK'
  return opcodeName(opcode).replace('RC_', '').replace('RDMA_', '')
}

/** Writes the packet that the words describe. All payload bytes are the PSN's low byte. */
export function buildPacket(
  frame: Frame,
  at: number,
  qpn: number,
  words: string[],
  regions: Record<string, MemoryRegion>,
): void {
  const [name, psn] = [words[0]!, Number(words[1])]
  const view = frame.view
  const number = (key: string, otherwise: number): number =>
    words.includes(key) ? Number(words[words.indexOf(key) + 1]) : otherwise
  const region = regions[words[words.indexOf('key') + 1] ?? ''] ?? null
  const opcode = name === 'NAK' || name === 'RNR' ? Opcode.RC_ACKNOWLEDGE : OPCODES.get(name)
  if (opcode === undefined) throw new Error(`script: unknown packet ${name}`)
  const length = number('len', 0)
  let next = at + bth.BYTES
  const address = (region?.address ?? 0) + number('at', 0)
  const key = words.includes('key') ? (region?.key ?? 0xbad) : 0
  if (hasReth(opcode)) {
    reth.write(view, next, address, key, number('of', 0))
    next += reth.BYTES
  }
  if (hasAtomicEth(opcode)) {
    atomicEth.write(view, next, {
      address,
      rkey: key,
      swapOrAddHigh: 0,
      swapOrAddLow: number('value', 0),
      compareHigh: 0,
      compareLow: number('compare', 0),
    })
    next += atomicEth.BYTES
  }
  if (hasAeth(opcode)) {
    aeth.write(view, next, syndromeOf(name, words, number), number('msn', 0))
    next += aeth.BYTES
  }
  if (hasAtomicAckEth(opcode)) {
    atomicAckEth.write(view, next, 0, number('original', 0))
    next += atomicAckEth.BYTES
  }
  if (hasImmediate(opcode)) {
    immdt.write(view, next, number('imm', 0))
    next += immdt.BYTES
  }
  if (hasIeth(opcode)) {
    ieth.write(view, next, regions[words[words.indexOf('inv') + 1]!]?.key ?? 0xbad)
    next += ieth.BYTES
  }
  const pad = -length & 3
  const partition = number('pkey', 0xffff)
  bth.write(
    view,
    at,
    new bth.Bth({
      opcode,
      migrated: false,
      padCount: pad,
      partitionKey: partition,
      destQpn: qpn,
      ackRequest: words.includes('areq'),
      psn,
    }),
  )
  if (words.includes('version')) bth.setVersion(view, at, number('version', 0))
  frame.bytes.fill(psn & 0xff, next, next + length)
  frame.bth = at
  frame.payload = next
  frame.payloadLength = length
  frame.length = next + length + pad
  frame.wireLength = frame.length
}

function syndromeOf(
  name: string,
  words: string[],
  number: (key: string, otherwise: number) => number,
): number {
  if (name === 'RNR') return aeth.rnrNakSyndrome(number('timer', 0))
  if (name === 'NAK') return 0x60 | NAKS.findIndex(nak => words.includes(nak))
  return words.includes('credits') ? aeth.creditCode(number('credits', 0)) : aeth.ACK_UNLIMITED
}

/** The words for a packet that a queue pair wrote. */
export function printPacket(frame: Frame): string {
  const view = frame.view
  const opcode = bth.opcode(view, frame.bth)
  const words: (string | number)[] = [shortName(opcode), bth.psn(view, frame.bth)]
  let next = frame.bth + bth.BYTES
  if (frame.payloadLength > 0) words.push('len', frame.payloadLength)
  if (hasReth(opcode)) {
    words.push('at', reth.address(view, next) - PEER_ADDRESS, 'of', reth.length(view, next))
    if (reth.rkey(view, next) !== PEER_KEY) words.push('wrong-key')
    next += reth.BYTES
  }
  if (hasAtomicEth(opcode)) {
    words.push('value', atomicEth.swapOrAddLow(view, next), 'compare', atomicEth.compareLow(view, next))
    next += atomicEth.BYTES
  }
  if (hasAeth(opcode)) {
    printAeth(view, next, words)
    next += aeth.BYTES
  }
  if (hasAtomicAckEth(opcode)) {
    words.push('original', atomicAckEth.originalLow(view, next))
    next += atomicAckEth.BYTES
  }
  if (hasImmediate(opcode)) words.push('imm', immdt.immediate(view, next))
  if (hasIeth(opcode)) words.push('inv', ieth.rkey(view, next))
  if (bth.ackRequest(view, frame.bth)) words.push('areq')
  if (frame.length !== frame.wireLength) words.push('virtual')
  return words.join(' ')
}

function printAeth(view: DataView, at: number, words: (string | number)[]): void {
  const syndrome = aeth.syndrome(view, at)
  if (aeth.isNak(syndrome)) {
    words[0] = 'NAK'
    words.push(NAKS[aeth.value(syndrome)]!)
  } else if (aeth.isRnrNak(syndrome)) {
    words[0] = 'RNR'
    words.push('timer', aeth.value(syndrome))
  } else if (syndrome !== aeth.ACK_UNLIMITED) words.push('credits', aeth.CREDITS[aeth.value(syndrome)]!)
  words.push('msn', aeth.msn(view, at))
}
