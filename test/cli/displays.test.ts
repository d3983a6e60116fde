/** What commands show on a terminal while they work, on one of 80 columns. */
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { demoDisplay } from '../../bin/commands/demo-display.js'
import { intervalPrinter } from '../../bin/commands/perf-display.js'
import { runProgress } from '../../bin/commands/run-progress.js'
import { type FileReport, parseRetries, summary } from '../../bin/commands/transfer.js'
import { howItGoes, transferDisplay } from '../../bin/commands/transfer-display.js'
import type { PerfRequest, Progress } from '../../lib/client/daemon-client.js'
import type { PortResult } from '../../lib/scenario/result.js'
import { SECOND } from '../../lib/time/nanos.js'

const COLUMNS = 80

/** A stream that says it is a terminal, and what was written to it. */
function terminal() {
  const stream = new PassThrough() as PassThrough & { isTTY: boolean; columns: number }
  stream.isTTY = true
  stream.columns = COLUMNS
  let text = ''
  stream.setEncoding('utf8').on('data', piece => {
    text += piece
  })
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => text }
}

t.test('a run: what it waits for, then flows and time, and nothing in the end', async t => {
  const { stream, text } = terminal()
  const progress = runProgress(stream)!
  progress.wait('the network comes up')
  progress.show(2.5 * SECOND, 3, 16)
  progress.stop()
  t.match(text(), /the network comes up/)
  t.match(text(), '3/16 flows  at 2.5s')
  // Column 1, erase in line (ECMA-48, 8.3.9 and 8.3.41).
  t.ok(text().endsWith('\u001b[1G\u001b[2K'), 'the line is cleared')
  progress.stop()
})

t.test('a run in a pipe is silent', async t => {
  t.equal(runProgress(new PassThrough() as unknown as NodeJS.WriteStream), null)
})

t.test('the demo: no line is cut', async t => {
  const { stream, text } = terminal()
  const sizes = [98_930_000, 98_930_000]
  const display = demoDisplay(
    {
      transfers: ['h1', 'h2'].map(from => ({ from, to: 'h3', path: 'x', name: from, startMs: 0 })),
      sizes,
      bottleneck: 's1:s2',
      queueBytesFull: 100_000,
    },
    stream,
  )
  const progress = { bytes: 89_660_000, totalBytes: sizes[0], goodputBps: 45_340_000, state: 'sending' }
  const port = { name: 's1:s2', maxQueueBytes: 475_780, ecnMarks: 1234, drops: 100 }
  display.show({
    seconds: 2,
    transfers: [progress as Progress, null],
    ports: [port as PortResult],
    queueBytes: [412_630],
  })
  display.close()
  t.match(text(), '89.66MB of 98.93MB at 45.34Mbps')
  t.match(text(), 'queue 412.6KB, peak 475.8KB, 1234 marks, 100 drops')
})

t.test('the demo in a pipe: no rate of what has ended', async t => {
  const stream = new PassThrough()
  const settings = {
    transfers: [{ from: 'h1', to: 'h3', path: 'x', name: 'h1', startMs: 0 }],
    sizes: [1_000_000],
    bottleneck: 's1:s2',
    queueBytesFull: 100_000,
  }
  const ended = { bytes: 1_000_000, totalBytes: 1_000_000, goodputBps: 4_112_000, state: 'streaming' }
  const view = { seconds: 2.1, transfers: [ended as Progress], ports: [], queueBytes: [] }
  demoDisplay(settings, stream as unknown as NodeJS.WriteStream).show(view)
  t.equal(String(stream.read()), '  2.1 s  h1-h3 1MB of 1MB, sent  |  s1:s2 queue 0B\n')
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
} as Progress

t.test('a transfer: how it goes, and what it waits for when its connection is lost', async t => {
  t.equal(howItGoes(MOVING), '40Mbps  2s left  queue 5KB  retrans 1.234KB')
  t.equal(
    howItGoes({ ...MOVING, state: 'waiting', retry: 1, retryInMs: 1400 }),
    'connection lost; trying again in 2 s (1 of 3)',
  )
  t.equal(
    howItGoes({ ...MOVING, state: 'connecting', retry: 2 }),
    'connection lost; trying again now (2 of 3)',
  )
  t.match(howItGoes({ ...MOVING, state: 'connecting', goodputBps: 0 }), /^connecting {2}- left/)
})

t.test('a transfer: all of it in a line of the terminal, whatever the name', async t => {
  for (const name of ['n'.repeat(255), 'a\nb', 'ünï—✓'.repeat(9)]) {
    const { stream, text } = terminal()
    const display = transferDisplay(name, stream)!
    display.show({
      ...MOVING,
      bytes: 98_765_000,
      totalBytes: 98_930_000_000,
      goodputBps: 123_456_000,
      pathQueueBytes: 412_630,
      retransmittedBytes: 155_640_000,
    })
    display.stop()
    const shown = stripVTControlCharacters(text()).split('\n')[0]!
    t.match(shown, /^\S+ [█░]{10} 0% {2}123\.5Mbps {2}\d+s left {2}queue 412\.6KB {2}retrans 155\.6MB$/)
    t.ok([...shown].length <= COLUMNS, shown)
  }
  t.equal(transferDisplay('a', new PassThrough() as unknown as NodeJS.WriteStream), null, 'in a pipe silent')
})

t.test('a transfer: what it took', async t => {
  const done = {
    path: 'a',
    bytes: 1000,
    seconds: 2,
    goodputBps: 4000,
    retransmittedBytes: 0,
    resumedBytes: 0,
    attempts: 1,
    restarts: 0,
    digest: { kind: 'xxh64', hex: '00' },
  } as FileReport
  const item = { file: 'a', host: 'h', describe: () => 'a to h' } as unknown as Parameters<typeof summary>[0]
  t.match(summary(item, done), /xxh64 00$/)
  t.match(summary(item, { ...done, attempts: 3 }), /xxh64 00, 3 attempts$/)
  t.match(summary(item, { ...done, attempts: 2, restarts: 1 }), /, 2 attempts, started again from byte 0: /)
})

t.test('perf: the line of a second is no longer than a row', async t => {
  const progress = { state: 'measuring', goodputBps: 9e9, rttNs: 20_850_000, retransmittedBytes: 512 }
  for (const columns of [30, 60, 80]) {
    const { stream, text } = terminal()
    stream.columns = columns
    intervalPrinter({ size: 64 } as PerfRequest, stream).show(progress as Progress)
    const line = stripVTControlCharacters(text()).trimStart()
    t.match(line, /s {2}measuring {2}9Gbps/)
    t.ok(line.length < columns, `${line.length} of ${columns} columns`)
  }
})

t.test('a number of retries', async t => {
  t.same(['0', '3', '1000'].map(parseRetries), [0, 3, 1000])
  for (const wrong of ['-1', '1001', 'x', '1.5', '', ' 3', '1e2'])
    t.throws(() => parseRetries(wrong), { code: 'WEIR_BAD_ARGUMENT', message: /0 to 1000/ }, wrong)
})
