/** Admission by telemetry (draft-miao-rtgwg-hpccplus, draft-02, last section) over four paths whose loads are known. */
import t from 'tap'
import { data, fourPaths, pathOf, probes, T_NS, writeTo } from './four-paths.js'
import { App, connected, type Pair, PORT, RATE_BPS } from './pair.js'

const paths = { count: 8, admission: 0.9 }

t.test('where all paths are full a flow is refused, and hears by how much', async t => {
  const net = fourPaths({ paths })
  const { left, right } = connected(net.pair)
  net.loads.splice(0, 4, 0.97, 0.95, 0.99, 0.96)
  net.passed.length = 0
  writeTo(net.pair, left, 1, Buffer.alloc(10_000))
  t.ok(net.pair.until(() => left.closed > 0 && right.closed > 0))
  t.equal(left.error?.code, 'WEIR_NOT_ADMITTED')
  const [, told] = /utilization of the least used of 8 is (\d\.\d+)/.exec(left.error!.message) ?? []
  t.ok(Math.abs(Number(told) - 0.95) < 0.03, left.error!.message)
  t.match(left.error!.message, /bound is 0\.9/)
  t.equal(data(net.passed).length, 0, 'nothing was sent')
  t.ok(left.log.includes('completion 1 WR_FLUSH_ERR'), left.log.join())
  net.pair.settle()
  t.equal(net.pair.pool.inUse, 0)
})

t.test('one path with room is enough', async t => {
  const net = fourPaths({ paths: { ...paths, count: 16 } })
  const { left } = connected(net.pair)
  net.loads.splice(0, 4, 0.97, 0.95, 0.5, 0.96)
  net.passed.length = 0
  writeTo(net.pair, left, 1, Buffer.alloc(10_000))
  t.ok(
    net.pair.until(() => left.log.includes('completion 1 SUCCESS')),
    left.log.join(),
  )
  t.ok(data(net.passed).every(({ sourcePort }) => pathOf(sourcePort) === 2))
  t.equal(left.connection!.stats.admissionDelayNs, 0)
})

function flows(pair: Pair, count: number): App[] {
  const apps: App[] = []
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  for (let n = 0; n < count; n++) {
    const app = new App(pair.a)
    pair.a.connect(pair.network.now, pair.b.address, PORT, app)
    if (!pair.until(() => app.log.includes('established'))) throw new Error(app.log.join())
    apps.push(app)
  }
  return apps
}

t.test('flows wait in their order, in a bounded queue, and go when a path has room', async t => {
  const wait = { ...paths, admissionWaitNs: 50_000_000, admissionQueue: 2, intervalNs: 100_000 }
  const net = fourPaths({ paths: wait })
  const apps = flows(net.pair, 3)
  net.loads.fill(0.95)
  const begins = apps.map(app => {
    writeTo(net.pair, app, 1, Buffer.alloc(10_000))
    net.pair.network.runUntil(net.pair.network.now + 10 * T_NS)
    return net.pair.network.now
  })
  t.ok(
    net.pair.until(() => apps[2]!.closed > 0),
    'the third finds the queue full',
  )
  t.match(apps[2]!.error, { code: 'WEIR_NOT_ADMITTED', message: /2 flows wait already/ })
  net.pair.network.runUntil(begins[0]! + 5_000_000)
  t.equal(data(net.passed).length, 0)
  const sent = probes(net.passed).length
  t.ok(
    sent < 3 * 8 * (4 + 5_000_000 / 100_000),
    `${sent} probes: one of a path in an interval while they wait`,
  )
  net.loads.fill(0.2)
  const relieved = net.pair.network.now
  const done = (app: App) => app.log.includes('completion 1 SUCCESS')
  t.ok(net.pair.until(() => done(apps[0]!)))
  t.notOk(done(apps[1]!), 'the second looks anew once the first has gone')
  t.ok(net.pair.until(() => done(apps[1]!)))
  for (const [n, app] of apps.slice(0, 2).entries()) {
    const { admissionDelayNs } = app.connection!.stats
    t.ok(admissionDelayNs >= relieved - begins[n]!, `${admissionDelayNs} ns`)
    t.ok(admissionDelayNs < wait.admissionWaitNs)
  }
})

t.test('who has waited too long is refused', async t => {
  const admissionWaitNs = 3_000_000
  const net = fourPaths({ paths: { ...paths, admissionWaitNs } })
  const [app] = flows(net.pair, 1)
  net.loads.fill(0.95)
  const began = net.pair.network.now
  writeTo(net.pair, app!, 1, Buffer.alloc(10_000))
  t.ok(net.pair.until(() => app!.closed > 0))
  t.match(app!.error, { code: 'WEIR_NOT_ADMITTED', message: /after 3ms/ })
  const waited = net.pair.network.now - began
  t.ok(waited >= admissionWaitNs && waited < admissionWaitNs + 20 * T_NS, `${waited} ns`)
  t.equal(data(net.passed).length, 0)
})

t.test('a network that tells nothing refuses nobody', async t => {
  const net = fourPaths({ paths })
  const { left } = connected(net.pair)
  net.pair.tap.watch = () => true
  writeTo(net.pair, left, 1, Buffer.alloc(RATE_BPS / 1e4))
  t.ok(net.pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.equal(left.connection!.stats.pathProbes, 8, 'one probe of a path finds that out')
})
