/**
 * Packets that no peer would send, and those that one would send at another time: nothing throws, nothing is
 * written outside the peer's rights, and every work request completes at most once. SEED=n runs that one
 * alone.
 */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import type { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { QpState, TxKind } from '../../lib/qp/queue-pair.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import {
  EXTENDED_HEADER_BYTES,
  hasAeth,
  hasAtomicEth,
  hasPayload,
  hasReth,
  isLast,
  isResponse,
  Opcode,
} from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'
import * as sack from '../../lib/wire/weir/sack.js'
import { fixedSeeds, isReplay } from '../support/seeds.js'
import { Host, randomSource } from './pipe.js'

const PACKETS = 400
const MTU = 256
const LENGTH = 8192
/** In the middle of the arena: nobody may write around it. */
const OFFSET = 8192

/** Messages of one packet, READ, atomics, ACK, SACK: what may come at any time. */
const PLAUSIBLE = [0x04, 0x04, 0x04, 0x0a, 0x0a, 0x0a, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x11, 0x11, 0xc3, 0xc3]
/** FIRST, MIDDLE, LAST and READ response: right in few states. */
const DARING = [0x00, 0x01, 0x02, 0x06, 0x07, 0x08, 0x09, 0x0d, 0x0e, 0x10, 0x12]

class Fuzz {
  readonly host: Host
  readonly #random: () => number
  readonly #arena = Buffer.alloc(3 * LENGTH, 0x5a)
  readonly #open: MemoryRegion
  readonly #closed: MemoryRegion
  readonly #frame = new Frame(0, Buffer.alloc(5000))
  readonly #completion = new Completion()
  readonly #pending = new Set<number>()
  #next = 0

  constructor(seed: number) {
    this.#random = randomSource(seed)
    this.host = new Host(
      17,
      {
        pathMtu: MTU,
        ackTimeoutExponent: 1,
        minRnrTimer: 1,
        responderResources: 16,
        selectiveRepeat: seed % 2 === 0,
        reorderPackets: 8,
      },
      seed,
    )
    this.#open = this.host.memory.register(this.#arena.subarray(OFFSET, OFFSET + LENGTH), LENGTH, 15)
    this.#closed = this.host.memory.register(Buffer.alloc(LENGTH, 0x33), LENGTH, 0)
    this.host.connect(18, 0xfffff0, 0xfffff0)
  }

