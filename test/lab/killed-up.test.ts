/** `weir lab up` that is interrupted or killed: nothing is left. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'
import { noLabs, Place, SMALL, until } from './support.js'

const skip = noLabs()

t.test('kill -9 of up itself, at any time: nothing is left after down', { skip }, async t => {
  const seed = drawnSeed(t)
  const random = new Random(seed)
  const place = new Place(t)
  const file = place.file('small.yaml', SMALL)
  for (let round = 0; round < 3; round++) {
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

t.test(
  'what a lab left that was killed before it had its name goes with the next command',
  { skip },
  async t => {
    const place = new Place(t)
    const labs = join(place.folder, 'run/weir/labs')
    mkdirSync(labs, { recursive: true, mode: 0o700 })
    t.equal((await place.weir(['lab', 'down', '--all'])).code, 0)
    t.same(place.leftFiles(), [], 'the folder of all labs was made, and no more')
    const ended = spawnSync('true').pid
    mkdirSync(join(labs, `.new-${ended}-abcdef`), { recursive: true, mode: 0o700 })
    mkdirSync(join(labs, `.new-${process.pid}-abcdef`), { mode: 0o700 })
    t.equal((await place.weir(['lab', 'down', '--all'])).code, 0)
    t.same(readdirSync(labs), [`.new-${process.pid}-abcdef`], 'what belongs to a living process stays')
    rmSync(labs, { recursive: true })
  },
)

t.test('a lab in the foreground goes at Ctrl-C, and when its command is killed', { skip }, async t => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGKILL', null],
  ] as const) {
    const place = new Place(t)
    const up = place.start(['lab', 'up', place.file('small.yaml', SMALL), '--foreground'])
    const ended = once(up, 'exit')
    await once(up.stdout, 'data')
    t.equal(readdirSync(join(place.folder, 'run/weir/labs')).length, 1)
    up.kill(signal)
    t.equal((await ended)[0], code)
    await until(() => place.processes().length === 0)
    t.same(place.leftFiles(), [])
  }
})
