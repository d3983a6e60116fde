/**
 * Runs of packets: a NIC that takes several packets at once does what it does with each of them alone. Harmed and forged packets
 * inside runs are counted and dropped, and their neighbours are unharmed.
 */
import t from 'tap'
import type { NicConfig } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'
import { App, memoryOf, PORT, pattern } from './pair.js'
import { RunWire } from './run-wire.js'

const BYTES = 60_000
const RECEIVE_BYTES = 8192

interface Case {
  seed: number
  family?: 4 | 6
  harm?: number
  messages?: number
  nic?: Partial<NicConfig>
  /** The bytes go the same way, but `b` asks for them by READs. */
  reads?: boolean
}

interface Outcome {
  wire: RunWire
  /** What the receiving host's memory has at the end, and what both applications learn. */
  memory: Buffer
  expected: Buffer
  left: string[]
  right: string[]
  counters: object
}

/** Sends WRITEs and SENDs of drawn lengths from `a` to `b`. */
function transfer(
  asRuns: boolean,
  { seed, family = 4, harm = 0, messages = 12, nic = {}, reads = false }: Case,
): Outcome {
  const harmsIcrcAlone = nic.withoutIcrc === true
  const wire = new RunWire({ asRuns, seed, family, harm, harmsIcrcAlone, nic: { pathMtu: 256, ...nic } })
  const left = new App(wire.a)
  const right = new App(wire.b)
  wire.b.listen(PORT, { accept: () => right })
  wire.a.connect(wire.now, wire.b.address, PORT, left)
  if (!wire.until(() => left.log.includes('established') && right.log.includes('established')))
    throw new Error(`seed ${seed}: not established`)
  const random = new Random(seed).fork('work')
  const bytes = pattern(seed, BYTES)
  const source = memoryOf(wire.a, bytes)
  const target = memoryOf(wire.b, Buffer.alloc(BYTES))
  const expected = Buffer.alloc(BYTES)
  let done = 0
  const poster = reads ? right : left
  poster.onDone = (_now, _connection, { isReceive }) => {
    if (!isReceive) done++
  }
  for (let id = 0; id < messages; id++) {
    const isSend = !reads && random.next() < 0.4
    const length = Math.floor(random.next() * (isSend ? RECEIVE_BYTES : 30_000))
    const offset = Math.floor(random.next() * (BYTES - length))
    const work = { id, region: source, offset, length }
    const remote = { remoteAddress: target.address + offset, rkey: target.key }
    if (reads) {
      const from = { remoteAddress: source.address + offset, rkey: source.key }
      poster.connection!.postSend(wire.now, {
        ...work,
        ...from,
        region: target,
        opcode: WorkOpcode.RDMA_READ,
      })
      bytes.copy(expected, offset, offset, offset + length)
      continue
    }
    if (isSend) left.connection!.postSend(wire.now, { ...work, opcode: WorkOpcode.SEND })
    else {
      left.connection!.postSend(wire.now, { ...work, ...remote, opcode: WorkOpcode.RDMA_WRITE })
      bytes.copy(expected, offset, offset, offset + length)
    }
  }
  if (!wire.until(() => done === messages)) throw new Error(`seed ${seed}: ${left.log}`)
  const { qp } = wire.b.table.flows.find(flow => flow !== null)!
  const { rx, feedback, defects } = wire.b.counters
  const counters = { rx, feedback, defects, qp: { ...qp.counters }, next: qp.nextReceiveSeq }
  return {
    wire,
    memory: Buffer.from(target.buffer!),
    expected,
    left: left.log,
    right: right.log,
    counters,
  }
}

/** The receiving end works out a window for each packet that collects telemetry, so none of these are in runs. */
const WINDOWS_HERE = 'receiver-based HPCC++'

/** How many packets travel in runs depends on the seed: only what the two have to have in common holds for all. */
const REPLAY = 'SEED replays a drawn seed'

const NICS: [string, Partial<NicConfig>][] = [
  ['HPCC++', { ackEveryPackets: 1 }],
  ['go-back-N', { ackEveryPackets: 1, recovery: 'goBackN' }],
  ['CUBIC', { ackEveryPackets: 1, cc: { name: 'cubic', options: {} } }],
  ['filled packets', { ackEveryPackets: 1, packetBytesMax: 600 }],
  ['packets without ICRC', { ackEveryPackets: 1, withoutIcrc: true }],
  [
    'carried acknowledgements',
    { ackEveryPackets: 1, carriesAcks: true, withoutIcrc: true, packetBytesMax: 600 },
  ],
  [WINDOWS_HERE, { ackEveryPackets: 1, cc: { name: 'rx-hpcc', options: {} } }],
]

