/**
 * AI ECN against static thresholds in virtual time: over mice beside long flows, and then elephants, it is as good for each as the static
 * thresholds that are good for that one, and those are worse for the other.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import type { AiEcnReport } from '../../switch-emu/core/ai-ecn/ai-ecn.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const LOW_KB = 3
const HIGH_KB = 100

function runOf(thresholds: string): RunResult {
  const mice = Array.from(
    { length: 4 },
    (_, i) =>
      `  - { name: early${i}, from: m${i + 1}, to: r, size: 16KB, start: ${3 * i}us, repeat: 25, every: 20us }
  - { name: mouse${i}, from: m${i + 1}, to: r, size: 16KB, start: ${500 + 3 * i}us, repeat: 50, every: 20us }`,
  )
  const text = `
name: ai-ecn-order
link: { rate: 100Gbps, delay: 5us }
hosts: [e1..e2, m1..m4, r]
switches: { s1: { buffer: 16MB, ${thresholds}, pfc: { xoff: 300KB } } }
links: [e1..e2--s1, m1..m4--s1, s1--r]
cc: dctcp
transport: { pathMtu: 4096 }
traffic:
  - { name: beside, incast: [e1..e2], to: r, size: 7MB }
${mice.join('\n')}
  - { name: elephant, incast: [e1..e2], to: r, size: 15MB, start: 3ms }
watch: { queues: ['s1:r'], every: 20us }
`
  return new VirtualRun(parseScenario(text, 'ai-ecn-order.yaml')).run()
}

function fixed(kb: number): string {
  return `ecn: { kmin: ${kb}KB, kmax: ${kb}KB, pmax: 1 }`
}

/** 95th percentile of the mice, and the end of the elephants, ns. */
function figures({ flows }: RunResult) {
  const of = (name: string) =>
    flows
      .filter(flow => flow.name.startsWith(name))
      .map(({ fctNs }) => fctNs!)
      .sort((a, b) => a - b)
  const mice = of('mouse')
  return { mice: mice[Math.ceil(0.95 * mice.length) - 1]!, elephants: of('elephant').at(-1)! }
}

function aiEcnOf({ ports }: RunResult): AiEcnReport {
  return (ports.find(({ name }) => name === 's1:r') as unknown as { aiEcn: AiEcnReport }).aiEcn
}

t.test('thresholds follow mice and then elephants', async t => {
  const followed = runOf(`${fixed(50)}, aiEcn: {}`)
  const [ai, low, high] = [figures(followed), figures(runOf(fixed(LOW_KB))), figures(runOf(fixed(HIGH_KB)))]
  t.ok(high.mice > 1.2 * low.mice, `a low threshold is better for mice: ${low.mice} and ${high.mice} ns`)
  t.ok(
    low.elephants > 1.1 * high.elephants,
    `and worse for elephants: ${low.elephants}, ${high.elephants} ns`,
  )
  t.ok(ai.mice < 1.1 * low.mice, `mice: ${ai.mice} ns`)
  t.ok(ai.elephants < 1.1 * high.elephants, `elephants: ${ai.elephants} ns`)
  const pauses = followed.ports.reduce((sum, { pausesSent }) => sum + pausesSent, 0)
  t.equal(pauses, 0)

  const { decisions, changes, byReason } = aiEcnOf(followed)
  t.equal(changes, decisions.length)
  t.equal(byReason.model + byReason.early, changes)
  const models = decisions.map(({ model }) => model).filter(model => model !== null)
  t.ok(models.includes('mice') && models.at(-1) === 'elephants', models.join(', '))
  const rising = decisions.every(({ atNs }, i) => i === 0 || atNs > decisions[i - 1]!.atNs)
  t.ok(rising)
  // The series are the decisions over time.
  const { timesNs, values } = followed.series['kmin/s1:r.3']!
  for (const [i, at] of timesNs.entries()) {
    const last = decisions.filter(({ atNs }) => atNs < at).at(-1)
    if (decisions.some(({ atNs }) => atNs === at)) continue
    if (values[i] !== (last?.after.kminBytes ?? 50_000)) t.fail(`kmin ${values[i]} at ${at}`)
  }
})

t.test('the same seed makes the same decisions', async t => {
  const [one, other] = [
    runOf(`${fixed(50)}, aiEcn: { mode: tune }`),
    runOf(`${fixed(50)}, aiEcn: { mode: tune }`),
  ]
  t.same(aiEcnOf(one), aiEcnOf(other))
  t.ok(aiEcnOf(one).byReason.try > 2)
})
