/** Every value alone, and every pair: the whole matrix. */
import t from 'tap'
import { drawnShare } from '../support/long.js'
import { CHOICES } from './choices.js'
import { allPairs, Judge } from './pairs.js'

const judge = new Judge(1)

t.test('every value alone', async t => {
  for (const choice of CHOICES) {
    const { findings, refused } = judge.alone(choice)
    t.equal(refused, null, choice.name)
    t.same(findings, [], choice.name)
  }
})

t.test('every pair', async t => {
  let refusals = 0
  const pairs = drawnShare(t, allPairs())
  for (const [one, other] of pairs) {
    const { findings, refused } = judge.pair(one, other)
    if (findings.length > 0) t.same(findings, [], `${one.name} and ${other.name}`)
    if (refused !== null) refusals++
  }
  t.comment(`${pairs.length} pairs, ${refusals} refused, ${judge.runs} runs`)
})
