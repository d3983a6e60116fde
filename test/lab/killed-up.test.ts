/** `weir lab up` that is interrupted or killed: nothing is left. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testKilled } from './killed-ups.js'
import { noLabs, Place } from './support.js'

const skip = noLabs()

testKilled(1)

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
