/** Labs beside each other: namespaces keep them apart. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { weirProgram } from '../../lib/package-file.js'
import { noLabs, Place, SMALL } from './support.js'

const WEIR = weirProgram()
const skip = noLabs()

t.test('two labs with the same addresses stand side by side', { skip }, async t => {
  const place = new Place(t)
  const file = place.file('small.yaml', SMALL)
  const ups = await Promise.all(['a', 'b'].map(name => place.process(['lab', 'up', file, '--name', name])))
  for (const up of ups) t.equal(up.code, 0, up.stderr)
  const both = await place.exec(file, 'h1', ['true'])
  t.equal(both.code, 1)
  t.match(both.stderr, /several labs came from .*a, b/)
  const bytes = randomBytes(100_000)
  const path = place.file('data', bytes)
  const sent = await place.exec('a', 'h1', [process.execPath, WEIR, 'send', path, 'h2', '--json'])
  t.equal(sent.code, 0, sent.stderr)
  const labs = JSON.parse((await place.weir(['lab', 'status', '--json'])).stdout)
  const carried = labs.map((lab: { ports: { txBytes: number }[] }) => lab.ports[1]!.txBytes)
  t.ok(carried[0] > 100_000, 'the file crossed the one')
  t.ok(carried[1] < 10_000, 'and not the other')
  t.equal((await place.weir(['lab', 'down', 'a'])).code, 0)
  t.equal((await place.echo('b', 'h2', 'h1')).replies.length, 1, 'the other one is not touched')
  t.equal((await place.weir(['lab', 'down', '--all'])).code, 0)
  t.same(place.processes(), [])
  t.same(place.leftFiles(), [])
})
