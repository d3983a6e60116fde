/**
 * Scenarios with checked and authenticated feedback: hosts believe true feedback, in every mode, and a key
 * changes no path.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { usual, variants } from '../support/long.js'

/** Three senders over two switches, then a pause of more than a wrap of compact stamps, then they send again. */
const text = (more: string) => `
hosts: [a, b, c, d]
switches: [s1, s2]
link: { rate: 40Gbps, delay: 2us }
links: [a--s1, b--s1, c--s1, s1--s2, s2--d]
traffic:
  - { name: f1, from: a, to: d, size: 1MB }
  - { name: f2, from: b, to: d, size: 1MB, start: 100us }
  - { name: f3, from: c, to: d, size: 500KB, start: 150us }
  - { name: f4, from: a, to: d, size: 250KB, start: 40ms }
${more}`

function run(more: string) {
  const run = new VirtualRun(parseScenario(text(more), 'test.yaml'))
  const result = run.run()
  const hosts = run.hostRxCounters
  const sum = (of: (host: (typeof hosts)[number]) => number) => hosts.reduce((n, host) => n + of(host), 0)
  return {
    fcts: result.flows.map(({ fctNs }) => fctNs),
    frames: sum(host => host.frames),
    implausible: sum(host => host.implausibleTelemetry + host.feedback.implausibleTelemetry),
    refused: sum(host => host.untaggedFeedback + host.forgedFeedback + host.replayedFeedback),
  }
}

const MODES: [string, string][] = [
  ['wide', ''],
  ['compact', 'int: { format: compact }'],
  ['INT-MD', 'int: { format: p4-int-md }'],
  ['IFA', 'int: { format: ifa }'],
  ['IOAM', 'int: { format: ioam }'],
  ['the busiest hop alone', 'telemetry: { hops: busiest }'],
  ['notifications', 'telemetry: { answer: notify }'],
  ['probes', 'telemetry: { collect: probe, probeShare: 1 }'],
  ['some packets', 'telemetry: { everyPackets: 7 }'],
  ['receiver-based', 'cc: rx-hpcc'],
]

const lastOf = (fcts: (number | null)[]) => fcts.at(-1)!

for (const [name, more] of variants(MODES, 1)) {
  t.test(`${name}: nothing is taken for a lie or a forgery`, async t => {
    const plain = run(more)
    const keyed = run(`${more}\ntransport: { key: correct horse battery staple }`)
    for (const { implausible, refused, frames, fcts } of [plain, keyed]) {
      t.same([implausible, refused], [0, 0])
      t.ok(frames > 2500, `${frames} frames`)
      t.notOk(fcts.includes(null), 'all flows end')
    }
    // How the three share the link is chance, but the time at which they have sent everything is not. The
    // fourth has it for itself.
    for (const of of [
      (fcts: (number | null)[]) => Math.max(fcts[0]!, fcts[1]! + 100e3, fcts[2]! + 150e3),
      lastOf,
    ]) {
      const ratio = of(keyed.fcts) / of(plain.fcts)
      t.ok(ratio > 0.95 && ratio < 1.05, `${ratio} of the time without a key`)
    }
  })
}

usual(
  'shares that deficit round robin guarantees are exceeded while others are idle, and that is no lie',
  async t => {
    const text = `
hosts: [a, b]
switches: { s: { scheduler: { 3: 20, 5: 80 }, telemetry: { rate: share } } }
link: { rate: 10Gbps, delay: 2us }
links: [a--s, b--s]
traffic: [{ name: f, from: a, to: b, size: 1MB, priority: 3 }]`
    const strict = parseScenario(`${text}\ntelemetry: { loadMax: 1 }`, 'test.yaml')
    const scenario = parseScenario(text, 'test.yaml')
    t.same([strict.telemetry.loadMax, scenario.telemetry.loadMax], [1, 1000])
    const run = new VirtualRun(scenario)
    run.run()
    for (const host of run.hostRxCounters) t.equal(host.implausibleTelemetry, 0)
  },
)
