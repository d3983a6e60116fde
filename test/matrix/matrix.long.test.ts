/** Every value alone, and every pair: the whole matrix. */
import t from 'tap'
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
  for (const [one, other] of allPairs()) {
    const { findings, refused } = judge.pair(one, other)
    if (findings.length > 0) t.same(findings, [], `${one.name} and ${other.name}`)
    if (refused !== null) refusals++
  }
  t.comment(`${allPairs().length} pairs, ${refusals} refused, ${judge.runs} runs`)
})
