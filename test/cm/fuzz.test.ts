/** Whatever arrives, `onMad` does not throw, does not grow, and does not answer one datagram by many. */
import t, { type Test } from 'tap'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import { MadDatagram } from '../../lib/cm/outbox.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import * as messages from '../../lib/wire/cm/cm-messages.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { drawnSeed, fixedSeeds, isReplay } from '../support/seeds.js'
import { CAPTURES, readCapture } from './captures.js'
import { OWN, PEER, PORT, writeMessage } from './script.js'

const KINDS = ['REQ', 'REP', 'RTU', 'REJ', 'MRA', 'DREQ', 'DREP'] as const
const CONNECTIONS_MAX = 20
const ROUNDS = 4000

/** Messages in which each field often has a value that means something to the manager, else a random one. */
class Forger {
  readonly #random: Random
  readonly #ids: number[]
  readonly #captured: Uint8Array[]
  readonly view = new DataView(new ArrayBuffer(256))
  readonly #bytes = new Uint8Array(this.view.buffer)

  constructor(random: Random, ids: number[]) {
    this.#random = random
    this.#ids = ids
    this.#captured = CAPTURES.flatMap(name => readCapture(name).mads.map(({ bytes }) => bytes))
  }

  next(): void {
    const random = this.#random
    const kind = random.next()
    if (kind < 0.05) for (let i = 0; i < 256; i++) this.#bytes[i] = random.below(256)
    else if (kind < 0.15) this.#bytes.set(this.#captured[random.below(this.#captured.length)]!)
    else this.#forge()
    if (random.next() < 0.2) {
      for (let n = 1 + random.below(4); n > 0; n--) this.#bytes[random.below(256)] = random.below(256)
    }
  }

  #forge(): void {
    const random = this.#random
    const peerId = () => 2001 + random.below(8)
    const ownId = () =>
      random.next() < 0.9 && this.#ids.length > 0 ? this.#ids[random.below(this.#ids.length)]! : 0
    const choices: Record<string, number[]> = {
      qpn: [100 + random.below(40), 201, 202, 203],
      of: [0, 1, 2, 3],
      reason: [4, 10, 28, random.below(65536)],
      service: [0, 8, 31],
      rr: [1, 255],
      timeout: [0, 8, 31],
      ack: [0, 8, 31],
      retries: [0, 1, 15],
      mtu: [0, 3, 7],
    }
    const option = (key: string, otherwise: number) => {
      const values = choices[key]
      return values && random.next() < 0.7 ? values[random.below(values.length)]! : otherwise
    }
    writeMessage(
      this.view,
      KINDS[random.below(KINDS.length)]!,
      peerId(),
      ownId(),
      BigInt(random.u32()),
      option,
    )
  }
}

function fuzz(seed: number) {
  const random = new Random(seed)
  const ids: number[] = []
  const manager = new ConnectionManager({
    caGuid: 0xa1n,
    addresses: [OWN, HostAddress.parse('10.99.0.1')],
    random: () => {
      ids.push(random.u32())
      if (ids.length > 40) ids.shift()
      return ids.at(-1)!
    },
    connectionsMax: CONNECTIONS_MAX,
    pendingRequestsMax: 8,
    responseTimeoutExponent: 12,
    packetLifeTimeExponent: 9,
    peerTimeoutExponentMax: 12,
  })
  manager.listen(PORT)
  const forger = new Forger(random, ids)
  const datagram = new MadDatagram()
  const sources = [PEER, HostAddress.parse('10.99.0.2'), HostAddress.parse('10.0.0.9')]
  const seen = new Set<string>()
  const faults: string[] = []
  let qpn = 100
  let now = 0
  const drain = () => {
    let count = 0
    for (; manager.pollTransmit(now, datagram); count++) {
      if (messages.check(datagram.view, 0, 256) !== 0) faults.push('sent what is no message')
    }
    return count
  }
  const command = (kind: number) => {
    const id = ids[random.below(ids.length)] ?? 0
    const pair = () => ({ qpn: ++qpn, startingPsn: 7 })
    try {
      if (kind < 0.3) manager.connect(now, { ...pair(), remote: PEER, port: PORT, pathMtu: 256 })
      else if (kind < 0.7) manager.accept(now, id, pair())
      else if (kind < 0.8) manager.disconnect(now, id)
      else if (kind < 0.9) manager.reject(now, id)
      else manager.onDataArrived(now, 100 + random.below(50))
    } catch (error) {
      const { code } = error as { code?: string }
      if (code !== 'WEIR_FULL' && code !== 'WEIR_BAD_STATE') throw error
    }
  }
  for (let round = 0; round < ROUNDS; round++) {
    now += random.below(3 * MILLISECOND)
    manager.onTimeout(now)
    if (random.next() < 0.3) command(random.next())
    drain()
    forger.next()
    const at = random.next() < 0.05 ? random.below(30) : 0
    manager.onMad(now, sources[random.below(sources.length)]!, forger.view, at, 256)
    // A REJ and, to a stale connection, a DREQ: no more.
    if (drain() > 2) faults.push('more than two answers to one datagram')
    if (manager.connectionCount > CONNECTIONS_MAX) faults.push('more connections than may be')
    if (manager.duties.count > 0 !== hasDuties(manager)) faults.push(`${manager.duties.count} duties`)
    for (let event = manager.pollEvent(); event; event = manager.pollEvent()) seen.add(event.type)
  }
  return { manager, faults, seen, ids, now, drain }
}

/** Who does not ask for more than a count of duties must miss nothing. */
function hasDuties(manager: ConnectionManager): boolean {
  return manager.pendingTransmits > 0 || manager.nextTimeout() < Number.POSITIVE_INFINITY
}

/** Looks for faults by one seed. Returns the kinds of events that it met. */
function check(t: Test, seed: number): Set<string> {
  const { manager, faults, seen, now, drain } = fuzz(seed)
  t.same(faults, [], `SEED=${seed}`)
  // Without further input, everything that waits for an answer ends by itself. The rest waits for its
  // application.
  let left = now
  for (let due = manager.nextTimeout(); due < now + 60 * SECOND; due = manager.nextTimeout()) {
    left = due
    manager.onTimeout(due)
    t.equal(manager.duties.count > 0, hasDuties(manager), `SEED=${seed}: duties`)
    drain()
  }
  t.ok(left < now + 10 * SECOND, `SEED=${seed}: timers run out`)
  t.equal(manager.nextTimeout(), Number.POSITIVE_INFINITY)
  t.equal(manager.timewaitCount, 0)
  t.equal(manager.duties.count, 0)
  return seen
}

t.test('forged, damaged and random datagrams', async t => {
  const reached = new Set<string>()
  for (const seed of fixedSeeds([1, 2, 3])) for (const kind of check(t, seed)) reached.add(kind)
  if (isReplay) return
  t.same(
    [...reached].sort(),
    ['challenged', 'connectRequest', 'disconnected', 'established', 'rejected', 'timedOut', 'timewaitEnded'],
    'they got everywhere',
  )
})

t.test('the same by seeds that nobody has tried', async t => {
  for (let i = 0; i < 3; i++) check(t, drawnSeed(t))
})
