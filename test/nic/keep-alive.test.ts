/** A peer that says nothing more is noticed within the keep-alive time, also by a connection that has nothing to do. */
import t from 'tap'
import { SECOND } from '../../lib/time/nanos.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { intoCnp } from './into-cnp.js'
import { connected, frameName, makePair, type PairOptions } from './pair.js'

const KEEP = { keepAliveNs: 10 * SECOND }

/** An idle connection; packets of those ends are lost from `at` on. When each end is gone, 0 = it lives. */
function idle(options: PairOptions, silent: { a?: boolean; b?: boolean }, plain = false) {
  const pair = makePair(options)
  let questions = 0
  let isSilent = false
  pair.tap.watch = (frame, _now, fromA) => {
    if (plain) takeWordsOut(frame)
    if (frameName(frame) === 'RC_RDMA_WRITE_ONLY') questions++
    return !(isSilent && silent[fromA ? 'a' : 'b'])
  }
  const { left, right } = connected(pair)
  pair.network.runUntil(pair.network.now + 60 * SECOND)
  const before = questions
  const [livedA, livedB] = [left.closed === 0, right.closed === 0]
  isSilent = true
  const from = pair.network.now
  const gone = { a: 0, b: 0 }
  while (pair.network.now < from + 60 * SECOND) {
    pair.network.runUntil(pair.network.now + SECOND / 10)
    if (left.closed > 0) gone.a ||= pair.network.now - from
    if (right.closed > 0) gone.b ||= pair.network.now - from
  }
  return { pair, left, right, gone, lived: livedA && livedB, questions: before }
}

t.test('an idle connection lives on: the peer is asked, and answers', async t => {
  for (const plain of [false, true]) {
    const { gone, lived, questions, pair } = idle({ a: KEEP, b: plain ? {} : KEEP }, {}, plain)
    t.ok(lived)
    t.same(gone, { a: 0, b: 0 })
    // One question each 5 s keeps both ends content.
    t.ok(questions >= 11 && questions <= 26, `${questions} questions in a minute`)
    t.equal(pair.a.table.count, 1)
  }
})

t.test('both ends notice that nothing comes any more, and their places are free', async t => {
  const { gone, left, right, pair } = idle({ a: KEEP, b: KEEP }, { a: true, b: true })
  for (const end of ['a', 'b'] as const) {
    t.ok(gone[end] > 4 * SECOND && gone[end] <= 10.2 * SECOND, `${end}: ${gone[end] / SECOND} s`)
  }
  for (const { error } of [left, right]) {
    t.match(error, {
      code: 'WEIR_CONNECTION_LOST',
      message: /nothing has come from there for 10 ?s, although it was asked/,
    })
  }
  pair.settle()
  t.same([pair.a.table.count, pair.b.table.count, pair.pool.inUse], [0, 0, 0])
})

t.test('one end that is not heard: the other one notices and says so', async t => {
  const { gone, left, right } = idle({ a: KEEP, b: KEEP }, { a: true })
  t.ok(gone.b > 0 && gone.b <= 10.2 * SECOND)
  t.equal(right.error?.code, 'WEIR_CONNECTION_LOST')
  t.equal(left.closed, 1)
})

t.test(
  'CNPs without a tag keep no connection alive: switches send some in the name of the receiver',
  async t => {
    for (const secret of [undefined, Buffer.alloc(32, 3)]) {
      const key = secret && { secret }
      const pair = makePair({ a: { ...KEEP, ...key }, b: { ...key } })
      const { left } = connected(pair)
      const from = pair.network.now
      let cnps = 0
      pair.tap.watch = (frame, _now, fromA) => {
        if (fromA) return true
        intoCnp(frame)
        cnps++
        return true
      }
      pair.network.runUntil(from + 10.2 * SECOND)
      t.ok(cnps > 1, `${cnps} CNPs`)
      t.equal(pair.a.counters.rx.badIcrc ?? 0, 0)
      t.match(left.error, { code: 'WEIR_CONNECTION_LOST' })
    }
  },
)

t.test('without a keep-alive time nobody asks, and nobody notices', async t => {
  const { gone, questions } = idle({}, { a: true, b: true })
  t.same([gone, questions], [{ a: 0, b: 0 }, 0])
})
