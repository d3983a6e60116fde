/** Streams of peers that take nothing, or send as little as they can at a time. */
import { once } from 'node:events'
import t from 'tap'
import { SHAPE, streamPair } from './virtual-pair.js'

/** Runs `act`, and returns what timers it has set. They do not run by themselves. */
function timersOf(act: () => void): { ms: number; fire: () => void }[] {
  const timers: { ms: number; fire: () => void }[] = []
  const { setTimeout } = globalThis
  globalThis.setTimeout = ((fire: () => void, ms: number) => {
    timers.push({ ms, fire })
    return setTimeout(() => {}, 0)
  }) as unknown as typeof setTimeout
  try {
    act()
  } finally {
    globalThis.setTimeout = setTimeout
  }
  return timers
}

/** An end that has read all and written all, towards a peer that has not read it. */
async function withRest() {
  const made = await streamPair()
  const { a, b, during } = made
  b.end('all that b has')
  const ended = once(a, 'end')
  a.resume()
  await during(ended)
  // As much as the peer has granted: nothing is left for the end.
  await during(
    new Promise<void>(resolve =>
      a.write(Buffer.alloc(SHAPE.segmentBytes * SHAPE.receives, 7), () => resolve()),
    ),
  )
  return made
}

t.test('a stream that was destroyed in order waits 60 s for a peer that takes nothing', async t => {
  const { a, b, elapse } = await withRest()
  const closed = once(b, 'error') as Promise<[NodeJS.ErrnoException]>
  const timers = timersOf(() => a.destroy())
  t.same(
    timers.map(({ ms }) => ms),
    [60_000],
  )
  await elapse(59e9)
  t.notOk(b.destroyed, 'the peer may still read')
  timers[0]!.fire()
  await elapse(1e9)
  t.equal((await closed)[0].code, 'WEIR_STREAM_RESET')
})

t.test('a peer that takes the rest meanwhile has all of it', async t => {
  const { a, b, elapse, during } = await withRest()
  const timers = timersOf(() => a.destroy())
  t.equal(timers.length, 1)
  await elapse(1e9)
  const pieces: Buffer[] = []
  b.on('data', piece => pieces.push(piece))
  await during(once(b, 'end'))
  const rest = Buffer.concat(pieces)
  t.equal(rest.length, SHAPE.segmentBytes * SHAPE.receives)
  await elapse(1e9)
  t.notOk(b.errored)
  timers[0]!.fire()
  t.pass('the connection has ended in order: the timer does nothing any more')
})

t.test('segments of one byte use up receives, not memory', async t => {
  const { a, b, elapse, during } = await streamPair()
  const bytes = 500
  let written = 0
  const writing = (async () => {
    for (let i = 0; i < bytes; i++) {
      await new Promise<void>(resolve => a.write(Uint8Array.of(i & 255), () => resolve()))
      written++
    }
    a.end()
  })()
  await elapse(1e9)
  t.equal(written, SHAPE.receives, 'each byte is a segment, and there are no more than the peer has receives')
  t.ok(b.readableLength <= SHAPE.receives)
  const all = Buffer.concat(await during(b.toArray()))
  await during(writing)
  t.same(
    [...all],
    Array.from({ length: bytes }, (_, i) => i & 255),
  )
})