  #pick(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  step(now: number): string | null {
    const { qp } = this.host
    if (qp.state !== QpState.ERR) this.#post(now)
    this.#packet()
    qp.onPacket(now, this.#frame)
    qp.onTimeout(now)
    for (let i = this.#pick(6); i > 0; i--) {
      if (qp.pollTransmit(now, this.#frame, 64) === TxKind.NONE) break
      if (this.#frame.length > this.#frame.bytes.length) return 'a frame longer than its slot'
    }
    return this.#check()
  }

  #post(now: number): void {
    const id = this.#next++
    const length = this.#random() < 0.95 ? 4 * MTU : this.#pick(4)
    if (this.#random() < 0.5) {
      if (this.host.qp.postReceive({ id, region: this.#open, offset: 0, length })) this.#pending.add(id)
      return
    }
    const opcode = this.#pick(8) as WorkOpcode
    const atomic = opcode >= WorkOpcode.COMPARE_AND_SWAP
    const work = { id, opcode, region: this.#open, offset: 0, length: atomic ? 8 : length }
    const remote = { remoteAddress: 0, rkey: 1, immediate: 1, invalidateKey: 1, compareOrAdd: 1n, swap: 2n }
    if (this.host.qp.postSend(now, { ...work, ...remote })) this.#pending.add(id)
  }

  /** A packet near the right PSN. Mostly a plausible one, sometimes a random one. */
  #packet(): void {
    const { qp } = this.host
    const frame = this.#frame
    const wild = this.#random() < 0.005
    const usual = this.#random() < 0.97 ? PLAUSIBLE : DARING
    for (let i = 64; i < 140; i++) frame.bytes[i] = this.#pick(256)
    const opcode = wild ? this.#pick(256) : usual[this.#pick(usual.length)]!
    const near = isResponse(opcode) ? qp.sndUna : qp.nextReceiveSeq
    const seq = near + (this.#random() < 0.6 ? 0 : this.#pick(9) - 4)
    bth.write(
      frame.view,
      64,
      new bth.Bth({ opcode, migrated: false, destQpn: 17, ackRequest: this.#random() < 0.5, psn: seq }),
    )
    frame.bth = 64
    frame.payload = 64 + bth.BYTES + EXTENDED_HEADER_BYTES[opcode]!
    frame.payloadLength = wild ? this.#pick(2 * MTU) : this.#payloadBytes(opcode)
    frame.length = frame.payload + frame.payloadLength
    frame.wireLength = frame.length
    this.#headers(opcode)
  }

  #payloadBytes(opcode: number): number {
    if (!hasPayload(opcode)) return 0
    return isLast(opcode) ? this.#pick(MTU + 1) : MTU
  }

  #headers(opcode: number): void {
    const frame = this.#frame
    const at = 64 + bth.BYTES
    if (hasReth(opcode) || hasAtomicEth(opcode)) {
      const region = this.#random() < 0.995 ? this.#open : this.#closed
      const edge = this.#random() < 0.01 ? this.#pick(64) - 32 : 0
      const address = region.address + 8 * this.#pick(LENGTH / 8 - MTU) + edge
      const length = hasPayload(opcode) && isLast(opcode) ? frame.payloadLength : this.#pick(4 * MTU)
      reth.write(frame.view, at, address, region.key, length)
    }
    if (opcode === Opcode.SACK && this.#random() < 0.8) {
      const base = this.host.qp.sndUna + this.#pick(8) - 2
      sack.write(frame.view, at + aeth.BYTES, base)
      for (let n = this.#pick(4); n > 0; n--) sack.add(frame.view, at + aeth.BYTES, this.#pick(6))
    }
    if (hasAeth(opcode) && this.#random() < 0.95)
      aeth.write(frame.view, at, aeth.ACK_UNLIMITED, this.#pick(4))
  }

  #check(): string | null {
    const { qp, sendCq, receiveCq } = this.host
    const got = this.#completion
    while (sendCq.poll(got) || receiveCq.poll(got)) {
      if (!this.#pending.delete(got.id)) return `work ${got.id} completed twice`
    }
    if (qp.sndUna > qp.sndNxt || qp.inFlightBytes < 0) return 'sequence numbers out of order'
    if (qp.state === QpState.ERR && this.#pending.size > 0)
      return `${this.#pending.size} left after the error`
    if (qp.state === QpState.ERR && qp.inFlightBytes !== 0) return 'bytes in flight after the error'
    if (qp.state === QpState.ERR && this.host.reorderPool.inUse !== 0) return 'packets kept after the error'
    return null
  }

  /** Returns the bytes outside the open region that have changed. */
  spilled(): boolean {
    const outside = Buffer.concat([this.#arena.subarray(0, OFFSET), this.#arena.subarray(OFFSET + LENGTH)])
    return outside.some(byte => byte !== 0x5a) || this.#closed.buffer!.some(byte => byte !== 0x33)
  }
}

/** Tests that a queue pair withstands random packets by each of these seeds. */
export function fuzz(numbers: readonly number[]): void {
  t.test('random packets', async t => {
    const seeds = fixedSeeds(numbers)
    let failed = 0
    let accepted = 0
    let sacks = 0
    let badSacks = 0
    for (const seed of seeds) {
      const fuzz = new Fuzz(seed)
      let left = PACKETS
      for (let i = 0; left > 0; i++, left--) {
        // After an error a few more, which must change nothing.
        if (fuzz.host.qp.state === QpState.ERR) left = Math.min(left, 10)
        const problem = fuzz.step(i * 5000)
        if (problem !== null) {
          t.fail(`SEED=${seed}: ${problem}`)
          break
        }
      }
      if (fuzz.spilled()) t.fail(`SEED=${seed}: bytes written outside`)
      if (fuzz.host.qp.state === QpState.ERR) failed++
      accepted += fuzz.host.qp.counters.receivedPackets
      sacks += fuzz.host.qp.counters.sacks
      badSacks += fuzz.host.qp.counters.droppedSack
    }
    if (isReplay) return
    t.ok(failed > seeds.length / 4, `${failed} of ${seeds.length} runs met an error`)
    t.ok(accepted > 10 * seeds.length, `${accepted} requests were carried out`)
    t.ok(
      sacks > seeds.length / 4 && badSacks > seeds.length / 4,
      `${sacks} SACKs were taken, ${badSacks} dropped`,
    )
  })
}
