/** A daemon that answers clients of perftest beside everything else: of all tests at one port, none of which says what it is. */
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { runClient } from '../../lib/interop/perftest/perftest-client.js'
import { OPS } from '../../lib/interop/perftest/tests.js'
import { open } from '../host/hosts.js'
import { errorOf, start } from './hosts.js'

const PORT = 18_515

async function serving(t: Test, worker: boolean) {
  const [there, here] = await Promise.all([start(t, worker, { perftestPort: PORT }), open(t)])
  const remote = there.options.address
  const run = (more: object) =>
    runClient(here, remote, {
      ...{ test: 'bw', op: 'write', port: PORT, byManager: false, size: 4096, iterations: 100 },
      ...{ durationNs: 0, qps: 1, depth: 16, signal: new AbortController().signal },
      ...more,
    })
  return { there, remote, run }
}

for (const worker of [true, false]) {
  t.test(`all tests, ${worker ? 'on a thread of its own' : "on the daemon's"}`, async t => {
    const { there, run } = await serving(t, worker)
    let clients = 0
    for (const byManager of worker ? [false, true] : [false])
      for (const test of ['bw', 'lat'] as const)
        for (const op of OPS) {
          const size = op === 'atomic' ? 8 : test === 'bw' ? 4096 : 2
          const qps = test === 'bw' && !byManager ? 2 : 1
          const { messages } = await run({ test, op, byManager, size, qps })
          t.equal(messages, 100 * qps, `${test} ${op}${byManager ? ' by the connection manager' : ''}`)
          clients++
        }
    const { messages } = await run({ op: 'send', size: 64, depth: 1 })
    t.equal(messages, 100, 'bw send on one queue pair, one message at a time')
    // The daemon hears of the end of the last one a little later than the client.
    let status = await there.client.status()
    while (status.perftestClients > 0) status = await there.client.status()
    t.match(status, {
      ...{ perftestPort: PORT, perftestServed: clients + 1, perftestLeftEarly: 0, perftestTurnedAway: 0 },
    })
    const reply = await there.client
      .perf({ host: there.options.address, test: 'bw', op: 'write' })
      .catch(e => e)
    t.ok(reply, 'the daemon lives')
  })
}

t.test('several clients at a time, and none too many', async t => {
  const { there, run } = await serving(t, true)
  const ended = new AbortController()
  let measuring = 0
  const long = { iterations: 0, durationNs: 60e9, signal: ended.signal, onMeasuring: () => measuring++ }
  const clients = Array.from({ length: 4 }, () => run(long).catch(error => error.code))
  while (measuring < 4) await new Promise(resolve => setTimeout(resolve, 10))
  t.equal((await there.client.status()).perftestClients, 4)
  t.equal((await errorOf(run({}))).code, 'WEIR_CONNECTION_LOST')
  ended.abort('SIGINT')
  t.same(await Promise.all(clients), Array(4).fill('WEIR_CANCELLED'))
  while ((await there.client.status()).perftestClients > 0)
    await new Promise(resolve => setTimeout(resolve, 10))
  t.equal((await run({})).messages, 100, 'there is room again')
  while ((await there.client.status()).perftestClients > 0)
    await new Promise(resolve => setTimeout(resolve, 10))
  t.match(await there.client.status(), { perftestServed: 1, perftestLeftEarly: 4, perftestTurnedAway: 1 })
})

t.test('where it cannot answer it does not start', async t => {
  const taken = createServer()
  const { address } = (await start(t, false)).options
  await new Promise<void>(resolve => taken.listen(PORT, address, resolve))
  t.teardown(() => taken.close())
  const more = { perftestPort: PORT, address, port: 4801 }
  const error = await errorOf(start(t, true, more))
  t.match(error, {
    code: 'WEIR_BAD_ARGUMENT',
    message: new RegExp(`TCP port ${PORT} of ${address} .*EADDRINUSE`),
  })
  const secret = new Uint8Array(32).fill(1)
  const refused = await errorOf(start(t, true, { perftestPort: PORT, secret }))
  t.match(refused, { code: 'WEIR_BAD_ARGUMENT', message: /--perftest has no effect with --key-file/ })
})

t.test('a daemon ends while a client measures', async t => {
  const { there, run } = await serving(t, true)
  let measuring = false
  const more = {
    iterations: 0,
    durationNs: 600e9,
    onMeasuring: () => {
      measuring = true
    },
  }
  const failed = errorOf(run(more))
  while (!measuring) await new Promise(resolve => setTimeout(resolve, 10))
  await there.daemon.close()
  t.match((await failed).code, /WEIR_CONNECTION_LOST|WEIR_UNREACHABLE/)
  const status = await errorOf(there.client.status())
  t.equal(status.code, 'WEIR_DAEMON_UNREACHABLE')
})
