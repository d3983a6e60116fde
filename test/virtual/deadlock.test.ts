/**
 * PFC deadlocks end to end: rings of lossless switches that lock, that the watchdog recovers, and that never
 * lock with prevention. The series of sent and acknowledged bytes show what moved when, and not the
 * watchdog's own counters.
 */
import { basename } from 'node:path'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import { long, usual } from '../support/long.js'
import {
  acked,
  CYCLE,
  changed,
  DETECTION,
  detected,
  dogged,
  drops,
  finished,
  lastGrowth,
  MS,
  portsOf,
  RESTORATION,
  RING,
  run,
  runFile,
  sum,
  testRecovery,
  text,
  watchdogs,
} from './deadlock.js'

usual('a forwarding loop locks the ring, and the lock outlasts the loop for ever', async t => {
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

long('without the loop, or without PFC, nothing locks', async t => {
  const noLoop = changed(text('deadlock-ring'), 'to: h3, via: s4, start: 100ms', 'to: h3, via: s4, start: 9s')
  t.ok(finished(run(noLoop)))
  const lossy = run(changed(text('deadlock-ring'), 'pfc: { xoff: 20KB }', 'pfc: off'))
  t.ok(finished(lossy))
  t.ok(lossy.ports.every(port => port.deadlocked === undefined))
})

testRecovery('forward')

long('an alert changes nothing', async t => {
  const result = run(changed(text('deadlock-ring-watchdog'), 'action: forward', 'action: alert'))
  t.notOk(finished(result))
  t.ok(detected(result) >= 4)
  t.equal(sum(watchdogs(result).map(w => w.restored)), 0)
  t.same(result.ports.filter(port => port.deadlocked).length, 4)
})

usual('prevention: the ring never locks, and a watchdog sees nothing', async t => {
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

usual('the three files are one ring', async t => {
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

long('a cycle of buffers locks without a loop, and prevention opens it without loss', async t => {
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
  // A pause may look like the loss of the last packet: one retransmission, by a probe.
  for (const flow of result.flows)
    t.ok(flow.retransmittedBytes <= 4096, `${flow.name}: ${flow.retransmittedBytes}`)
  t.ok(sum(result.ports.map(port => port.pausesSent)) > 0, 'though there were pauses')
})

long('a cycle that stays locks again after each restoration', async t => {
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
})

usual('long congestion that moves is no deadlock', async t => {
  // Eight to one at 100 Mbit/s: each sender's link is paused most of the time, for more than a second.
  const yaml = `
link: { rate: 100Mbps, delay: 10us }
hosts: [h1..h9]
switches:
  s1..s2: { buffer: 4MB, pfc: { xoff: 50KB, watchdog: { detectionTime: 20ms, restorationTime: 20ms } } }
links: [h1..h8--s1, s1--s2, s2--h9]
cc: { name: fixed-window, window: 1MB }
transport: { pathMtu: 4096 }
traffic: [{ incast: [h1..h8], to: h9, size: 1500KB }]
`
  const incast = changed(yaml, 's2--h9', '{ ends: s2--h9, rate: 50Mbps }')
  const result = run(incast)
  t.ok(finished(result))
  t.equal(drops(result), 0)
  const link = result.ports.find(port => port.name === 's1:s2')!
  t.ok(link.pausedNs > 750 * MS, `s1:s2 was paused for ${link.pausedNs / MS} ms in all`)
  t.equal(detected(result), 0)
})
