import t from 'tap'
import { differences } from './differences.js'

const RESULT = {
  version: '1.0.0',
  scenario: { file: '/a.yaml' },
  flows: [
    { name: 'f1', bytes: 5 },
    { name: 'f2', bytes: 7 },
  ],
  series: { queue: [0, 1, 2] },
  wallSeconds: 1.5,
}

t.test('equal results do not differ', async t => {
  t.same(differences(RESULT, structuredClone(RESULT)), { count: 0, first: null })
})

t.test('the machine, the time and the place of the program are no results', async t => {
  const elsewhere = {
    ...RESULT,
    version: '1.0.1',
    scenario: { file: '/b.yaml' },
    wallSeconds: 9,
    machine: {},
    command: ['weir'],
  }
  t.same(differences(RESULT, elsewhere), { count: 0, first: null })
})

t.test('each number that differs is counted, and the first is named', async t => {
  const after = structuredClone(RESULT)
  after.flows[1]!.bytes = 8
  after.series.queue = [0, 1, 3]
  t.same(differences(RESULT, after), { count: 2, first: 'flows[1].bytes: 7 and 8' })
})

t.test('what is missing on either side differs', async t => {
  const shorter = { ...RESULT, series: { queue: [0, 1] } }
  t.same(differences(RESULT, shorter), { count: 1, first: 'series.queue[2]: 2 and nothing' })
  t.same(differences(shorter, RESULT), { count: 1, first: 'series.queue[2]: nothing and 2' })
  t.same(differences({ a: 0 }, { a: null }), { count: 1, first: 'a: 0 and null' })
  t.same(differences({ a: {} }, { a: [] }), { count: 1, first: 'a: {} and []' })
})

t.test('a member of a flow is compared whatever its name is', async t => {
  t.equal(differences({ flows: [{ version: 1 }] }, { flows: [{ version: 2 }] }).count, 1)
})
