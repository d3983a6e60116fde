/** A least value above the greatest one: refused with both values, wherever users set them. */
import t from 'tap'
import { ccBounds, ccNames, ccOptions, createCongestionControl } from '../../lib/cc/catalogue.js'
import { checkController } from '../../lib/cc/check-controller.js'
import { isNumber } from '../../lib/options/option.js'
import { checkProblems } from '../scenario/problems-at.js'

const MTU = 1024
const check = (name: string, options: Record<string, number>) => () =>
  checkController({ name, options }, 10e9, MTU)

const CROSSED: [string, Record<string, number>, RegExp][] = [
  [
    'dctcp',
    { minWindow: 100, maxWindow: 10_000 },
    /minWindow is 100 packets of 1024 bytes, more than maxWindow, 10KB: lower minWindow, or raise maxWindow/,
  ],
  ['dctcp', { maxWindow: 2 * MTU - 1 }, /minWindow is 2 packets of 1024 bytes, more than maxWindow, 2047B/],
  ['dctcp', { initialWindow: 10, maxWindow: 10 * MTU - 1 }, /initialWindow is 10 packets/],
  ['cubic', { minWindow: 5, maxWindow: 5000 }, /minWindow is 5 packets/],
  ['cubic', { hystartRttLeast: 17e6 }, /hystartRttLeast is 17ms, more than hystartRttMost, 16ms/],
  ['auto', { hystartRttMost: 1e6 }, /hystartRttLeast is 4ms, more than hystartRttMost, 1ms/],
  ['swift', { minCwnd: 2.5, maxWindow: 2000 }, /minCwnd is 2.5 packets/],
  ['timely', { tLow: 2000, tHigh: 1000 }, /tLow is 2us, more than tHigh, 1us/],
]

t.test('a least that is more than the most is refused, with what to do', async t => {
  for (const [name, options, message] of CROSSED)
    t.throws(
      check(name, options),
      { code: 'WEIR_BAD_ARGUMENT', message },
      `${name} ${JSON.stringify(options)}`,
    )
})

t.test('as much is not more, and the default of a beginning gives way', async t => {
  t.doesNotThrow(check('dctcp', { minWindow: 10, maxWindow: 10 * MTU }))
  t.doesNotThrow(check('cubic', { maxWindow: 2 * MTU }), 'ten packets to begin with are its default')
  t.doesNotThrow(check('timely', { tLow: 900_000 }), 'tHigh follows')
  t.doesNotThrow(check('swift', { maxWindow: 10 }))
})

t.test('where packets turn out longer, connections are made all the same', async t => {
  const context = { lineRateBps: 10e9, baseRttNs: 1e5, mtuBytes: 4096 }
  t.doesNotThrow(() => createCongestionControl('dctcp', context, { maxWindow: 2 * MTU }))
})

t.test('each pair is of numbers that the controller has', async t => {
  for (const name of ccNames()) {
    for (const { least, most } of ccBounds(name)) {
      const specs = [least, most].map(wanted => ccOptions(name).find(spec => spec.name === wanted))
      t.ok(
        specs.every(spec => spec !== undefined && isNumber(spec)),
        `${name}: ${least}, ${most}`,
      )
    }
  }
})

t.test('a scenario file shows the place, also for a flow of its own', async t => {
  const base = 'hosts: [h1, h2]\nlinks: [h1--h2]\ntransport: {pathMtu: 512}\n'
  const ofFlow = 'traffic: [{from: h1, to: h2, size: 1MB, cc: {name: swift, minCwnd: 4, ¦maxWindow: 2KB}}]'
  checkProblems(t, base, [
    [
      'cc: {name: dctcp, ¦maxWindow: 1KB}',
      [/dctcp: minWindow is 2 packets of 512 bytes, more than maxWindow/],
    ],
    [ofFlow, [/swift: minCwnd is 4 packets of 512 bytes/]],
  ])
})
