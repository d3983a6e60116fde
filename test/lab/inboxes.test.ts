import { join } from 'node:path'
import t from 'tap'
import { noLabs, Place, SMALL } from './support.js'

t.test('an inbox that cannot be', { skip: noLabs() }, async t => {
  const place = new Place(t)
  const file = place.file('small.yaml', SMALL)
  const nowhere = await place.weir(['lab', 'up', file, '--inbox', join(file, 'x')])
  t.equal(nowhere.code, 1)
  t.match(
    nowhere.stderr,
    /cannot make the folder .* for the inbox of h1: .*; choose another with --inbox.*WEIR_NO_FILE/,
  )
  t.same(place.leftFiles(), [])
})
