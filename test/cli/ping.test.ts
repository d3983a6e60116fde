/** `weir ping` and `weir perf --perftest` as a user runs them, both ends on loopback. */
import t, { type Test } from 'tap'
import type { PerfReport } from '../../bin/commands/perf-report.js'
import { type PingReport, tableOf } from '../../bin/commands/ping.js'
import { CommandLines } from '../support/command-lines.js'
import { Run } from '../support/daemon-process.js'
import { undocumented } from '../support/documented.js'
import { loopbackAddress } from '../support/loopback.js'

const lines = new CommandLines(t)
const run = (words: string) => lines.run(words.split(' '))

/** A command that listens, once it does. */
async function listening(t: Test, words: string): Promise<Run> {
  const started = new Run(t, words.split(' '))
  while (!started.stdout.includes('listening')) {
    if (started.child.exitCode !== null) throw new Error(started.stderr)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  return started
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 10))
}

t.test('weir ping: times, JSON, and the other end', async t => {
  const [here, there] = [loopbackAddress(), loopbackAddress()]
  const server = await listening(t, `ping --listen --address ${there}`)
  const told = await run(`ping ${there} --address ${here} -c 3 -i 0 -v`)
  t.equal(told.code, 0, told.stderr)
  t.match(
    told.stdout,
    new RegExp(`^ PING ${there} from ${here}: 64 bytes; io \\w+, MTU \\d+\n( ping \\d: .*\n){3} #bytes`),
  )
  t.match(told.stdout, /\n 64 +3 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+\n$/, 'the closing table')
  const { code, stdout, stderr } = await run(`ping ${there} --address ${here} -c 2 -i 1ms --size 5KB --json`)
  t.equal(code, 0, stderr)
  const report = JSON.parse(stdout) as PingReport
  t.match(report, { host: there, address: here, size: 5000, pings: 2, verified: false })
  t.ok(report.rttUs!.min > 0 && report.rttUs!.max >= report.rttUs!.p99)
  t.same(undocumented('interop.md', report), [])

  // Ctrl-C ends it with what was measured, as ping does.
  const client = new Run(t, `ping ${there} --address ${here} -i 1ms`.split(' '))
  await until(() => client.stdout.includes(' ping 2: '))
  client.child.kill('SIGINT')
  const ended = await client.ended
  t.equal(ended.code, 0, ended.stderr)
  t.match(ended.stdout, /#pings.*\n 64 +\d+ /)
  await until(() => server.stdout.split(`${here}: `).length > 3)
  server.child.kill('SIGINT')
  t.equal((await server.ended).code, 0)
  t.match(server.stdout, ` ${here}: 3 pings\n ${here}: 2 pings\n`)
})

t.test('the other end is gone long before the next ping', async t => {
  const [here, there] = [loopbackAddress(), loopbackAddress()]
  const server = await listening(t, `ping --listen --address ${there}`)
  const client = new Run(t, `ping ${there} --address ${here} -i 1h`.split(' '))
  await until(() => client.stdout.includes(' ping 1: '))
  server.child.kill('SIGINT')
  const { code, stdout, stderr } = await client.ended
  t.equal(code, 1, stderr)
  t.match(stderr, /^weir: .*\(WEIR_CONNECTION_LOST\)\n$/)
  t.match(stdout, /#pings.*\n 64 +1 /, 'what was measured')
})

t.test('weir perf --perftest: columns, JSON, and the other end', async t => {
  const [here, there] = [loopbackAddress(), loopbackAddress()]
  const server = await listening(
    t,
    `perf bw --listen --perftest --address ${there} --json`.replace(' --json', ''),
  )
  const both = `--perftest --address ${here}`
  const table = await run(`perf bw ${there} ${both} --iters 20`)
  t.equal(table.code, 0, table.stderr)
  t.match(table.stdout, /^ #bytes +#iterations +BW peak\[Gb\/sec\].*\n 65536 +20 +/)
  for (const op of ['write', 'send', 'read', 'atomic']) {
    const { code, stdout, stderr } = await run(
      `perf bw ${there} ${both} --op ${op} --iters 20 --rdma-cm --json`,
    )
    t.equal(code, 0, stderr)
    const report = JSON.parse(stdout) as PerfReport
    t.match(report, { test: 'bw', op, host: there, messages: 20, size: op === 'atomic' ? 8 : 65_536 })
    t.same(undocumented('perf.md', report), [])
  }
  server.child.kill('SIGINT')
  t.equal((await server.ended).code, 0)
  t.match(server.stdout, new RegExp(` ${here}: 20 of 65536 bytes, [\\d.]+ MiB/s, [\\d.]+ Mpps\n`))
})

t.test('weir perf --perftest: data both ways, and unreliable connections', async t => {
  for (const [more, says] of [
    ['--bidirectional --op send --iters 20', /^ listening for ib_send_bw -b at/m],
    ['--connection UC', /^ listening for ib_\*_bw -c UC at/m],
  ] as const) {
    const [here, there] = [loopbackAddress(), loopbackAddress()]
    const server = await listening(t, `perf bw --listen --perftest --address ${there} ${more}`)
    t.match(server.stdout, says)
    const words = `perf bw ${there} --perftest --address ${here} --json ${more}`
    const { code, stdout, stderr } = await run(
      more.includes('--iters') ? words : `${words} --op send --iters 20 --size 1000`,
    )
    t.equal(code, 0, stderr)
    const report = JSON.parse(stdout) as PerfReport
    t.equal(report.messages, 20)
    if (report.bidirectional) t.match(report.remote, { messages: 20, bytes: 20 * 65_536 })
    else t.same([report.baseRttUs, report.controller, report.remote], [null, 'none', null])
    t.same(undocumented('perf.md', report), [])
    server.child.kill('SIGINT')
    t.equal((await server.ended).code, 0)
  }
})

t.test("ping's table fits the terminal", async t => {
  const rttUs = { min: 1.5, mean: 20, p50: 20, p99: 123_456.78, max: 1e6 }
  const report = { host: 'h', address: 'a', size: 64, pings: 12, verified: false, rttUs, io: 'batch' }
  for (const columns of [32, 40, 79, 90, 200, Number.POSITIVE_INFINITY]) {
    const lines = tableOf(report, columns).trimEnd().split('\n')
    t.ok(
      lines.every(line => line.length <= columns),
      `${columns}`,
    )
  }
  t.equal(tableOf(report, 200).split('\n').length, 3)
  t.match(tableOf(report, 40), /99% percentile\[usec\]\n 64 +123456\.78\n/)
})

t.test('what is refused, and how it is said', async t => {
  const nobody = loopbackAddress()
  const here = loopbackAddress()
  const wrong: [words: string, message: RegExp][] = [
    ['ping', /name the host to ping, or --listen \(WEIR_BAD_ARGUMENT\)/],
    [`ping ${nobody} --listen`, /--listen names no host/],
    ['ping --listen --size 65', /--size has no effect/],
    [`ping ${nobody} --size 70KB`, /--size/],
    [`ping ${nobody} --address ${nobody}`, /the other end's address.*WEIR_BAD_ARGUMENT/],
    [`ping 10.1.2.3 --address ${here} -c 1`, /WEIR_/],
    [`perf bw ${nobody} --listen`, /--listen has no effect/],
    [`perf bw ${nobody} --rdma-cm`, /--rdma-cm has no effect/],
    [`perf bw ${nobody} --op atomic`, /--op atomic is for --perftest/],
    [`perf bw ${nobody} --perftest --all`, /--all has no effect/],
    [`perf lat ${nobody} --perftest --op atomic --size 16`, /an atomic has 8 bytes/],
    [`perf bw ${nobody} --perftest --telemetry hostHop=false`, /--telemetry and --paths have no effect/],
    ['perf bw --perftest', /name the host of the server, or --listen/],
    [`perf bw ${nobody} --perftest --cc-option minRate=1Mbps`, /--cc-option is of a congestion control/],
    [`perf bw ${nobody} --perftest --socket /tmp/x`, /--socket has no effect/],
    ['perf bw --listen --perftest --histogram', /--histogram has no effect/],
    [
      `perf bw --listen --perftest --size 4KiB --address ${here}`,
      /--size has no effect on a listening end up to 8 MiB/,
    ],
    [
      `perf bw --listen --perftest --op read --address ${here}`,
      /--op has no effect.*clients of every operation/,
    ],
    [`perf lat --listen --perftest --op read --address ${here}`, /--op read has no effect.*without --op/],
    [`perf bw --listen --perftest --iters 5 --address ${here}`, /--iters has no effect/],
    [`perf bw ${nobody} --perftest --bidirectional --duration 1s`, /--duration has no effect.*--iters/],
    [
      `perf bw ${nobody} --perftest --connection UC --op read`,
      /--op read: unreliable connections.*write and send/,
    ],
    [`perf bw ${nobody} --perftest --connection UC --rdma-cm`, /--connection has no effect/],
    [`perf bw ${nobody} --connection UC`, /--connection has no effect/],
    [`perf bw weir://${nobody}:4791 --perftest`, /names a daemon: give the host alone.*WEIR_BAD_ARGUMENT/],
    [`ping weir://${nobody}:4791`, /names a daemon: give the host alone.*WEIR_BAD_ARGUMENT/],
    ['perf bw', /name the host to measure to/],
    [
      `perf bw ${nobody} --perftest --address ${here}`,
      /TCP port 18515 \(ECONNREFUSED\).*\(WEIR_UNREACHABLE\)/,
    ],
  ]
  for (const [words, message] of wrong) {
    const { code, stderr } = await run(words)
    t.equal(code, 1, words)
    t.match(stderr, message)
  }
})
