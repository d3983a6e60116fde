/** PFC deadlock with real packets: the ring locks, and recovers by its watchdog, as in virtual time (test/virtual/deadlock.test.ts). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageFile } from '../../lib/scenario/package-file.js'
import type { RunResult } from '../../lib/scenario/result.js'
import { noLabs, Place } from './support.js'

const skip = noLabs()
const RING = ['s1:s2', 's2:s3', 's3:s4', 's4:s1']

/** A machine that is busy with other things may hold the senders up until the loop has gone: then it is tried again. */
const ATTEMPTS = 3

async function run(t: Test, name: string, locked: (result: RunResult) => boolean): Promise<RunResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await runOnce(t, name)
    if (locked(result) || attempt === ATTEMPTS) return result
    t.comment(`attempt ${attempt} did not lock`)
  }
}

async function runOnce(t: Test, name: string): Promise<RunResult> {
  const place = new Place(t)
  const json = join(place.folder, 'result.json')
  const file = packageFile('bench', 'scenarios', `${name}.yaml`)
  const ended = await place.weir(['run', file, '--on', 'veth', '--json', json])
  t.equal(ended.code, 0, ended.stderr)
  t.same(place.processes(), [])
  return JSON.parse(readFileSync(json, 'utf8')) as RunResult
}

t.test('the ring locks', { skip }, async t => {
  const { ports, flows } = await run(t, 'deadlock-ring', result => result.ports.some(port => port.deadlocked))
  t.same(
    ports.filter(port => port.deadlocked).map(port => [port.name, port.deadlocked]),
    RING.map(name => [name, [3]]),
  )
  for (const flow of flows)
    t.ok(flow.fctNs === null && flow.ackedBytes < flow.bytes, `${flow.name} is cut off`)
  t.equal(
    ports.reduce((sum, port) => sum + port.drops, 0),
    0,
  )
})

t.test('the watchdog recovers it', { skip }, async t => {
  const { ports, flows } = await run(t, 'deadlock-ring-watchdog', result =>
    result.ports.some(port => port.watchdog!.detected > 0),
  )
  for (const flow of flows) t.equal(flow.ackedBytes, flow.bytes, `${flow.name} arrived`)
  const dogs = ports.map(port => port.watchdog!)
  const detected = dogs.reduce((sum, dog) => sum + dog.detected, 0)
  t.ok(detected >= 1, `${detected} deadlocks`)
  t.equal(
    dogs.reduce((sum, dog) => sum + dog.restored, 0),
    detected,
  )
  t.ok(ports.every(port => port.deadlocked === undefined))
})
