/** A Duplex over a queue pair, in virtual time. */
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t from 'tap'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { pattern } from '../nic/pair.js'
import { drawnSeed } from '../support/seeds.js'
import { SHAPE, streamPair } from './virtual-pair.js'

async function all(stream: Readable): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  // A loop over the stream itself would destroy it, with the other direction.
  for await (const piece of stream.iterator({ destroyOnReturn: false })) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function closed(stream: Readable): Promise<void> {
  if (!stream.closed) await once(stream, 'close')
}

const noRnr = (passed: readonly string[]) => passed.filter(name => name.includes('RNR')).length

t.test('bytes arrive as they were written, both ways at once', async t => {
  const { a, b, pair, during } = await streamPair()
  const [fromA, fromB] = [pattern(1, 300_001), pattern(2, 200_003)]
  a.end(fromA)
  b.end(fromB)
  const [atB, atA] = await during(Promise.all([all(b), all(a)]))
  t.ok(atB.equals(fromA))
  t.ok(atA.equals(fromB))
  await during(Promise.all([closed(a), closed(b)]))
  t.equal(a.bytesWritten, fromA.length)
  t.equal(b.bytesRead, fromA.length)
  pair.settle()
  t.same([pair.a.memory.size, pair.b.memory.size], [0, 0], 'the memory is given back')
})

t.test('half-close: one direction ends, the other goes on', async t => {
  const { a, b, during } = await streamPair()
  a.end('question')
  t.equal(String(await during(all(b))), 'question')
  t.ok(a.writableEnded && !a.destroyed)
  if (!a.writableFinished) await during(once(a, 'finish'))
  const answer = pattern(3, 100_000)
  b.end(answer)
  t.ok((await during(all(a))).equals(answer))
})

t.test('finish means that the other end has all of it', async t => {
  const { a, b, during, elapse } = await streamPair()
  let finished = false
  a.once('finish', () => {
    finished = true
  })
  a.end(Buffer.alloc(SHAPE.receives * SHAPE.segmentBytes + 1))
  b.pause()
  await elapse(100 * MILLISECOND)
  t.notOk(finished, 'a reader that does not read has room for the receives alone')
  b.resume()
  await during(once(a, 'finish'))
})

t.test('back-pressure: what a reader does not take is bounded by memory', async t => {
  const { a, b, pair, during, elapse } = await streamPair()
  const chunk = Buffer.alloc(SHAPE.segmentBytes)
  let written = 0
  const pump = () => {
    for (let more = true; more && written < 1000; written++) more = a.write(chunk)
  }
  a.on('drain', pump)
  pump()
  await elapse(100 * MILLISECOND)
  const memory = SHAPE.receives + SHAPE.sends
  const waiting = Math.ceil((a.writableHighWaterMark + b.readableHighWaterMark) / SHAPE.segmentBytes) + 2
  t.ok(written <= memory + waiting, `${written} of 1000 segments were taken`)
  t.ok(b.bytesRead <= b.readableHighWaterMark + SHAPE.segmentBytes, 'the reader holds no more')
  b.resume()
  while (written < 1000) await elapse(MILLISECOND)
  a.end()
  await during(once(a, 'finish'))
  t.equal(b.bytesRead, 1000 * SHAPE.segmentBytes)
  t.equal(noRnr(pair.passed), 0, 'each SEND found its receive')
})

t.test('small segments towards a peer that takes no longer ones', async t => {
  const { a, b, during } = await streamPair({ bShape: { segmentBytes: 256, receives: 2, sends: 2 } })
  const [fromA, fromB] = [pattern(4, 20_001), pattern(5, 20_003)]
  a.end(fromA)
  b.end(fromB)
  const [atB, atA] = await during(Promise.all([all(b), all(a)]))
  t.ok(atB.equals(fromA) && atA.equals(fromB))
})

t.test('destroy resets: the other end learns of it', async t => {
  const { a, b, during } = await streamPair()
  a.write('some')
  const failed = once(b, 'error')
  await during(once(b, 'readable'))
  a.destroy()
  const [error] = await during(failed)
  t.match(error, { code: 'WEIR_STREAM_RESET' })
  t.ok(b.destroyed)
})

t.test('a write that is under way when the stream ends learns of it', async t => {
  const { a, b, during } = await streamPair()
  for (const stream of [a, b]) stream.on('error', () => {})
  const written = (stream: Writable) =>
    new Promise<unknown>(resolve => stream.write(pattern(1, 200_000), resolve))
  const [atA, atB] = [written(a), written(b)]
  a.destroy()
  t.match(await during(Promise.all([atA, atB])), [{ code: 'WEIR_CANCELLED' }, { code: 'WEIR_STREAM_RESET' }])
})

t.test('pipeline, an AbortSignal, and an error amid it', async t => {
  const { a, b, during } = await streamPair()
  const abort = new AbortController()
  let taken = 0
  const slow = new Writable({
    write: (chunk, _encoding, done) => {
      taken += chunk.length
      if (taken > 50_000) abort.abort()
      setImmediate(done)
    },
  })
  const sent = pipeline(Readable.from(many(1000)), a).then(
    () => 'sent',
    error => error.code,
  )
  const received = pipeline(b, slow, { signal: abort.signal }).then(
    () => 'received',
    error => error.name,
  )
  t.same(await during(Promise.all([sent, received])), ['WEIR_STREAM_RESET', 'AbortError'])
})

function* many(count: number): Generator<Buffer> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(1000, i)
}

t.test('a peer that dies is WEIR_CONNECTION_LOST', async t => {
  const { a, b, pair, during } = await streamPair()
  b.on('error', () => {})
  a.write('hello')
  await during(once(b, 'readable'))
  pair.tap.watch = () => false
  const failed = once(a, 'error')
  a.write('is anybody there?')
  const [error] = await during(failed)
  t.match(error, { code: 'WEIR_CONNECTION_LOST' })
})

t.test('random writes, reads and pauses over loss and reordering', async t => {
  const seed = drawnSeed(t)
  const random = new Random(seed)
  const rates = { loss: 0.02, duplication: 0.01, reorder: 0.02, corruption: 0.005 }
  for (let round = 0; round < 8; round++) {
    const shape = () => ({
      segmentBytes: 256 << random.below(6),
      receives: 2 + random.below(20),
      sends: 2 + random.below(20),
    })
    const lots = random.fork(`faults ${round}`)
    const faults = () => new LinkFaults(rates, () => lots.next())
    const { a, b, during } = await streamPair({
      delayNs: MILLISECOND,
      faults: { ab: faults(), ba: faults() },
      aShape: shape(),
      bShape: shape(),
    })
    const ways = await during(
      Promise.all(
        [
          [a, b],
          [b, a],
        ].map(async ([from, to]) => {
          const bytes = pattern(random.u32(), random.below(200_000))
          const digest = all(to!).then(got => got.equals(bytes))
          for (let at = 0; at < bytes.length; ) {
            const length = 1 + random.below(30_000)
            if (!from!.write(bytes.subarray(at, at + length))) await once(from!, 'drain')
            at += length
          }
          from!.end()
          return await digest
        }),
      ),
    )
    t.same(ways, [true, true], `round ${round}`)
  }
})
