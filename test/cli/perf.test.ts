/** `weir perf` as a user runs it: two daemons on loopback. */
import t from 'tap'
import { type PerfFlags, requestsOf } from '../../bin/commands/perf.js'
import { perfTable } from '../../bin/commands/perf-display.js'
import { type PerfReport, reportOf } from '../../bin/commands/perf-report.js'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, Run } from '../support/daemon-process.js'
import { undocumented } from '../support/documented.js'
import { long, usual } from '../support/long.js'

// They wait more than they compute.
t.jobs = 2

const USUAL: PerfFlags = { socket: '' }

/** Measurements that last until they are ended leave CPU time to other tests. */
const SLOW = ['--line-rate', '200Mbps']

/** Two daemons for all tests that leave them as they are. */
const both = Promise.all([DaemonProcess.start(t), DaemonProcess.start(t)])

const lines = new CommandLines(t)

/** `weir perf` that ends by itself. */
const measure = (from: DaemonProcess, args: string) =>
  lines.run(['perf', ...args.split(' '), '--socket', from.socket])

/** As a process of its own. */
const perf = (t: Parameters<typeof DaemonProcess.start>[0], from: DaemonProcess, args: string) =>
  new Run(t, ['perf', ...args.split(' '), '--socket', from.socket])

/** Waits until a connection of this daemon has sent something. */
async function untilSent(daemon: DaemonProcess): Promise<void> {
  const client = await connectDaemon(daemon.socket)
  while (!(await client.status()).connections.some(({ sentBytes }) => sentBytes > 0))
    await new Promise(resolve => setTimeout(resolve, 10))
  client.close()
}

