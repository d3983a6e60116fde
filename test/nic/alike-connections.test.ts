import t from 'tap'
import { AlikeConnections, type AlikeEnd } from '../../lib/nic/connect/alike-connections.js'

const END = {} as AlikeEnd
const OPTIONS = { priority: 3 }

t.test('a host with many peers forgets the one that it has remembered for longest', async t => {
  const alike = new AlikeConnections<number>()
  const add = (peer: number) => alike.add(peer, { port: 1, options: OPTIONS, own: END, peer: END })
  for (let peer = 0; peer < 64; peer++) add(peer)
  add(0)
  t.ok(alike.find(0, 1, OPTIONS), 'one that is there takes no place')
  add(64)
  t.equal(alike.find(0, 1, OPTIONS), null)
  for (let peer = 1; peer <= 64; peer++) t.ok(alike.find(peer, 1, OPTIONS))
})

t.test('a connection is like another that has asked for the same, to the same port', async t => {
  const alike = new AlikeConnections<number>()
  alike.add(7, { port: 1, options: OPTIONS, own: END, peer: END })
  t.ok(alike.find(7, 1, { priority: 3, sourcePort: 50_000 }))
  t.equal(alike.find(7, 2, OPTIONS), null)
  t.equal(alike.find(7, 1, { priority: 4 }), null)
  t.equal(alike.find(7, 1, { priority: 3, privateData: Buffer.from('to be heard') }), null)
})
