/**
 * PFC deadlocks end to end: rings of lossless switches that lock, that recover by the watchdog, and that never lock by
 * prevention. What moved when is read from the series of sent and acknowledged bytes, not from the watchdog's own counters.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { parseScenario } from '../../lib/scenario/load-scenario.js'
import { packageFile } from '../../lib/scenario/package-file.js'
import { printTables, type RunResult, type Series } from '../../lib/scenario/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const MS = 1_000_000
/** Interval of the samples. */
const EVERY = 10 * MS
const DETECTION = 100 * MS
const RESTORATION = 200 * MS
/** At most this long after a loss the transport sends again: 4 x the timeout, 4.096 us x 2^17 (IBA 9.7.6.1.3). */
const RESEND = 4 * 536.870912 * MS
const RING = ['s1:s2', 's2:s3', 's3:s4', 's4:s1']

function text(name: string): string {
  return readFileSync(packageFile('bench', 'scenarios', `${name}.yaml`), 'utf8')
}

function run(yaml: string, file = 'ring.yaml'): RunResult {
  return new VirtualRun(parseScenario(yaml, file)).run()
}

function runFile(name: string): RunResult {
  return run(text(name), `${name}.yaml`)
}

/** The scenario with `from` replaced, which must be there. */
function changed(yaml: string, from: string, to: string): string {
  if (!yaml.includes(from)) throw new Error(`the scenario has no "${from}"`)
  return yaml.replace(from, to)
}

const portsOf = (result: RunResult) => result.ports.filter(port => RING.includes(port.name))
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
const drops = (result: RunResult) => sum(result.ports.map(port => port.drops))
const watchdogs = (result: RunResult) => result.ports.map(port => port.watchdog!)
const detected = (result: RunResult) => sum(watchdogs(result).map(w => w.detected))
const acked = (result: RunResult, flow: string): Series => result.series[`acked/${flow}`]!

function finished(result: RunResult): boolean {
  return result.flows.every(flow => flow.fctNs !== null && flow.ackedBytes === flow.bytes)
}

/** Time of the sample in which a series last grew before `untilNs`. */
function lastGrowth({ timesNs, values }: Series, untilNs: number): number {
  let last = 0
  for (let i = 1; i < values.length && timesNs[i]! <= untilNs; i++) {
    if (values[i]! > values[i - 1]!) last = timesNs[i]!
  }
  return last
}

/** Time of the sample by which a series has grown since `sinceNs`. */
function nextGrowth({ timesNs, values }: Series, sinceNs: number): number {
  const from = timesNs.findIndex(time => time >= sinceNs)
  const at = values.findIndex((value, i) => i > from && value > values[from]!)
  return at < 0 ? Number.POSITIVE_INFINITY : timesNs[at]!
}

t.test('a forwarding loop locks the ring, and the lock outlasts the loop for ever', async t => {
  const result = runFile('deadlock-ring')
  t.equal(drops(result), 0, 'it is lossless, and stuck')
  for (const flow of result.flows) {
    t.equal(flow.fctNs, null, `${flow.name} is unfinished`)
    const stopped = lastGrowth(acked(result, flow.name), 4_000 * MS)
    t.ok(stopped > 90 * MS && stopped < 300 * MS, `${flow.name}: nothing after ${stopped / MS} ms`)
  }
  for (const port of portsOf(result)) {
    const stopped = lastGrowth(result.series[`tx/${port.name}`]!, 4_000 * MS)
    t.ok(stopped > 100 * MS && stopped < 300 * MS, `${port.name}: nothing after ${stopped / MS} ms`)
  }
  t.same(
    result.ports.filter(port => port.deadlocked).map(port => [port.name, port.deadlocked]),
    RING.map(name => [name, [3]]),
  )
  t.match(printTables(result), /DEADLOCK: .* s1:s2, s2:s3, s3:s4, s4:s1 .*2 flows are unfinished/)
})