for (const [name, nic] of NICS) {
  for (const family of [4, 6] as const) {
    t.test(`an ACK each: runs are the same as single packets to the byte; ${name}, IPv${family}`, async t => {
      const seed = drawnSeed(t)
      for (const harm of [0, 0.03]) {
        const single = transfer(false, { seed, family, harm, nic })
        const runs = transfer(true, { seed, family, harm, nic })
        t.ok(runs.memory.equals(runs.expected), 'all bytes are right')
        t.same(runs.right, single.right, 'the receiving application learns the same')
        t.same(runs.left, single.left, 'and so does the sending one')
        t.same(runs.counters, single.counters)
        t.equal(runs.wire.passed.length, single.wire.passed.length)
        t.ok(
          runs.wire.passed.every((packet, n) => packet.equals(single.wire.passed[n]!)),
          'both ends send the same packets',
        )
      }
    })
  }
}

for (const [name, nic] of NICS) {
  t.test(`READ responses: runs are the same as single packets to the byte; ${name}`, async t => {
    const seed = drawnSeed(t)
    for (const harm of [0, 0.03]) {
      for (const family of [4, 6] as const) {
        const single = transfer(false, { seed, family, harm, nic, reads: true })
        const runs = transfer(true, { seed, family, harm, nic, reads: true })
        t.ok(runs.memory.equals(runs.expected), 'all bytes are right')
        t.same(runs.right, single.right, 'the requesting application learns the same')
        t.same(runs.left, single.left, 'and so does the other one')
        t.same(runs.counters, single.counters)
        t.equal(runs.wire.passed.length, single.wire.passed.length)
        t.ok(
          runs.wire.passed.every((packet, n) => packet.equals(single.wire.passed[n]!)),
          'both ends send the same packets',
        )
      }
    }
  })
}

for (const [name, nic] of NICS) {
  const how = name === WINDOWS_HERE ? 'no packets are' : 'packets are'
  t.test(`${how} taken in runs; ${name}`, { skip: isReplay && REPLAY }, async t => {
    const seed = fixedSeed(t, 1)
    for (const reads of [false, true]) {
      for (const family of [4, 6] as const) {
        const { taken } = transfer(true, { seed, family, nic, reads }).wire
        t.equal(taken > 0, name !== WINDOWS_HERE, `${taken} packets in runs`)
      }
    }
  })
}

t.test(
  'most packets of long messages are taken in runs, filled ones and those without ICRC too',
  { skip: isReplay && REPLAY },
  async t => {
    const seed = fixedSeed(t, 1)
    for (const nic of [{}, { withoutIcrc: true }, { packetBytesMax: 1500 }]) {
      const { wire, memory, expected } = transfer(true, { seed, messages: 30, nic })
      const packets = wire.b.counters.rx.frames
      t.ok(wire.taken > packets / 2, `${wire.taken} of ${packets}`)
      t.ok(memory.equals(expected))
      t.equal(wire.b.counters.rx.badIcrc, 0)
    }
  },
)

t.test('one ACK stands for a run', { skip: isReplay && REPLAY }, async t => {
  const seed = fixedSeed(t, 2)
  const nic = { ackEveryPackets: 16 }
  const single = transfer(false, { seed, nic })
  const runs = transfer(true, { seed, nic })
  t.ok(runs.memory.equals(runs.expected))
  t.same(runs.right, single.right)
  t.ok(runs.wire.passed.length <= single.wire.passed.length, 'no more packets')
})

t.test('damaged and forged packets in runs: dropped and counted, and all else arrives', async t => {
  const seed = drawnSeed(t)
  for (let n = 0; n < 20; n++) {
    const { wire, memory, expected, right } = transfer(true, {
      seed: seed + n,
      family: n % 2 === 0 ? 4 : 6,
      harm: 0.05,
      nic: {
        ...{ ackEveryPackets: 16, recovery: n % 3 === 0 ? 'goBackN' : 'selective' },
        withoutIcrc: n % 5 === 0,
      },
      reads: n % 4 > 1,
    })
    t.ok(memory.equals(expected), `seed ${seed + n}: ${wire.harmed} harmed, ${wire.taken} in runs`)
    t.notOk(right.some(event => event.startsWith('closed')))
    t.equal(wire.pool.inUse, 0)
  }
})
