/** A program that changes the options of a scenario between two runs gets what a new scenario with those options gets. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

/** Two flows into one link. One has a controller of its own. */
const TEXT = `
link: { rate: 10Gbps, delay: 2us }
hosts: [h0..h2]
switches: [s1]
links: [h0..h2--s1]
cc: { name: hpcc, eta: 0.95, lossReaction: true, lossBeta: 0.5 }
traffic:
  - { from: h0, to: h2, size: 300KB }
  - { from: h1, to: h2, size: 300KB, cc: { name: hpcc, eta: 0.9 } }
`
const scenarioOf = () => parseScenario(TEXT, 'own.yaml')

t.test('options that a caller changes between two runs', async t => {
  const scenario = scenarioOf()
  const before = new VirtualRun(scenario).run()
  const all = [scenario, scenarioOf()].map(one => {
    one.cc.options.eta = 0.5
    one.flows[1]!.cc!.options.eta = 0.6
    return new VirtualRun(one).run()
  })
  t.same(all[0]!.flows, all[1]!.flows)
  t.notSame(all[0]!.flows, before.flows, 'and they have an effect')
  t.equal(scenario.cc.options.eta, 0.5, 'the scenario is still what the caller has made of it')
})

t.test('options that a caller changes after the run was made', async t => {
  const scenario = scenarioOf()
  const run = new VirtualRun(scenario)
  scenario.cc.options.eta = 0.5
  t.same(run.run().flows, new VirtualRun(scenarioOf()).run().flows)
})
