/** What commands show on a terminal while they work, however wide it is. */
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { cancelledText } from '../../bin/commands/cancel.js'
import { demoDisplay } from '../../bin/commands/demo-display.js'
import { print as printDiagnosis } from '../../bin/commands/doctor.js'
import { intervalDisplay, perfTable } from '../../bin/commands/perf-display.js'
import type { PerfReport } from '../../bin/commands/perf-report.js'
import { runProgress } from '../../bin/commands/run-progress.js'
import { scenarioList } from '../../bin/commands/scenario-list.js'
import { summary } from '../../bin/commands/transfer.js'
import { howItGoes, transferDisplay } from '../../bin/commands/transfer-display.js'
import type { FileReport } from '../../bin/commands/transfer-item.js'
import { valuesOf } from '../../bin/commands/value-options.js'
import { liveLines } from '../../bin/progress/live-lines.js'
import { StatusLine } from '../../bin/progress/status-line.js'
import { timeLeft } from '../../bin/progress/time-left.js'
import { waiting } from '../../bin/progress/waiting.js'
import type { PerfRequest, Progress, TransferInfo } from '../../lib/client/daemon-client.js'
import type { PortResult } from '../../lib/scenario/result/result.js'
import { widthOf } from '../../lib/text-width.js'
import { SECOND } from '../../lib/time/nanos.js'
import { RETRIES } from '../../lib/transfer/transfer-options.js'
import type { Diagnosis } from '../../switch-emu/lab/doctor.js'
import type { RunView } from '../../switch-emu/results/run-view.js'

/** A stream that reports a terminal of this width, and the text that was written to it. */
function terminal(columns = 80) {
  const stream = new PassThrough() as PassThrough & { isTTY: boolean; columns: number }
  stream.isTTY = true
  stream.columns = columns
  let text = ''
  stream.setEncoding('utf8').on('data', piece => {
    text += piece
  })
  const lines = () =>
    stripVTControlCharacters(text)
      .split(/[\r\n]+/)
      .filter(line => line !== '')
  return { stream: stream as unknown as NodeJS.WriteStream & { columns: number }, text: () => text, lines }
}

const WIDTHS = [20, 25, 40, 60, 80, 120, 200]

const VIEW: RunView = {
  on: 'virtual',
  timeNs: 2.5 * SECOND,
  done: 3,
  flows: 16,
  ackedBytes: 610_000_000,
  bytes: 1_000_000_000,
}

t.test('a run: what it waits for, then how much is done, and nothing in the end', async t => {
  const { stream, text, lines } = terminal(100)
  const progress = runProgress(stream)!
  progress.wait('the network comes up')
  t.same(lines(), ['the network comes up'])
  progress.show(VIEW)
  const [, line = ''] = lines()
  t.match(line, /^█+░+ {3}61% {2}610MB of 1GB {2}/)
  for (const part of ['at 2.5s', '3/16 flows', '- left']) t.match(line, part)
  t.notMatch(line, 'real time', 'how fast it goes is not known yet')
  progress.stop()
  // Erase below (ECMA-48, 8.3.39), from the beginning of the line.
  t.ok(text().endsWith('\r\u001b[J'), 'the line is cleared')
  progress.stop()
  // Not \u001b[?25l (hide the cursor) nor any other mode.
  t.notMatch(text(), '\u001b[?', 'the terminal is left as it was')
})

t.test('a run that has a duration is as far as its time, if that is further', async t => {
  const { stream, lines } = terminal(100)
  const progress = runProgress(stream)!
  progress.show({ ...VIEW, durationNs: 10 * SECOND })
  progress.stop()
  t.match(lines()[0], / 61% /)
  const later = terminal(100)
  const other = runProgress(later.stream)!
  other.show({ ...VIEW, ackedBytes: 0, durationNs: 10 * SECOND, on: 'overlay' })
  other.stop()
  t.match(later.lines()[0], / 25% {2}0B of 1GB /)
  t.notMatch(later.lines()[0], /real time/, 'where time is real')
})

t.test('a run in a pipe, or on a terminal that cannot write over lines, is silent', async t => {
  t.equal(runProgress(new PassThrough() as unknown as NodeJS.WriteStream), null)
  const { TERM } = process.env
  process.env.TERM = 'dumb'
  t.teardown(() => {
    if (TERM === undefined) delete process.env.TERM
    else process.env.TERM = TERM
  })
  t.equal(runProgress(terminal().stream), null)
})

