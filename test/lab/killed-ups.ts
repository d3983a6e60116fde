/** `weir lab up` that is killed or interrupted at any time. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'
import { noLabs, Place, SMALL, until } from './support.js'

const skip = noLabs()

/** Tests that nothing is left after `down` of `up` commands that are killed at random times. */
export function testKilled(rounds: number): void {
  t.test('kill -9 of up itself, at any time: nothing is left after down', { skip }, async t => {
    const seed = drawnSeed(t)
    const random = new Random(seed)
    const place = new Place(t)
    const file = place.file('small.yaml', SMALL)
    for (let round = 0; round < rounds; round++) {
      const up = place.start(['lab', 'up', file])
      const ended = once(up, 'exit')
      await new Promise(resolve => setTimeout(resolve, 300 + random.below(900)))
      up.kill('SIGKILL')
      await ended
      const down = await place.weir(['lab', 'down', file])
      t.equal(down.code, 0, down.stderr)
      await until(() => place.processes().length === 0)
      t.same(place.leftFiles(), [], `round ${round}`)
    }
  })
}

/** Tests that a lab goes with its command, which a signal ends with that code. */
export function testForeground(signal: NodeJS.Signals, code: number | null): void {
  t.test(`a lab in the foreground goes with its command at ${signal}`, { skip }, async t => {
    const place = new Place(t)
    const up = place.start(['lab', 'up', place.file('small.yaml', SMALL), '--foreground'])
    const ended = once(up, 'exit')
    await once(up.stdout, 'data')
    t.equal(readdirSync(join(place.folder, 'run/weir/labs')).length, 1)
    up.kill(signal)
    t.equal((await ended)[0], code)
    await until(() => place.processes().length === 0)
    t.same(place.leftFiles(), [])
  })
}
