/** `weir run --on veth`: the report of the others, and nothing left behind. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testStoppedRun } from './stopped-run.js'
import { noLabs, Place, SMALL } from './support.js'

const skip = noLabs()

const SCENARIO = `${SMALL}
traffic:
  - { name: there, from: h1, to: h2, size: 1MB }
  - { name: back, from: h2, to: h1, size: 500KB, start: 100ms }
watch: { queues: [s1:h2], every: 10ms }
`

t.test('every byte arrives, the report is that of a virtual run', { skip }, async t => {
  const place = new Place(t)
  const file = place.file('small.yaml', SCENARIO)
  const json = join(place.folder, 'result.json')
  const run = async (on: string) => {
    const ended = await place.weir(['run', file, '--on', on, '--seed', '5', '--json', json])
    t.equal(ended.code, 0, ended.stderr)
    return JSON.parse(readFileSync(json, 'utf8'))
  }
  const veth = await run('veth')
  const virtual = await run('virtual')
  // Whether both flows run at once for long enough to be summarised depends on the machine; how well it kept up is of real
  // time alone.
  t.type(veth.realTime.keptUp, 'boolean')
  t.same(without(Object.keys(veth), 'summary', 'realTime'), without(Object.keys(virtual), 'summary'))
  t.same(Object.keys(veth.ports[0]), Object.keys(virtual.ports[0]))
  t.same(
    Object.keys(veth.series).sort(),
    Object.keys(virtual.series)
      .filter(name => !name.startsWith('inflight'))
      .sort(),
  )
  t.match(veth, { scenario: { name: 'small' }, on: 'veth', seed: 5 })
  const told = ({ flows }: { flows: Record<string, unknown>[] }) =>
    flows.map(({ name, bytes, ackedBytes, startNs }) => ({ name, bytes, ackedBytes, startNs }))
  t.same(told(veth), told(virtual))
  for (const flow of veth.flows) t.ok(flow.fctNs > flow.idealFctNs, 'no flow beats the link')
  const port = veth.ports.find(({ name }: { name: string }) => name === 's1:h2')
  t.ok(port.txBytes > 0)
  t.equal(port.drops, 0)
  t.same(place.processes(), [])
  t.same(place.leftFiles(), [])
})

function without(names: string[], ...left: string[]): string[] {
  return names.filter(one => !left.includes(one))
}

testStoppedRun('SIGINT', 130)

t.test('weir demo takes veth where it may, and says so', { skip }, async t => {
  const place = new Place(t)
  const json = join(place.folder, 'demo.json')
  const demo = await place.weir(['demo', place.file('data', 'x'.repeat(400_000)), '--json', json])
  t.equal(demo.code, 0, demo.stderr)
  t.match(demo.stdout, /veth pairs between network namespaces.*this machine allows it/)
  t.match(JSON.parse(readFileSync(json, 'utf8')), {
    on: 'veth',
    flows: [{ digestEqual: true }, { digestEqual: true }],
  })
  t.same(place.leftFiles(), [])
})
