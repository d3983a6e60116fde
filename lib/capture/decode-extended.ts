/** Decodes the headers after the BTH, in the order of the standard, then Weir's own. */
import * as aeth from '../wire/ib/aeth.js'
import * as atomicAckEth from '../wire/ib/atomic-ack-eth.js'
import * as atomicEth from '../wire/ib/atomic-eth.js'
import * as bth from '../wire/ib/bth.js'
import * as deth from '../wire/ib/deth.js'
import * as ieth from '../wire/ib/ieth.js'
import * as immdt from '../wire/ib/immdt.js'
import * as opcodes from '../wire/ib/opcode.js'
import * as reth from '../wire/ib/reth.js'
import * as delayedAck from '../wire/weir/delayed-ack.js'
import * as rate from '../wire/weir/rate.js'
import * as rateRequest from '../wire/weir/rate-request.js'
import * as sack from '../wire/weir/sack.js'
import type { ExtendedHeaders } from './packet.js'

interface Decoder {
  /** Returns true if packets of the opcode have the header. */
  has(opcode: number): boolean
  bytes: number
  decode(view: DataView, at: number): ExtendedHeaders
}

const ACK_KINDS = ['ack', 'rnr-nak', 'reserved', 'nak'] as const
const DELAYED_KINDS = ['probe', 'request', 'response', 'unknown'] as const
const SACK_BITS = 256
const PSN_MASK = 0xff_ffff

/** In the order of the headers in a packet. */
const DECODERS: readonly Decoder[] = [
  {
    has: opcodes.hasDeth,
    bytes: deth.BYTES,
    decode: (view, at) => ({ deth: { queueKey: deth.qkey(view, at), sourceQp: deth.sourceQpn(view, at) } }),
  },
  {
    has: opcodes.hasReth,
    bytes: reth.BYTES,
    decode: (view, at) => ({
      reth: {
        remoteAddress: view.getBigUint64(at),
        remoteKey: reth.rkey(view, at),
        length: reth.length(view, at),
      },
    }),
  },
  { has: opcodes.hasAtomicEth, bytes: atomicEth.BYTES, decode: decodeAtomic },
  {
    has: opcodes.hasAeth,
    bytes: aeth.BYTES,
    decode: (view, at) => ({ aeth: decodeAeth(view, at) }),
  },
  {
    has: opcodes.hasAtomicAckEth,
    bytes: atomicAckEth.BYTES,
    decode: (view, at) => ({ atomicAck: { original: view.getBigUint64(at) } }),
  },
  {
    has: opcodes.hasImmediate,
    bytes: immdt.BYTES,
    decode: (view, at) => ({ immediate: immdt.immediate(view, at) }),
  },
  {
    has: opcodes.hasIeth,
    bytes: ieth.BYTES,
    decode: (view, at) => ({ invalidatedKey: ieth.rkey(view, at) }),
  },
  { has: opcodes.hasSack, bytes: sack.BYTES, decode: decodeSack },
  { has: opcodes.hasDelayedAck, bytes: delayedAck.BYTES, decode: decodeDelayedAck },
  {
    has: opcodes.hasRate,
    bytes: rate.BYTES,
    decode: (view, at) => ({
      rate: { flows: rate.flows(view, at), windowBytes: rate.windowBytes(view, at) },
    }),
  },
  {
    has: opcodes.hasRateRequest,
    bytes: rateRequest.BYTES,
    decode: (view, at) => ({
      rateRequest: {
        baseRttNs: rateRequest.baseRttNs(view, at),
        lineRateBps: rateRequest.lineRateBps(view, at),
        mtuBytes: rateRequest.mtuBytes(view, at),
      },
    }),
  },
]

/** @param at offset of the BTH of a packet that `parseFrame` has accepted */
export function decodeExtended(view: DataView, at: number): ExtendedHeaders {
  const opcode = bth.opcode(view, at)
  const headers: ExtendedHeaders = {}
  let next = at + bth.BYTES
  for (const { has, bytes, decode } of DECODERS) {
    if (!has(opcode)) continue
    Object.assign(headers, decode(view, next))
    next += bytes
  }
  return headers
}

export function decodeAeth(view: DataView, at: number): NonNullable<ExtendedHeaders['aeth']> {
  const syndrome = aeth.syndrome(view, at)
  return { kind: ACK_KINDS[aeth.kind(syndrome)]!, value: aeth.value(syndrome), msn: aeth.msn(view, at) }
}

function decodeAtomic(view: DataView, at: number): ExtendedHeaders {
  return {
    atomic: {
      remoteAddress: view.getBigUint64(at),
      remoteKey: atomicEth.rkey(view, at),
      swapOrAdd: view.getBigUint64(at + 12),
      compare: view.getBigUint64(at + 20),
    },
  }
}

function decodeSack(view: DataView, at: number): ExtendedHeaders {
  const base = sack.basePsn(view, at)
  const bits = Array.from({ length: SACK_BITS }, (_, bit) => bit).filter(bit => sack.has(view, at, bit))
  return { sack: bits.map(bit => (base + bit) & PSN_MASK) }
}

function decodeDelayedAck(view: DataView, at: number): ExtendedHeaders {
  const psn = delayedAck.acknowledges(view, at) ? delayedAck.psn(view, at) : null
  return { delayedAck: { of: DELAYED_KINDS[delayedAck.kind(view, at)]!, psn } }
}
