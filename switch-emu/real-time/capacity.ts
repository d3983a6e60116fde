/** Measures before a run what this machine can carry in real time, and computes what the run demands. */
import os from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { WeirError } from '../../lib/errors.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { Port } from '../../lib/io/port.js'
import { HEADER_BYTES_V4, HeaderWriter4 } from '../../lib/io/ports/dgram-headers.js'
import { openPort, PORT_ROOM_BYTES } from '../../lib/open-nic/open-port.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { dataOverheadBytes } from '../../lib/scenario/model/wire-sizes.js'
import type { CapacityResult } from '../../lib/scenario/result/result.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { demandBps } from './demand.js'

const LOOPBACK = '127.0.0.1'
const MEASURE_MS = 250
/** V8 compiles in this time. */
const WARMUP_MS = 100
/** Datagrams in flight. The smallest socket buffer holds them. */
const WINDOW = 16
/** Datagrams that have not returned by then count as lost. */
const LOST_AFTER_MS = 20
const TRIES = 5

/**
 * Returns what a run demands and what this machine can carry at most, both in data packets a second. This
 * process sends itself datagrams of a data packet's length over loopback for a third of a second, by the port
 * that the processes of the run use, or a similar one. Across the emulated network a packet is sent and
 * received twice, and so is its acknowledgement: by two hosts, and each time by the process of the switches,
 * which is one thread. The protocol costs extra, so the machine carries less.
 *
 * Returns null where it cannot be measured.
 */
export async function capacityOf(scenario: Scenario, on: 'overlay' | 'veth'): Promise<CapacityResult | null> {
  const { transport, int } = scenario
  const packetBytes = transport.pathMtu + dataOverheadBytes(int, int.hops)
  const io = on === 'overlay' ? 'dgram' : 'batch'
  // Nothing depends on the figure, so a machine without such a port does without it.
  const datagramsPerSecond = await measure(io, packetBytes).catch(() => 0)
  if (datagramsPerSecond === 0) return null
  const pairs = 1 + 1 / transport.ackEvery
  const bySwitch = datagramsPerSecond / pairs
  const byCores = (os.availableParallelism() * datagramsPerSecond) / (2 * pairs)
  const demandedBps = demandBps(scenario)
  return {
    io,
    packetBytes,
    datagramsPerSecond: Math.round(datagramsPerSecond),
    packetsPerSecondMost: Math.round(Math.min(bySwitch, byCores)),
    demandedPacketsPerSecond: Math.round(demandedBps / (8 * packetBytes)),
    demandedBps: Math.round(demandedBps),
  }
}

/** Returns the datagrams that one thread sends and receives in a second. */
async function measure(io: string, frameBytes: number): Promise<number> {
  const slotBytes = (frameBytes + HEADER_BYTES_V4 + 63) & ~63
  const pool = new FramePool(4 * WINDOW, slotBytes, PORT_ROOM_BYTES)
  const udpPort = await open(pool, io)
  try {
    const exchange = new Exchange(pool, udpPort.port, udpPort.number, frameBytes)
    await exchange.run(WARMUP_MS)
    return await exchange.run(MEASURE_MS)
  } finally {
    await udpPort.port.close()
  }
}

/** Opens a port on a UDP port that is free together with the next one. */
async function open(pool: FramePool, io: string): Promise<{ port: Port; number: number }> {
  for (let left = TRIES; ; left--) {
    const number = 20_000 + 2 * Math.floor(Math.random() * 2000)
    try {
      const { port } = await openPort({ pool, io, address: LOOPBACK, port: number, sourcePorts: 1 })
      return { port, number }
    } catch (error) {
      if (left === 1 || !(error instanceof WeirError) || error.code !== 'WEIR_BAD_ARGUMENT') throw error
    }
  }
}

/** Sends datagrams from a port to itself, with a window of them in flight. */
class Exchange {
  readonly #pool: FramePool
  readonly #port: Port
  readonly #udpPort: number
  readonly #bytes: number
  readonly #headers = new HeaderWriter4(HostAddress.parse(LOOPBACK).ipv4)
  #underWay = 0

  constructor(pool: FramePool, port: Port, udpPort: number, frameBytes: number) {
    this.#pool = pool
    this.#port = port
    this.#udpPort = udpPort
    this.#bytes = frameBytes - HEADER_BYTES_V4
  }

  /** Returns datagrams a second. */
  async run(forMs: number): Promise<number> {
    const began = performance.now()
    let count = 0
    let lastMs = began
    for (let now = began; now - began < forMs; now = performance.now()) {
      const came = this.#receive()
      if (came > 0) lastMs = now
      else if (now - lastMs > LOST_AFTER_MS) this.#underWay = 0
      count += came
      this.#send()
      await nextTurn()
    }
    return (count * 1000) / (performance.now() - began)
  }

  #send(): void {
    const source = HostAddress.parse(LOOPBACK).ipv4
    while (this.#underWay < WINDOW && this.#port.canTransmit()) {
      const frame = this.#pool.take()
      if (frame === null) break
      this.#headers.write(frame, source, this.#udpPort, udp.PORT_ROCE, this.#bytes)
      frame.l3 = ethernet.BYTES
      frame.l4 = ethernet.BYTES + ipv4.BYTES
      frame.udpPort = this.#udpPort
      frame.alone = true
      this.#port.transmit(frame)
      this.#underWay++
    }
    this.#port.flush()
  }

  #receive(): number {
    let count = 0
    for (let frame = this.#port.receive(); frame !== null; frame = this.#port.receive()) {
      this.#pool.give(frame)
      count++
    }
    this.#underWay = Math.max(0, this.#underWay - count)
    return count
  }
}
