/** Labs whose processes are killed: `weir lab down` leaves nothing, whichever process was killed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { noLabs, Place, SMALL, until } from './support.js'

const skip = noLabs()

interface State {
  keeper: { pid: number }
  processes: { name: string; pid: number }[]
}

function stateOf(place: Place): State {
  return JSON.parse(readFileSync(join(place.folder, 'run/weir/labs/small/state.json'), 'utf8'))
}

function pidOf(state: State, who: string): number {
  return who === 'the keeper' ? state.keeper.pid : state.processes.find(({ name }) => name === who)!.pid
}

t.test('kill -9 of a daemon, of the switch, of the keeper: status says so, down mends', { skip }, async t => {
  const place = new Place(t)
  const up = await place.weir(['lab', 'up', place.file('small.yaml', SMALL)])
  t.equal(up.code, 0, up.stderr)
  // A foreign program without a parent that waits for it.
  await place.exec('small', 'h1', ['sh', '-c', 'sleep 1000 >/dev/null 2>&1 & exit 0'])
  const state = stateOf(place)
  for (const [who, expected] of [
    ['the daemon of h2', 'degraded'],
    ['the switch process', 'degraded'],
    ['the keeper', 'broken'],
  ] as const) {
    const pid = pidOf(state, who)
    process.kill(pid, 'SIGKILL')
    await until(() => !place.processes().includes(pid))
    const [lab] = JSON.parse((await place.weir(['lab', 'status', '--json'])).stdout)
    t.equal(lab.state, expected, `without ${who}`)
    t.equal(lab.hosts.filter(({ alive }: { alive: boolean }) => alive).length, who === 'the keeper' ? 0 : 1)
  }
  t.match(
    (await place.exec('small', 'h1', ['true'])).stderr,
    /processes of lab small have ended.*weir lab down small/,
  )
  const down = await place.weir(['lab', 'down', 'small'])
  t.equal(down.code, 0, down.stderr)
  t.same(place.processes(), [])
  t.same(place.leftFiles(), [])
})