t.test('without the loop, or without PFC, nothing locks', async t => {
  const noLoop = changed(text('deadlock-ring'), 'to: h3, via: s4, start: 100ms', 'to: h3, via: s4, start: 9s')
  t.ok(finished(run(noLoop)))
  const lossy = run(changed(text('deadlock-ring'), 'pfc: { xoff: 20KB }', 'pfc: off'))
  t.ok(finished(lossy))
  t.ok(lossy.ports.every(port => port.deadlocked === undefined))
})

for (const action of ['forward', 'drop'] as const) {
  t.test(`the watchdog recovers it by ${action}`, async t => {
    const yaml = changed(text('deadlock-ring-watchdog'), 'action: forward', `action: ${action}`)
    const result = run(yaml)
    t.ok(finished(result), 'every byte arrived')
    t.ok(detected(result) >= 1)
    t.equal(sum(watchdogs(result).map(w => w.restored)), detected(result))
    const first = Math.min(...watchdogs(result).flatMap(w => w.events.map(e => e.atNs)))
    // The ring as a whole stood still for the detection time, give or take a sample, and no longer.
    const stopped = Math.max(...RING.map(name => lastGrowth(result.series[`tx/${name}`]!, first - EVERY)))
    t.ok(first - stopped <= DETECTION + EVERY, `it stood still from ${stopped / MS} to ${first / MS} ms`)
    const moves = (series: Series) => nextGrowth(series, stopped)
    for (const name of ['s2:s3', 's3:s4']) {
      const at = moves(result.series[`tx/${name}`]!)
      t.ok(at <= stopped + DETECTION + RESTORATION, `${name} moves again at ${at / MS} ms`)
    }
    const other = moves(acked(result, 'flow1'))
    t.ok(other <= stopped + DETECTION + RESTORATION, `flow1 moves again at ${other / MS} ms`)
    // What of flow0 died in the loop, or was dropped, is sent again when its timer says so.
    const looped = moves(acked(result, 'flow0'))
    t.ok(looped <= stopped + DETECTION + RESTORATION + RESEND, `flow0 moves again at ${looped / MS} ms`)
    t.ok(result.ports.every(port => port.deadlocked === undefined))
    const dropped = sum(watchdogs(result).map(w => w.droppedFrames))
    const forwarded = sum(watchdogs(result).map(w => w.forwardedFrames))
    t.equal(dropped > 0, action === 'drop')
    t.equal(forwarded > 0, action === 'forward')
    t.match(printTables(result), /PFC watchdog: \d+ deadlocks? detected/)
    t.notMatch(printTables(result), /DEADLOCK/)
  })
}

t.test('an alert changes nothing', async t => {
  const result = run(changed(text('deadlock-ring-watchdog'), 'action: forward', 'action: alert'))
  t.notOk(finished(result))
  t.ok(detected(result) >= 4)
  t.equal(sum(watchdogs(result).map(w => w.restored)), 0)
  t.same(result.ports.filter(port => port.deadlocked).length, 4)
})

t.test('prevention: the ring never locks, and a watchdog sees nothing', async t => {
  const result = run(
    changed(
      text('deadlock-ring-prevention'),
      'pfc: { xoff: 20KB }',
      'pfc: { xoff: 20KB, watchdog: { detectionTime: 100ms } }',
    ),
  )
  t.ok(finished(result))
  t.equal(detected(result), 0)
  t.ok(result.ports.find(port => port.name === 's4:s1')!.movedFrames! > 0)
  t.equal(result.flows.find(({ name }) => name === 'flow1')!.retransmittedBytes, 0, 'flow1 lost nothing')
  t.match(printTables(result), /Deadlock prevention: \d+ high-risk frames/)
  t.ok(finished(runFile('deadlock-ring-prevention')), 'the file as it is')
})

t.test('the three files are one ring', async t => {
  const bare = (name: string) => {
    const scenario = parseScenario(text(name), `${name}.yaml`)
    for (const sw of scenario.switches) delete sw.pfc!.watchdog
    delete scenario.deadlockPrevention
    return { ...scenario, name: '', file: '', text: '' }
  }
  for (const variant of ['deadlock-ring-watchdog', 'deadlock-ring-prevention']) {
    t.same(bare(variant), bare('deadlock-ring'), basename(variant))
  }
})

