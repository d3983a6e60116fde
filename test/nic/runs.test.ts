/**
 * Two ends agree whether packets may leave in runs. To an end that accepts none, all packets of a connection
 * leave alone.
 */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConfig } from '../../lib/nic/config.js'
import type { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { QPN_GSI } from '../../lib/wire/ib/deth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as udp from '../../lib/wire/net/udp.js'
import { connected, frameName, makePair, memoryOf, type Pair, pattern } from './pair.js'

const BYTES = 200_000
/** One in so many packets is lost. */
const LOSES = 97
/** Bit of `features` in proto/connect.proto. */
const NO_RUNS = 4

/** Names of the packets to one end that may leave in a run, and of those that may not. */
class Passed {
  readonly joining = new Set<string>()
  readonly alone = new Set<string>()
}

/**
 * Records the packets of the connection. `change` gets those of the connection manager, which no port joins.
 */
function watched(t: Test, pair: Pair, change: (frame: Frame) => void = () => {}) {
  const passed = { toA: new Passed(), toB: new Passed() }
  let count = 0
  pair.tap.watch = (frame, _now, fromA) => {
    if (bth.destQpn(frame.view, frame.bth) === QPN_GSI) {
      if (udp.destinationPort(frame.view, frame.l4) !== udp.PORT_ROCE) t.fail('not to the port of RoCE')
      change(frame)
      return true
    }
    const to = fromA ? passed.toB : passed.toA
    const kind = frame.alone ? to.alone : to.joining
    kind.add(frameName(frame))
    return ++count % LOSES !== 0
  }
  return passed
}

/** WRITEs and READs both ways, and a SEND. Returns true once they are done and all bytes are right. */
function work(pair: Pair): boolean {
  const { left, right } = connected(pair)
  const { now } = pair.network
  const empty = () => Buffer.alloc(BYTES)
  const [inA, inB] = [memoryOf(pair.a, pattern(1, BYTES)), memoryOf(pair.b, pattern(2, BYTES))]
  const [writtenA, writtenB] = [memoryOf(pair.a, empty()), memoryOf(pair.b, empty())]
  const [readA, readB] = [memoryOf(pair.a, empty()), memoryOf(pair.b, empty())]
  const post = (
    end: typeof left,
    id: number,
    opcode: WorkOpcode,
    here: MemoryRegion,
    there: MemoryRegion,
  ) => {
    const remote = { remoteAddress: there.address, rkey: there.key }
    end.connection!.postSend(now, { id, opcode, region: here, offset: 0, length: BYTES, ...remote })
  }
  post(left, 1, WorkOpcode.RDMA_WRITE, inA, writtenB)
  post(left, 2, WorkOpcode.RDMA_READ, readA, inB)
  left.connection!.postSend(now, { id: 3, opcode: WorkOpcode.SEND, region: inA, offset: 0, length: 8000 })
  post(right, 1, WorkOpcode.RDMA_WRITE, inB, writtenA)
  post(right, 2, WorkOpcode.RDMA_READ, readB, inA)
  const isDone = () => left.log.includes('completion 3 SUCCESS') && right.log.includes('completion 2 SUCCESS')
  if (!pair.until(isDone)) return false
  pair.settle()
  const same = (copies: MemoryRegion[], of: MemoryRegion) =>
    copies.every(({ buffer }) => buffer!.equals(of.buffer!))
  return same([writtenB, readB], inA) && same([writtenA, readA], inB) && pair.pool.inUse === 0
}

const DATA = ['RC_RDMA_WRITE_MIDDLE', 'RC_RDMA_READ_RESPONSE_MIDDLE', 'RC_ACKNOWLEDGE', 'PROBE']
const CASES: [string, Partial<NicConfig>, readonly string[]][] = [
  ['as usual', {}, DATA],
  ['paths are probed', { paths: { count: 4 } }, [...DATA, 'PATH_PROBE', 'PATH_ANSWER']],
  ['probes collect', { telemetry: { collect: 'probe', answer: 'notify' } }, [...DATA, 'NOTIFY']],
  ['the receiver works windows out', { cc: { name: 'rx-hpcc', options: {} } }, [...DATA, 'RATE_REQUEST']],
  ['a key', { secret: Buffer.from('correct horse battery') }, DATA],
]

for (const [name, config, kinds] of CASES) {
  for (const [aTakes, bTakes] of [
    [true, false],
    [false, true],
    ...(name === 'as usual'
      ? ([
          [true, true],
          [false, false],
        ] as const)
      : []),
  ] as const) {
    t.test(`${name}; the active end takes runs: ${aTakes}, the passive one: ${bTakes}`, async t => {
      const pair = makePair({ a: { ...config, takesRuns: aTakes }, b: { ...config, takesRuns: bTakes } })
      const { toA, toB } = watched(t, pair)
      t.ok(work(pair))
      for (const [{ joining, alone }, takes] of [
        [toA, aTakes],
        [toB, bTakes],
      ] as const) {
        const [all, none] = takes ? [joining, alone] : [alone, joining]
        t.same([...none], [])
        t.same(
          kinds.filter(kind => !all.has(kind)),
          [],
          `among ${[...all]}`,
        )
      }
    })
  }
}

t.test('an end that says nothing of runs, as older ones, gets them', async t => {
  const pair = makePair({ a: { takesRuns: false }, b: { takesRuns: false } })
  let silenced = 0
  const { toA, toB } = watched(t, pair, frame => {
    if (frameName(frame) !== 'REQ') return
    const at = featuresAt(t, frame)
    t.equal(frame.view.getUint8(at) & NO_RUNS, NO_RUNS)
    frame.view.setUint8(at, frame.view.getUint8(at) & ~NO_RUNS)
    icrc.write(frame)
    silenced++
  })
  t.ok(work(pair))
  t.equal(silenced, 1)
  t.same([...toA.alone], [])
  t.ok(toA.joining.has('RC_RDMA_WRITE_MIDDLE'))
  t.same([...toB.joining], [], 'the other end has spoken')
})

t.test('an end that takes runs has no word for it', async t => {
  const pair = makePair()
  let seen = 0
  watched(t, pair, frame => {
    if (!['REQ', 'REP'].includes(frameName(frame))) return
    // Selective repeat, answers to path probes, one source port, numbers of windows.
    t.equal(frame.view.getUint8(featuresAt(t, frame)) & 0x1f, 27)
    seen++
  })
  connected(pair)
  t.equal(seen, 2)
})

/** Offset of `features` (field 2, a varint with its low seven bits first) in the message behind the word WEIR and a byte of length. */
function featuresAt(t: Test, frame: Frame): number {
  const message = frame.bytes.subarray(0, frame.length).indexOf('WEIR', frame.l4) + 5
  t.same([...frame.bytes.subarray(message, message + 3)], [0x08, 1, 0x10], 'version 1, then field 2')
  return message + 3
}