t.test('every line fits every width, and leaves out what matters least', async t => {
  const file = { ...MOVING, bytes: 98_765_000, totalBytes: 98_930_000_000, retransmittedBytes: 155_640_000 }
  const shown = (columns: number) => {
    const { stream, lines } = terminal(columns)
    const progress = runProgress(stream)!
    progress.show(VIEW)
    progress.stop()
    for (const name of ['n'.repeat(255), 'a\nb', '文件名称'.repeat(20), 'e\u0301'.repeat(99)]) {
      const display = transferDisplay(name, stream)!
      display.show(file)
      display.stop()
      const lost = transferDisplay(name, stream)!
      lost.show({ ...MOVING, state: 'waiting', retry: 1, retryInMs: 1400 })
      lost.stop()
    }
    waiting('a lab with a long name comes up: 16 hosts, 8 switches', stream)()
    const perf = intervalDisplay({ size: 65_536 } as PerfRequest, stream)!
    perf.show({ ...MOVING, rttNs: 123_456, state: 'measuring' })
    perf.stop()
    return lines()
  }
  for (const columns of WIDTHS) {
    const lines = shown(columns)
    t.equal(lines.length, 11)
    const most = Math.max(20, columns - 2) - 1
    for (const line of lines) t.ok(widthOf(line) <= most, `${columns}: ${line}`)
    const [run = '', transfer = ''] = lines
    t.match(run, / 61%/)
    t.match(transfer, / 0%/)
    t.equal(/█/.test(run), columns >= 40, `${columns}: ${run}`)
    t.equal(/flows/.test(run), columns >= 60)
  }
  t.match(shown(200)[0], /^█{31}░{19} /, 'a bar of 50')
  t.match(
    shown(200)[1],
    /\dh \d+min left {2}98\.77MB of 98\.93GB {2}queue 5KB {2}retransmitted 155\.6MB {2}cubic$/,
  )
})

t.test('the time that is left, for people', async t => {
  const cases = [
    [null, '-'],
    [0.2, '1s'],
    [119.5, '120s'],
    [120, '2min'],
    [7199, '120min'],
    [7200, '2h 0min'],
    [19_766, '5h 30min'],
  ] as const
  for (const [seconds, text] of cases) t.equal(timeLeft(seconds), `${text} left`)
})

t.test('a terminal that becomes narrower or wider: rows that it has broken are cleared', async t => {
  const { stream, text } = terminal(80)
  const lines = liveLines(stream)!
  lines.drawNow(columns => ['x'.repeat(columns), 'y'])
  stream.columns = 30
  const before = text().length
  lines.drawNow(columns => ['x'.repeat(columns)])
  // 77 columns have become three rows, and there is one of y: up by three.
  t.equal(text().slice(before), `\r\u001b[3A${'x'.repeat(27)}\u001b[K\u001b[J`)
  lines.close()
})

t.test('figures that become shorter move nothing', async t => {
  const line = new StatusLine()
  const at = (text: string) =>
    line.layout(60, {
      share: 0.5,
      parts: [
        { text, rank: 0 },
        { text: 'end', rank: 1 },
      ],
    })
  const place = at('100.5MB').indexOf('end')
  t.equal(at('1MB').indexOf('end'), place)
  t.equal(at('12.5MB').indexOf('end'), place)
})

function demoOf(stream: NodeJS.WriteStream) {
  const sizes = [98_930_000, 98_930_000]
  return demoDisplay(
    {
      transfers: ['h1', 'h2'].map(from => ({ from, to: 'h3', path: 'x', name: from, startMs: 0 })),
      sizes,
      bottleneck: 's1:s2',
      queueBytesFull: 100_000,
    },
    stream,
  )
}

const DEMO_VIEW = {
  seconds: 2,
  transfers: [
    {
      bytes: 89_660_000,
      totalBytes: 98_930_000,
      goodputBps: 45_340_000,
      state: 'sending',
      files: 0,
      totalFiles: 0,
      sealedWith: '',
    } as Progress,
    null,
  ],
  ports: [{ name: 's1:s2', maxQueueBytes: 475_780, ecnMarks: 1234, drops: 100 } as PortResult],
  queueBytes: [412_630],
}

t.test('the demo: a line for each transfer and one for the queue, which stay', async t => {
  for (const columns of WIDTHS) {
    const { stream, text, lines } = terminal(columns)
    const display = demoOf(stream)
    display.show(DEMO_VIEW)
    display.close()
    t.ok(text().endsWith('\n'))
    for (const line of lines()) t.ok(widthOf(line) < columns, `${columns}: ${line}`)
    if (columns < 80) continue
    t.match(lines()[0], /^h1-h3 {2}█+░+ {3}90% {2}89\.66MB of 98\.93MB {2}at 45\.34Mbps$/)
    t.match(lines()[1], /^h2-h3 {2}░+ {2}waits$/)
    t.match(lines()[2], /^s1:s2 {2}█+ {2}queue 412\.6KB {2}peak 475\.8KB {2}1234 marks {2}100 drops$/)
  }
})

