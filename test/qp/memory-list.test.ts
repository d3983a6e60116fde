/** Scatter/gather lists of reliable connections: pieces of a message at both ends (IBA 10.8.2, gather and scatter lists). */
import t from 'tap'
import type { MemoryPiece } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import { connected, makePair, memoryOf, type PairOptions, pattern, refusal } from '../nic/pair.js'
import { drawnSeed } from '../support/seeds.js'

const MEMORY = 40_000

/** `total` bytes cut into `count` pieces, in memory of its own each. */
function cut(
  random: Random,
  total: number,
  count: number,
  memory: () => MemoryPiece['region'],
): MemoryPiece[] {
  const cuts = Array.from({ length: count - 1 }, () => random.below(total + 1)).sort((a, b) => a - b)
  return [0, ...cuts].map((from, i) => {
    const length = (cuts[i] ?? total) - from
    return { region: memory(), offset: random.below(MEMORY - length), length }
  })
}

const bytesOf = (pieces: MemoryPiece[]) =>
  Buffer.concat(pieces.map(({ region, offset, length }) => region.buffer!.subarray(offset, offset + length)))

t.test('WRITE, READ and SEND of one to four pieces, with losses and gathering ports too', async t => {
  const random = new Random(drawnSeed(t))
  const runs = { a: { gathers: true, runPackets: 16 }, b: { runPackets: 16 } }
  const lossy = () => ({ faults: { ab: new LinkFaults({ loss: 0.02 }, () => random.next()) } })
  for (const options of [() => ({}), () => runs, lossy] as (() => PairOptions)[])
    for (let round = 0; round < 20; round++) {
      const pair = makePair({ ...options(), seed: random.u32() })
      const { left, right } = connected(pair)
      const [here, there] = [
        () => memoryOf(pair.a, pattern(random.u32(), MEMORY)),
        () => memoryOf(pair.b, Buffer.alloc(MEMORY)),
      ]
      const total = random.below(20_000)
      const post = (id: number, opcode: WorkOpcode, pieces: MemoryPiece[], more: object) => {
        const [first, ...rest] = pieces as [MemoryPiece, ...MemoryPiece[]]
        left.connection!.postSend(pair.network.now, { id, opcode, ...first, more: rest, ...more })
        return pair.until(() => left.log.includes(`completion ${id} SUCCESS`))
      }
      const sink = there()
      const to = { remoteAddress: sink.address, rkey: sink.key }
      const written = cut(random, total, 1 + random.below(4), here)
      t.ok(post(1, WorkOpcode.RDMA_WRITE, written, to))
      t.ok(sink.buffer!.subarray(0, total).equals(bytesOf(written)))
      const read = cut(random, total, 1 + random.below(4), here)
      t.ok(post(2, WorkOpcode.RDMA_READ, read, to))
      t.ok(bytesOf(read).equals(bytesOf(written)))
      // Behind the eight receives of the application is one in pieces.
      const sent = cut(random, Math.min(total, 8000), 4, here)
      const taken = cut(random, 8000, 4, there)
      const [first, ...rest] = taken as [MemoryPiece, ...MemoryPiece[]]
      right.connection!.postReceive({ id: 0, ...first, more: rest })
      for (let n = 0; n < 9; n++) t.ok(post(10 + n, WorkOpcode.SEND, sent, {}))
      const bytes = bytesOf(sent)
      t.ok(bytesOf(taken).subarray(0, bytes.length).equals(bytes))
      pair.settle()
      t.equal(pair.pool.inUse, 0)
    }
})

t.test('nothing around the pieces is written', async t => {
  const pair = makePair()
  const { left } = connected(pair)
  const source = memoryOf(pair.b, pattern(1, 1000))
  const into = memoryOf(pair.a, Buffer.alloc(MEMORY, 0x5a))
  const piece = (offset: number, length: number) => ({ region: into, offset, length })
  const from = { remoteAddress: source.address, rkey: source.key }
  const work = {
    id: 1,
    opcode: WorkOpcode.RDMA_READ,
    ...piece(10, 300),
    more: [piece(1000, 0), piece(2000, 700)],
    ...from,
  }
  left.connection!.postSend(pair.network.now, work)
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  const expected = Buffer.alloc(MEMORY, 0x5a)
  source.buffer!.copy(expected, 10, 0, 300)
  source.buffer!.copy(expected, 2000, 300, 1000)
  t.ok(into.buffer!.equals(expected))
})

t.test('what cannot be is refused, and a piece that is deregistered fails the work', async t => {
  const pair = makePair()
  const { left } = connected(pair)
  const region = memoryOf(pair.a, Buffer.alloc(100))
  const piece = { region, offset: 0, length: 10 }
  const post =
    (more: MemoryPiece[], opcode: WorkOpcode = WorkOpcode.SEND) =>
    () =>
      left.connection!.postSend(pair.network.now, {
        id: 1,
        opcode,
        ...piece,
        more,
        remoteAddress: 0,
        rkey: 0,
        compareOrAdd: 0n,
      })
  t.match(refusal(post([piece, piece, piece, piece]), 'WEIR_BAD_ARGUMENT'), /at most 4 pieces, not 5/)
  t.match(refusal(post([{ ...piece, offset: 95 }]), 'WEIR_BAD_ARGUMENT'), /piece 1, offset 95 length 10/)
  t.match(refusal(post([], WorkOpcode.FETCH_AND_ADD), 'WEIR_BAD_ARGUMENT'), /8 bytes|one piece/)
  const domain = pair.a.memory.newDomain()
  const foreign = pair.a.memory.register(Buffer.alloc(100), 100, 1, domain)
  t.match(
    refusal(post([{ region: foreign, offset: 0, length: 1 }]), 'WEIR_BAD_ARGUMENT'),
    /several protection domains/,
  )
  const gone = memoryOf(pair.a, Buffer.alloc(100))
  post([{ region: gone, offset: 0, length: 50 }])()
  pair.a.memory.deregister(gone)
  t.ok(pair.until(() => left.closed === 1))
  t.ok(left.log.includes('completion 1 LOC_PROT_ERR'))
})
