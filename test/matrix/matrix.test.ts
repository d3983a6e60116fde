/** A part of the matrix of options that takes some seconds; matrix.long.test.ts has the whole. See `pairs.ts`. */
import t from 'tap'
import { ccNames, ccOptions } from '../../lib/cc/catalogue.js'
import { PATH_OPTIONS } from '../../lib/cc/path-options.js'
import { TELEMETRY_OPTIONS } from '../../lib/cc/telemetry-options.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { fixedSeed } from '../support/seeds.js'
import { CHOICES, ccEffect } from './choices.js'
import { NETWORKS } from './networks.js'
import { allPairs, Judge } from './pairs.js'
import { runNetwork } from './run-network.js'

t.test('every option is looked at, but those of which somebody has said why not', async t => {
  const has = (name: string) => CHOICES.some(({ option }) => option === name)
  for (const { name } of TELEMETRY_OPTIONS) t.ok(has(`telemetry.${name}`), `telemetry.${name}`)
  for (const { name } of PATH_OPTIONS) t.ok(has(`paths.${name}`), `paths.${name}`)
  for (const controller of ccNames()) {
    for (const { name } of ccOptions(controller)) {
      const isLeftAlone = typeof ccEffect(controller, name) === 'string'
      t.equal(has(`${controller}.${name}`), !isLeftAlone, `${controller}.${name}`)
    }
  }
})

t.test('a value of each option alone: none is refused, and each has its effect', async t => {
  const judge = new Judge(1)
  const choices = CHOICES.filter(({ group }) => !['auto', 'cubic', 'rx-hpcc'].includes(group))
  for (const choice of new Map(choices.map(choice => [choice.option, choice])).values()) {
    const { findings, refused } = judge.alone(choice)
    t.equal(refused, null, choice.name)
    t.same(findings, [], choice.name)
  }
})

t.test('some pairs, drawn by seed', async t => {
  const random = new Random(fixedSeed(t, 1))
  const judge = new Judge(1)
  const pairs = allPairs()
  let refusals = 0
  for (let n = 0; n < 20; n++) {
    const [one, other] = pairs[random.below(pairs.length)]!
    const { findings, refused } = judge.pair(one, other)
    t.same(findings, [], `${one.name} and ${other.name}`)
    if (refused === null) continue
    refusals++
    t.match(refused, /no effect|only|use|not |is /, `${one.name} and ${other.name}: ${refused}`)
  }
  t.comment(`${refusals} refused, ${judge.runs} runs`)
  t.ok(refusals < 10, 'most are not refused')
})

t.test('a flow of Swift whose window is far below one packet does its work in time', async t => {
  // Its window may fall to 0.01 packets. At a packet each round trip / window it would wait for a second and more between two.
  const cc = { name: 'swift', options: { maxMdf: 0.25 } }
  const { findings } = runNetwork({
    plan: NETWORKS.blind,
    config: { ackTimeoutNs: 2 * MILLISECOND, cc },
    seed: 1,
  })
  t.same(findings, [])
})

t.test('the checkers complain', async t => {
  const findings = (more: object) =>
    runNetwork({ plan: { ...NETWORKS.shared, ...more }, config: {}, seed: 1 }).findings.join()
  t.equal(findings({}), '')
  t.match(findings({ jainLeast: 1.1 }), /the Jain index is/)
  t.match(findings({ untilNs: 100_000 }), /not been done in time/)
  const [idle] = CHOICES
  const silent = new Judge(1).alone({ ...idle!, seen: () => false })
  t.match(silent.findings.join(), /has no effect/)
})