const CYCLE = text('deadlock-cycle')
const dogged = (settings: string) =>
  changed(
    CYCLE,
    'pfc: { xoff: 100KB }',
    `pfc: { xoff: 100KB, watchdog: { detectionTime: 100ms, restorationTime: 200ms, ${settings} } }`,
  )

t.test('a cycle of buffers locks without a loop, and prevention opens it without loss', async t => {
  const locked = runFile('deadlock-cycle')
  t.equal(drops(locked), 0)
  t.same(
    locked.ports.filter(port => port.deadlocked).map(port => port.name),
    RING,
  )
  for (const { name } of locked.flows) {
    t.ok(lastGrowth(acked(locked, name), 5_000 * MS) < 100 * MS, `${name} stands still`)
  }
  const opened = changed(
    changed(
      CYCLE,
      'pfc: { xoff: 100KB }',
      'pfc: { xoff: 100KB, priorities: [3, 4], watchdog: { detectionTime: 20ms } }',
    ),
    'cc:',
    'deadlockPrevention: { groups: [[s4:s3, s4:s1]], from: 3, to: 4 }\ncc:',
  )
  const result = run(opened)
  t.ok(finished(result))
  t.equal(detected(result), 0)
  t.equal(drops(result), 0)
  // A pause may be taken for the loss of what was sent last: one packet, for a probe.
  for (const flow of result.flows)
    t.ok(flow.retransmittedBytes <= 4096, `${flow.name}: ${flow.retransmittedBytes}`)
  t.ok(sum(result.ports.map(port => port.pausesSent)) > 0, 'though there were pauses')
})

t.test('a cycle that stays locks again after each restoration, until the limit turns PFC off', async t => {
  const again = run(dogged('action: forward'))
  t.ok(finished(again))
  for (const { watchdog, name } of portsOf(again)) {
    t.ok(watchdog!.detected >= 2, `${name}: ${watchdog!.detected} deadlocks`)
    const times = watchdog!.events.map(({ atNs, event }) => ({ atNs, event }))
    for (const [i, { atNs, event }] of times.entries()) {
      t.equal(event, i % 2 === 0 ? 'detected' : 'restored')
      if (event === 'restored') t.equal(atNs - times[i - 1]!.atNs, RESTORATION)
      if (event === 'detected' && i > 0) t.ok(atNs - times[i - 1]!.atNs >= DETECTION)
    }
  }
  const limited = run(dogged('action: forward, limit: { deadlocks: 2, window: 10s }'))
  t.ok(finished(limited))
  for (const { watchdog, name } of portsOf(limited)) {
    t.same(
      watchdog!.events.map(({ event }) => event),
      ['detected', 'restored', 'detected', 'turnedOff'],
      name,
    )
  }
  t.match(printTables(limited), /PFC turned off 4 times/)
  // Deadlocks within the window do not add up to three.
  const patient = run(dogged('action: forward, limit: { deadlocks: 3, window: 500ms }'))
  t.equal(sum(watchdogs(patient).map(w => w.turnedOff)), 0)
})

t.test('long congestion that moves is no deadlock', async t => {
  // Eight to one at 100 Mbit/s: each sender's link is paused most of the time, for seconds.
  const yaml = `
link: { rate: 100Mbps, delay: 10us }
hosts: [h1..h9]
switches:
  s1..s2: { buffer: 4MB, pfc: { xoff: 50KB, watchdog: { detectionTime: 20ms, restorationTime: 20ms } } }
links: [h1..h8--s1, s1--s2, s2--h9]
cc: { name: fixed-window, window: 1MB }
transport: { pathMtu: 4096 }
traffic: [{ incast: [h1..h8], to: h9, size: 4MB }]
`
  const incast = changed(yaml, 's2--h9', '{ ends: s2--h9, rate: 50Mbps }')
  const result = run(incast)
  t.ok(finished(result))
  t.equal(drops(result), 0)
  const link = result.ports.find(port => port.name === 's1:s2')!
  t.ok(link.pausedNs > 2_000 * MS, `s1:s2 was paused for ${link.pausedNs / MS} ms in all`)
  t.equal(detected(result), 0)
})
