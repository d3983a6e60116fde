/** `weir demo` where labs on veth work. What `weir run --on veth` reports and leaves is in test/parity. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { noLabs, Place } from './support.js'

const skip = noLabs()

t.test('weir demo takes veth where it may, and says so', { skip }, async t => {
  const place = new Place(t)
  const json = join(place.folder, 'demo.json')
  const demo = await place.weir(['demo', place.file('data', 'x'.repeat(400_000)), '--json', json])
  t.equal(demo.code, 0, demo.stderr)
  t.match(demo.stdout, /veth pairs between network namespaces.*this machine allows it/)
  t.match(JSON.parse(readFileSync(json, 'utf8')), {
    on: 'veth',
    flows: [{ digestEqual: true }, { digestEqual: true }],
  })
  t.same(place.leftFiles(), [])
})
