/** One scenario in virtual time, in the overlay and on veth: the same flows, bytes, completions, ports, report. */
import t from 'tap'
import { comparable, completions, portsOf, REAL_TIME, runOn, SEED, shape, type Where } from './run-on.js'

const YAML = `
name: parity
link: { rate: 50Mbps, delay: 1ms }
hosts: [h1, h2, h3]
switches:
  s1: { buffer: 4MB, ecn: { kmin: 100KB, kmax: 400KB, pmax: 0.2 } }
  s2: { buffer: 4MB, ecn: { kmin: 100KB, kmax: 400KB, pmax: 0.2 } }
links: [h1--s1, h2--s1, s1--s2, s2--h3]
cc: { name: hpcc, eta: 0.95, flows: 10 }
transport: { pathMtu: 4096 }
traffic:
  - { name: flow0, from: h1, to: h3, size: 2MB }
  - { name: flow1, from: h2, to: h3, size: 1MB, start: 50ms }
  - { name: back, from: h3, to: h1, size: 300001B, start: 100ms }
watch: { queues: [s1:s2], every: 10ms }
`

/** Tests that these places report what virtual time does. */
export async function dumbbell(...places: Where[]): Promise<void> {
  const virtual = await runOn(t, YAML, 'virtual')
  for (const { on, skip } of REAL_TIME.filter(({ on }) => places.includes(on))) {
    t.test(`${on} reports what virtual time does`, { skip }, async t => {
      const real = await runOn(t, YAML, on)
      t.match(real, { on, seed: SEED, scenario: { name: 'parity' } })
      t.same(completions(real), completions(virtual))
      t.same(portsOf(real), portsOf(virtual))
      // Only real time shows how well the machine kept up.
      const { realTime, ...rest } = comparable(real)
      t.type(realTime?.keptUp, 'boolean')
      t.same(shape(rest), shape(comparable(virtual)))
      t.same(Object.keys(rest), Object.keys(comparable(virtual)))
      t.same(
        real.ports.map(({ drops }) => drops),
        virtual.ports.map(() => 0),
      )
      for (const [i, flow] of real.flows.entries()) {
        t.ok(flow.fctNs! > flow.idealFctNs, `${flow.name} is no faster than the links`)
        // A busy machine takes its time; `npm run bench -- parity` says how long on a quiet one.
        t.comment(`${flow.name}: ${(flow.fctNs! / virtual.flows[i]!.fctNs!).toFixed(3)} of the virtual time`)
      }
      const bottleneck = real.ports.find(({ name }) => name === 's1:s2')!
      t.ok(bottleneck.txBytes > 3_000_000, 'all of both flows is counted, however busy the machine')
      t.equal(real.series['queue/s1:s2']!.timesNs[0], 0)
    })
  }
}