t.test('the demo in a pipe: no rate of what has ended', async t => {
  const stream = new PassThrough()
  const settings = {
    transfers: [{ from: 'h1', to: 'h3', path: 'x', name: 'h1', startMs: 0 }],
    sizes: [1_000_000],
    bottleneck: 's1:s2',
    queueBytesFull: 100_000,
  }
  const ended = {
    bytes: 1_000_000,
    totalBytes: 1_000_000,
    goodputBps: 4_112_000,
    state: 'streaming',
    files: 0,
    totalFiles: 0,
    sealedWith: '',
  }
  const view = { seconds: 2.1, transfers: [ended as Progress], ports: [], queueBytes: [] }
  demoDisplay(settings, stream as unknown as NodeJS.WriteStream).show(view)
  t.equal(String(stream.read()), '  2.1 s  h1-h3 100% 1MB of 1MB sent  |  s1:s2 queue 0B\n')
})

const MOVING = {
  bytes: 1_000_000,
  totalBytes: 11_000_000,
  goodputBps: 40e6,
  pathHops: 2,
  pathQueueBytes: 5000,
  retransmittedBytes: 1234,
  state: 'streaming',
  retry: 0,
  retries: 3,
  retryInMs: 0,
  controller: 'cubic',
  files: 0,
  totalFiles: 0,
  sealedWith: '',
} as Progress

t.test('a transfer: how it goes, and what it waits for when its connection is lost', async t => {
  const words = (progress: Progress) => howItGoes(progress).map(({ text }) => text)
  t.same(words(MOVING), ['40Mbps', '2s left', '1MB of 11MB', 'queue 5KB', 'retransmitted 1.234KB', 'cubic'])
  t.same(words({ ...MOVING, rttNs: 1_234_567 }).slice(-2), ['cubic', 'RTT 1.235ms'])
  t.same(words({ ...MOVING, state: 'waiting', retry: 1, retryInMs: 1400 }), [
    'connection lost; trying again in 2 s (1 of 3)',
  ])
  t.same(words({ ...MOVING, state: 'connecting', retry: 2 }), ['connection lost; trying again now (2 of 3)'])
  t.same(words({ ...MOVING, state: 'held' }), ['waiting: another transfer has the file open'])
  t.same(words({ ...MOVING, state: 'connecting', goodputBps: 0 }).slice(0, 2), ['connecting', '- left'])
})

t.test('a transfer: what it took', async t => {
  const done = {
    path: 'a',
    bytes: 1000,
    seconds: 2,
    goodputBps: 4000,
    retransmittedBytes: 0,
    pathMoves: 0,
    resumedBytes: 0,
    attempts: 1,
    restarts: 0,
    damagedChunks: 0,
    controller: '',
    sealedWith: '',
    streams: 1,
    digest: { kind: 'xxh64', hex: '00' },
  } as FileReport
  const item = { file: 'a', host: 'h', describe: () => 'a to h' } as unknown as Parameters<typeof summary>[0]
  t.match(summary(item, done), /xxh64 00 at both ends, in the clear$/)
  t.match(summary(item, { ...done, sealedWith: 'b\u001b' }), /xxh64 00 at both ends, sealed with b\?$/)
  t.match(
    summary(item, { ...done, damagedChunks: 1 }),
    /retransmitted 0B, 1 damaged chunk moved again, xxh64/,
  )
  t.match(summary(item, { ...done, streams: 4 }), /xxh64 00 at both ends, in the clear, 4 streams$/)
  t.match(summary(item, { ...done, pathMoves: 1 }), /retransmitted 0B, moved to another path once, xxh64/)
  t.match(summary(item, { ...done, pathMoves: 2 }), /moved to another path 2 times, xxh64/)
  t.match(summary(item, { ...done, attempts: 3 }), /xxh64 00 at both ends, in the clear, 3 attempts$/)
  t.match(summary(item, { ...done, attempts: 2, restarts: 1 }), /, 2 attempts, started again from byte 0: /)
})

t.test('a number of retries', async t => {
  const read = (text: string) => valuesOf([RETRIES], { retries: text }).retries
  t.same(['0', '3', '1000'].map(read), [0, 3, 1000])
  for (const wrong of ['-1', '1001', 'x', '1.5', '', ' 3', '1e2'])
    t.throws(() => read(wrong), { code: 'WEIR_BAD_ARGUMENT', message: /--retries is .*0 to 1000/ }, wrong)
})

