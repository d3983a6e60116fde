/** What `weir lab up --pcap` writes with a bound. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sourcesIn } from './sources-in.js'
import { noLabs, Place, SMALL } from './support.js'
import './captures.test.js'

const skip = noLabs()

t.test('--pcap-size: the newest packets stay, and the status counts the others', { skip }, async t => {
  const place = new Place(t)
  const folder = join(place.folder, 'captures')
  const file = place.file('small.yaml', SMALL)
  const up = await place.weir(['lab', 'up', file, '--pcap', 'captures', '--pcap-size', '2MB'])
  t.equal(up.code, 0, up.stderr)
  const data = place.file('data', Buffer.alloc(4_500_000))
  const sent = await place.exec('small', 'h1', ['weir', 'send', data, 'h2'])
  t.equal(sent.code, 0, sent.stderr)
  const [{ captures }] = JSON.parse((await place.weir(['lab', 'status', '--json'])).stdout)
  const [one] = captures.files
  t.ok(one.discardedPackets > 400, `${one.discardedPackets} packets made room`)
  t.match((await place.weir(['lab', 'status'])).stdout, /; \d+ older packets were discarded/)
  t.equal((await place.weir(['lab', 'down', 'small'])).code, 0)
  const names = ['s1--h1.older.pcapng', 's1--h1.pcapng', 's1--h2.older.pcapng', 's1--h2.pcapng']
  t.same(readdirSync(folder).sort(), names)
  const counts = names.slice(0, 2).map(name => [...sourcesIn(join(folder, name)).values()])
  const packets = counts.flat().reduce((sum, count) => sum + count, 0)
  t.ok(packets + one.discardedPackets >= one.packets, 'nothing else is missing')
  const bytes = names.slice(0, 2).map(name => statSync(join(folder, name)).size)
  t.ok(bytes[0]! + bytes[1]! <= 2e6 && bytes[0]! > 0.9e6, `${bytes.join(' and ')} bytes`)
})
