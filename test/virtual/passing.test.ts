/** Frames that pass their switch in one step (`Switch.pass`) change nothing of a run: each result is that of a run in which all are queued. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const LINK = 'link: { rate: 10Gbps, delay: 1us }\nbaseRtt: 12us\nduration: 1ms\n'
const MIXED = '{ workload: googlerpc, load: 40%, duration: 150us }'

const CASES: Record<string, string> = {
  'queues that take turns; a link that fails, duplicates frames and changes its rate': `
hosts: [h0..h3]
switches: { s1: { scheduler: { 0: 10, 3: 20, 4: 30 } }, s2: { scheduler: { 0: 10, 3: 20, 4: 30 } }, s3: {} }
links: [h0..h1--s1, h2..h3--s2, s1--s2, s1--s3, s3--s2]
traffic:
  - ${MIXED}
  - { name: a, from: h0, to: h3, size: 200KB, start: 10us, priority: 4 }
  - { name: b, from: h1, to: h2, size: 200KB, start: 10us, priority: 3 }
events:
  - { at: 50us, link: s1--s2, down: true }
  - { at: 120us, link: s1--s2, down: false }
  - { at: 150us, link: h3--s2, rate: 1Gbps }
  - { at: 250us, link: h3--s2, reset: true, duplication: 2%, loss: 1% }
watch: { queues: [s1:s2, s2:h3], every: 700ns, flows: true }`,
  'PFC, and marking': `
hosts: [h0..h5]
switches:
  s1..s2: { buffer: 400KB, pfc: { priorities: [3], xoff: 20KB, xon: 10KB }, ecn: { kmin: 5KB, kmax: 40KB, pmax: 0.5 } }
links: [h0..h2--s1, h3..h5--s2, s1--s2]
cc: dcqcn
traffic:
  - { workload: googlerpc, load: 50%, duration: 100us, priority: 3 }
  - { name: incast, incast: [h1..h5], to: h0, size: 50KB, start: 50us, priority: 3 }
watch: { queues: [s1:h0, s2:s1], every: 1us }`,
  'large flows in a queue of their own, in whose switch no frame passes, and marking as packets leave': `
hosts: [e1..e3, m1, r]
switches: { s1: { ecn: { kmin: 20KB, kmax: 20KB, at: dequeue }, largeFlows: { size: 20KB, priority: 2 } }, s2: { ecn: { kmin: 5KB, kmax: 20KB, at: dequeue } } }
links: [e1..e3--s1, m1--s1, s1--s2, s2--r]
cc: dctcp
traffic:
  - { name: elephant, incast: [e1..e3], to: r, size: 100KB }
  - { name: mouse, from: m1, to: r, size: 10KB, start: 50us, repeat: 20, every: 20us }
watch: { queues: [s1:s2, s2:r], every: 1us }`,
  'tunnels over two paths, of which one fails': `
hosts: [h1..h6]
switches: { leaf1..leaf2: { ecn: { kmin: 50KB, kmax: 50KB, pmax: 1 } }, spine1..spine2: {} }
links: [h1..h3--leaf1, h4..h6--leaf2, leaf1--spine1, spine1--leaf2, leaf1--spine2, spine2--leaf2]
vtep: { vni: 100, ends: [leaf1, leaf2], mtu: 1600B }
cc: dctcp
traffic:
  - ${MIXED}
  - { name: a, from: h1, to: h4, size: 200KB }
events:
  - { at: 100us, link: spine1--leaf2, down: true }
  - { at: 250us, link: spine1--leaf2, down: false }
watch: { queues: [spine1:leaf2, spine2:leaf2], every: 900ns }`,
}

/** The result of a run, without what is not of the network, and the frames that passed. */
function run(text: string, mayPass: boolean) {
  const { pass } = Switch.prototype
  let passed = 0
  Switch.prototype.pass = function (now, port, frame) {
    const first = mayPass ? pass.call(this, now, port, frame) : null
    if (!mayPass) this.onFrame(now, port, frame)
    if (first !== null) passed++
    return first
  }
  try {
    const { wallSeconds: _, ...result } = new VirtualRun(parseScenario(text, 'passing.yaml')).run()
    return { result: JSON.parse(JSON.stringify(result)), passed }
  } finally {
    Switch.prototype.pass = pass
  }
}

for (const [what, text] of Object.entries(CASES)) {
  t.test(what, async t => {
    const passing = run(LINK + text, true)
    const queued = run(LINK + text, false)
    t.same(passing.result, queued.result)
    t.ok(passing.passed > 400, `${passing.passed} frames passed`)
    t.equal(queued.passed, 0)
  })
}