/**
 * The same words in the same order, in lines that are wider than the terminal only for a single long word.
 */
function breaksAtSpaces(wide: string, narrow: string, columns: number): string[] {
  const words = (text: string) => text.split(/\s+/).filter(word => word !== '')
  const wrong = words(wide).join(' ') === words(narrow).join(' ') ? [] : ['other words']
  const tooWide = narrow.split('\n').filter(line => line.length > columns && words(line).length > 1)
  return [...wrong, ...tooWide]
}

t.test('the list of scenarios and the doctor break lines at spaces', async t => {
  const list = scenarioList(Number.POSITIVE_INFINITY)
  const verdict = { works: false, why: 'the machine forbids namespaces to this user, and has no veth' }
  const check = { name: 'user namespaces', found: 'forbidden to this user by the kernel, as it says' }
  const affects = 'labs of a user who is not root, and everything that runs in them'
  const diagnosis = {
    checks: [
      { ...check, status: 'ok' as const, affects: '' },
      { ...check, status: 'warn' as const, affects, fix: 'sudo sysctl kernel.unprivileged_userns_clone=1' },
    ],
    on: { virtual: { works: true }, overlay: verdict, veth: verdict },
    io: { batch: verdict, dgram: verdict, raw: verdict, packet: verdict, packetInLabs: verdict },
    auto: { takes: 'dgram', why: 'the package koffi is not installed, or cannot be loaded here' },
  } as unknown as Diagnosis
  const wide = printDiagnosis(diagnosis)
  t.ok(wide.split('\n').some(line => line.length > 80))
  for (const columns of [30, 40, 60, 80]) {
    t.same(breaksAtSpaces(list, scenarioList(columns), columns), [], `--list at ${columns}`)
    const wrong = breaksAtSpaces(wide, printDiagnosis(diagnosis, columns), columns)
    const fix = /^ +fix: sudo sysctl kernel.unprivileged_userns_clone=1$/
    t.same(
      wrong.filter(line => !fix.test(line)),
      [],
      `doctor at ${columns}`,
    )
    t.ok(
      printDiagnosis(diagnosis, columns)
        .split('\n')
        .some(line => fix.test(line)),
      'a fix can be copied',
    )
  }
})

t.test('perf lat says what of a round trip it shows, as perftest has it', async t => {
  for (const [op, share] of [
    ['write', 'half of the'],
    ['send', 'half of the'],
    ['read', 'the whole'],
    ['atomic', 'the whole'],
  ] as const) {
    const figures = { size: 8, messages: 1, retransmittedBytes: 0, cpuSecondsPerGB: null, baseRttUs: 1 }
    const report = { test: 'lat', op, ...figures, io: 'batch', pathMtu: 1024 } as unknown as PerfReport
    let text = ''
    perfTable('lat', { write: more => (text += more) }).end([report])
    t.match(text, `${op}, ${share} round trip`)
  }
})

t.test('perf breaks what it says below the table at spaces', async t => {
  const report = {
    test: 'bw',
    op: 'write',
    size: 67_108_864,
    qps: 512,
    depth: 128,
    messages: 0,
    peakBps: null,
    goodputBps: null,
    messagesPerSecond: null,
    io: 'batch',
    pathMtu: 4096,
    baseRttUs: 619.9,
    cpuSecondsPerGB: null,
    retransmittedBytes: 667_600,
    controller: 'cubic',
    controllerReason: 'no switch on the path has written telemetry',
  } as unknown as PerfReport
  const remarks = (columns?: number) => {
    let text = ''
    perfTable('bw', { write: more => (text += more) }, columns).end([report])
    return text
  }
  for (const columns of [30, 40, 60, 80]) {
    t.same(breaksAtSpaces(remarks(), remarks(columns), columns), [], `at ${columns}`)
  }
})

t.test('a send that is cancelled without a connection: what arrived stays at the other host', async t => {
  const said = (direction: string, state: string, bytes = 5_500_000) =>
    cancelledText({
      transferId: 'send-1',
      direction,
      name: 'a',
      peer: '10.0.0.7',
      progress: { ...MOVING, state, bytes },
    } as TransferInfo)
  t.equal(said('send', 'streaming'), 'cancelled send-1: a to 10.0.0.7, 50% done\n')
  for (const state of ['waiting', 'connecting'])
    t.equal(
      said('send', state),
      'cancelled send-1: a to 10.0.0.7, 50% done; the part that arrived stays there\n',
    )
  t.equal(said('send', 'connecting', 0), 'cancelled send-1: a to 10.0.0.7, 0% done\n')
  t.equal(said('get', 'waiting'), 'cancelled send-1: a from 10.0.0.7, 50% done\n')
})
