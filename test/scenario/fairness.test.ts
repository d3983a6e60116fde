import t from 'tap'
import { jainIndex, mean, median, percentile } from '../../lib/scenario/result/fairness.js'

t.test("Jain's index", async t => {
  t.equal(jainIndex([5, 5, 5]), 1)
  t.equal(jainIndex([1, 0, 0, 0]), 0.25)
  t.equal(jainIndex([3, 1]), 16 / 20)
  t.ok(Number.isNaN(jainIndex([])), 'no index of nothing')
  t.ok(Number.isNaN(jainIndex([0, 0])))
})

t.test('percentiles by nearest rank', async t => {
  const values = [15, 20, 35, 40, 50]
  t.strictSame(
    [0, 0.05, 0.3, 0.4, 0.5, 1].map(p => percentile(values, p)),
    [15, 15, 20, 20, 35, 50],
  )
  t.equal(percentile([10, 9, 100, 2], 1), 100, 'sorted as numbers')
  t.equal(median([1, 2, 3, 4]), 2)
  t.ok(Number.isNaN(percentile([], 0.5)))
  t.equal(mean([1, 2, 6]), 3)
  t.ok(Number.isNaN(mean([])))
})
