/** Ranges of responses that are requested again: which leave, and in which order. */
import t from 'tap'
import { AskedAgain } from '../../lib/qp/responder/asked-again.js'

/** Most ranges that wait at a time. */
const RANGES_MAX = 256

/** The PSNs that are answered, in their order. */
function answers(asked: AskedAgain): number[] {
  const seqs: number[] = []
  for (; !asked.isEmpty; asked.answered()) seqs.push(asked.firstSeq)
  return seqs
}

t.test('what is asked for once more waits at its new place alone', async t => {
  const asked = new AskedAgain()
  t.ok(asked.add(0, 3))
  t.ok(asked.add(10, 11))
  t.ok(asked.add(2, 3))
  t.same(answers(asked), [0, 1, 10, 11, 2, 3])
})

t.test('a request for more than may wait takes nothing from what waits', async t => {
  const asked = new AskedAgain()
  const expected: number[] = []
  for (let range = 0; range < RANGES_MAX; range++) {
    t.ok(asked.add(10 * range, 10 * range + 1))
    expected.push(10 * range, 10 * range + 1)
  }
  t.notOk(asked.add(1, 1))
  t.same(answers(asked), expected)
})