usual('bw and lat: columns, JSON, exact counts', { buffered: true }, async t => {
  const [from, to] = await both
  for (const op of ['write', 'send', 'read'] as const) {
    const args = `bw ${to.address} --op ${op} --size 10KB --iters 50 --qps 3 --depth 8 --json`
    const { code, stdout, stderr } = await measure(from, args)
    t.equal(code, 0, stderr)
    t.equal(stderr, '', 'in a pipe nothing but the outcome is said')
    const report = JSON.parse(stdout) as PerfReport
    t.match(report, {
      test: 'bw',
      op,
      host: to.address,
      size: 10_000,
      qps: 3,
      messages: 150,
      bytes: 1_500_000,
      bidirectional: false,
      remote: null,
      retransmittedBytes: Number,
      io: String,
      pathMtu: Number,
    })
    t.same(undocumented('perf.md', report), [], 'every field is in the documents')
    const { seconds, goodputBps, messagesPerSecond, latencyUs, histogram, cpuSecondsPerGB } = report
    t.ok(Math.abs(goodputBps! - (1_500_000 * 8) / seconds) < 1, 'the rate is that of bytes and seconds')
    t.ok(Math.abs(messagesPerSecond! - 150 / seconds) < 1e-3)
    const { min, p50, p90, p99, p999, p9999, max } = latencyUs!
    const times = [min, p50, p90, p99, p999, p9999, max]
    t.same(
      times,
      [...times].sort((a, b) => a - b),
      'percentiles are in order',
    )
    t.ok(min > 0)
    t.equal(
      histogram.reduce((sum, { count }) => sum + count, 0),
      150,
      'every message has its time',
    )
    t.ok(cpuSecondsPerGB!.local > 0 && cpuSecondsPerGB!.remote > 0, 'the CPU time of both ends')
  }

  const table = await perf(t, from, `lat ${to.address} --size 8 --iters 20 --histogram`).ended
  t.equal(table.code, 0, table.stderr)
  const [head, row] = table.stdout.split('\n')
  t.match(
    head!.trim().split(/ {2,}/),
    [
      '#bytes',
      '#iterations',
      't_min[usec]',
      't_max[usec]',
      't_typical[usec]',
      't_avg[usec]',
      't_stdev[usec]',
    ],
    'the columns of ib_send_lat',
  )
  t.match(row!.trim().split(/\s+/).slice(0, 2), ['8', '20'])
  t.match(table.stdout, /from .*#/, 'the histogram')

  // The other end sends from START on, until this end is done. On a busy machine none of it may be
  // acknowledged by then.
  let sentBack = 0
  for (let iterations = 300; sentBack === 0 && iterations < 50_000; iterations *= 2) {
    const counted = await measure(
      from,
      `bw ${to.address} --size 4KB --depth 4 --iters ${iterations} --bidirectional --json`,
    )
    t.equal(counted.code, 0, counted.stderr)
    const there = JSON.parse(counted.stdout) as PerfReport
    t.match(there, { messages: iterations, bytes: iterations * 4000, bidirectional: true })
    sentBack = there.remote!.messages
    t.equal(there.remote!.bytes, sentBack * 4000)
  }
  t.ok(sentBack > 0, 'the other end sent, too')

  // A busy machine may get nothing done in that time.
  const timed = await measure(from, `bw ${to.address} --size 4KB --duration 100ms --warmup 20ms --json`)
  t.equal(timed.code, 0, timed.stderr)
  const { messages, bytes, seconds } = JSON.parse(timed.stdout) as PerfReport
  t.equal(bytes, messages * 4000)
  t.ok(seconds <= 0.1)
})

long('what was not measured is not shown as 0', { buffered: true }, async t => {
  const [from, to] = await both
  // No message can return in such a short time. The same happens in a longer one if both hosts do not run.
  const never = `${to.address} --duration 1ns --warmup 0s`
  const json = await measure(from, `lat ${never} --json`)
  t.equal(json.code, 0, json.stderr)
  t.match(JSON.parse(json.stdout), {
    messages: 0,
    bytes: 0,
    goodputBps: null,
    peakBps: null,
    messagesPerSecond: null,
    latencyUs: null,
    histogram: [],
    cpuSecondsPerGB: null,
  })
  const table = await measure(from, `bw ${never} --histogram`)
  t.equal(table.code, 0, table.stderr)
  const [, row, why, rest] = table.stdout.split('\n')
  t.match(row!.trim(), /^65536 +0 +- +- +-$/)
  t.match(why, /not measured.*this host.*--duration/)
  t.match(rest, /CPU not measured/)
})

usual('a sum of which one part is not known is not known', t => {
  const [request] = requestsOf('bw', 'h', { ...USUAL, bidirectional: true })
  const latency = { count: 0, min: 0, max: 0, mean: 0, stdev: 0, p50: 0, p90: 0, p99: 0, p999: 0, p9999: 0 }
  const own = { messages: 5, bytes: 5e9, seconds: 2, goodputBps: 20e9, peakBps: 30e9 }
  const cpu = { cpuSeconds: 5, remoteCpuSeconds: 10, retransmittedBytes: 0, spuriousRetransmissions: 0 }
  const nobodys = { remoteMessages: 0, remoteBytes: 0, remoteGoodputBps: 0, remotePeakBps: 0 }
  const rest = {
    depth: 1,
    pathMtu: 4096,
    mtu: 9000,
    baseRttNs: 1000,
    io: 'x',
    controller: 'cubic',
    controllerReason: 'y',
    sealedWith: '',
    latency: { ...latency, histogram: [] },
  }
  const report = reportOf(request!, { ...own, ...cpu, ...nobodys, ...rest })
  t.match(report, {
    goodputBps: null,
    peakBps: null,
    messagesPerSecond: 2.5,
    cpuSecondsPerGB: { local: 1, remote: 2 },
    remote: { messages: 0, bytes: 0, goodputBps: null },
  })
  const lines: string[] = []
  const table = perfTable('bw', { write: line => lines.push(line) })
  table.row(report)
  table.end([report])
  t.match(lines.join(''), /65536 +5 +- +- +-\n.*not measured: the other host completed no message/)
  t.equal(lines.join('').split('\n').at(-2), ' in the clear')
  for (const [op, payload, text] of [
    ['write', 'clear', /connections sealed with b, payload in the clear: .* --op write /],
    ['read', 'clear', /payload in the clear: .* --op read /],
    ['send', 'sealed', /^ sealed with b$/],
  ] as const) {
    const sealed = reportOf({ ...request!, op }, { ...own, ...cpu, ...nobodys, ...rest, sealedWith: 'b' })
    t.match(sealed, { sealedWith: 'b', payload })
    lines.length = 0
    table.end([sealed])
    t.match(lines.join('').split('\n').at(-2), text)
  }
  t.end()
})

usual('a terminal that is narrower than a row', t => {
  const lines: string[] = []
  const table = perfTable('lat', { write: text => lines.push(...text.split('\n')) }, 40)
  const report = { size: 64, messages: 9, histogram: [{ fromUs: 1, count: 3 }] }
  const latencyUs = { min: 1, p50: 2, p90: 3, p99: 4, p999: 5, p9999: 6, max: 7, mean: 8, stdev: 9 }
  table.row({ ...report, latencyUs } as unknown as PerfReport)
  table.histogram({ ...report, latencyUs } as unknown as PerfReport)
  for (const line of lines) t.ok(line.length <= 40, line)
  const text = lines.join('\n')
  for (const name of ['#iterations', 't_min[usec]', '99.99% percentile[usec]']) t.match(text, name)
  for (const figure of ['1.00', '7.00', '6.00']) t.match(text, figure)
  t.end()
})

long('all sizes', { buffered: true }, async t => {
  const [from, to] = await both
  const all = await measure(from, `lat ${to.address} --all --iters 1 --mtu 2048 --json`)
  t.equal(all.code, 0, all.stderr)
  const reports = JSON.parse(all.stdout) as PerfReport[]
  t.same(
    reports.map(({ size }) => size),
    Array.from({ length: 23 }, (_, i) => 2 ** (i + 1)),
    'from 2 bytes to 8 MiB',
  )
  t.ok(reports.every(({ messages, pathMtu }) => messages === 1 && pathMtu === 2048))
})

usual('options that cannot be', t => {
  for (const [flags, message] of [
    [{ all: true, size: '5' }, /--size has no effect while --all measures all sizes: leave it out/],
    [{ iters: '5', duration: '1s' }, /--duration has no effect beside --iters: leave one/],
    [{ iters: '5', warmup: '1s' }, /--warmup has no effect beside --iters/],
    [{ histogram: true, json: true }, /--histogram has no effect while --json prints it anyway/],
    [
      { iters: '1e3' },
      /--iters is a whole number from 1 to 1000000000000, not "1e3": write it in decimal digits, as 1000$/,
    ],
    [{ size: '1e3' }, /--size: .*decimal digits, without an exponent/],
    [{ iters: '0' }, /--iters is a whole number/],
    [{ qps: '1001' }, /--qps/],
    [{ qps: '0x' }, /--qps/],
    [{ depth: '' }, /--depth/],
    [{ mtu: '1500' }, /--mtu is one of/],
    [{ duration: '5' }, /--duration: .*unit is missing/],
    [{ size: '-1' }, /--size: .*negative/],
  ] as const) {
    t.throws(() => requestsOf('bw', 'h', { ...USUAL, ...flags }), {
      code: 'WEIR_BAD_ARGUMENT',
      message,
    })
  }
  t.match(requestsOf('bw', 'h', USUAL), [{ size: 65_536, durationNs: 5e9, iterations: 0 }])
  t.match(requestsOf('lat', 'h', { ...USUAL, iters: '7' }), [{ depth: 1, iterations: 7, warmupNs: 0 }])
  t.end()
})

usual('mistakes, a host that refuses, and one that is not there', { buffered: true }, async t => {
  const [from] = await both
  const to = await DaemonProcess.start(t, ['--no-perf'])
  for (const [args, message] of [
    [`bw ${to.address} --op atomic`, /--op atomic is for --perftest: daemons measure write, send and read/],
    [`lat ${to.address} --qps 2`, /unknown option/],
    [`bw ${to.address} --iters 5`, /does not let itself be measured.*--no-perf.*WEIR_REJECTED/],
    ['bw ::1 --iters 5', /IPv6/],
  ] as const) {
    const { code, stdout, stderr } = await measure(from, args)
    t.equal(code, 1, args)
    t.ok(stdout.split('\n').length <= 2, `${args}: no figures`)
    t.match(stderr, message, args)
  }
  const none = await lines.run(['perf', 'bw', '127.0.0.1', '--socket', '/nowhere/s'])
  t.equal(none.code, 1)
  t.match(none.stderr, /weir daemon.*WEIR_DAEMON_UNREACHABLE/)
})

usual('Ctrl-C ends the run at both ends', { buffered: true }, async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t, SLOW), DaemonProcess.start(t, SLOW)])
  const run = perf(t, from, `bw ${to.address} --duration 60s --op send --qps 2`)
  await run.until(() => run.stdout.includes('#bytes'), 'it had begun')
  await untilSent(from)
  run.child.kill('SIGINT')
  const { code, stderr } = await run.ended
  t.equal(code, 130)
  t.match(stderr, /cancelled.*WEIR_CANCELLED/)
  const again = await measure(from, `bw ${to.address} --iters 3 --json`)
  t.equal(again.code, 0, 'both daemons go on')
  t.equal((JSON.parse(again.stdout) as PerfReport).messages, 3)
  // More runs than are served at a time. The ended ones leave their places.
  for (let i = 0; i < 4; i++) t.equal((await measure(from, `bw ${to.address} --iters 3`)).code, 0)

  const cut = perf(t, from, `bw ${to.address} --duration 60s`)
  await cut.until(() => cut.stdout.includes('#bytes'), 'it had begun')
  await untilSent(from)
  const client = await connectDaemon(to.socket)
  await client.stop()
  client.close()
  t.equal((await to.ended).code, 0)
  const ended = await cut.ended
  t.equal(ended.code, 1)
  // Which of the three reports arrives last is chance: that the run is over, that a connection is over, or
  // none.
  t.match(
    ended.stderr,
    /(ended the run|closed a connection|gave the connection up|a message ended with|answers no more).*WEIR_CONNECTION_LOST/,
  )
})

long(
  'whose output nobody reads any more: a measurement of all sizes ends early, at both ends',
  { buffered: true },
  async t => {
    const [from, to] = await both
    const run = perf(t, from, `bw ${to.address} --all --duration 500ms --warmup 0s`)
    await run.until(() => run.stdout.includes('#bytes'), 'it had begun')
    run.child.stdout!.destroy()
    t.match(await run.ended, { code: 0, stderr: '' })
    const again = await measure(from, `bw ${to.address} --iters 3 --json`)
    t.equal(again.code, 0, again.stderr)
    t.equal((JSON.parse(again.stdout) as PerfReport).messages, 3)
  },
)
