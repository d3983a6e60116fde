/** Labs of an ordinary user: everything is in a user namespace. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { reportOf } from '../support/transfer-report.js'
import { noUserLabs, Place, SMALL } from './support.js'

t.test('an ordinary user has a lab, without sudo', { skip: noUserLabs() }, async t => {
  const place = new Place(t, true)
  const file = place.file('small.yaml', SMALL)
  const up = await place.weir(['lab', 'up', file])
  t.equal(up.code, 0, up.stderr)
  t.equal((await place.echo('small', 'h1', 'h2', 3)).replies.length, 3)
  const path = place.file('data', randomBytes(200_000))
  const sent = await place.exec('small', 'h1', ['weir', 'send', path, 'h2', '--json'])
  t.equal(sent.code, 0, sent.stderr)
  t.equal(reportOf(sent.stdout).bytes, 200_000)
  const inside = await place.exec('small', 'h2', ['weir', 'lab', 'status', '--json'])
  const [lab] = JSON.parse(inside.stdout)
  t.match(lab, { state: 'up', privilege: 'user' }, 'also from within the lab')
  const down = await place.weir(['lab', 'down', 'small'])
  t.equal(down.code, 0, down.stderr)
  t.same(place.processes(), [])
  t.same(place.leftFiles(), [])
})
