/** A run on veth that is stopped in the middle. */
import { once } from 'node:events'
import t from 'tap'
import { noLabs, Place, SMALL, until } from './support.js'

/** More than a test waits for. */
const LONG = `${SMALL}
traffic:
  - { name: there, from: h1, to: h2, size: 1GB }
`

/** Tests that a signal leaves nothing of a run, which ends with that code. */
export function testStoppedRun(signal: NodeJS.Signals, code: number | null): void {
  t.test(`${signal} in the middle of a run leaves nothing`, { skip: noLabs() }, async t => {
    const place = new Place(t)
    const run = place.start(['run', place.file('long.yaml', LONG), '--on', 'veth'])
    const ended = once(run, 'exit')
    await until(() => place.processes().length >= 5)
    run.kill(signal)
    t.equal((await ended)[0], code)
    await until(() => place.processes().length === 0)
    t.same(place.leftFiles(), [])
  })
}
