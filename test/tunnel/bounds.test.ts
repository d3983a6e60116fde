/** How many TCP connections a daemon carries for other hosts, and for one of them. */
import t from 'tap'
import type { ConnectionHandler } from '../../lib/nic/types.js'
import { wordsOf } from '../../lib/stream/nic-stream.js'
import { TUNNEL_PORT } from '../../lib/tunnel/messages.js'
import { AllowedTargets } from '../../lib/tunnel/targets.js'
import { TunnelServer } from '../../lib/tunnel/tunnel-server.js'
import { TunnelStreams } from '../../lib/tunnel/tunnel-streams.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { FakeVerbs } from '../support/fake-verbs.js'

const SHAPE = { segmentBytes: 4096, receives: 4, sends: 4 }

function served() {
  const verbs = new FakeVerbs('10.0.0.1')
  const streams = new TunnelStreams(() => {})
  const server = new TunnelServer(
    { verbs, now: () => 0, wake: () => {} },
    streams,
    new AllowedTargets(['127.0.0.1:*']),
    () => {},
  )
  const accept = (from: string): ConnectionHandler => {
    const request = {
      remote: HostAddress.parse(from),
      udpPort: 4791,
      port: TUNNEL_PORT,
      privateData: wordsOf(SHAPE),
    }
    return verbs.listeners.get(TUNNEL_PORT)!.accept(0, request)
  }
  const leave = (end: ConnectionHandler) => end.onClosed(0, null as never, null)
  return { server, streams, accept, leave }
}

t.test('one host has 224 of the 256 places', async t => {
  const { streams, accept, leave } = served()
  const ends = Array.from({ length: 224 }, () => accept('10.0.0.2'))
  t.throws(() => accept('10.0.0.2'), { code: 'WEIR_FULL', message: /^224 TCP connections .* this host/ })
  const others = Array.from({ length: 32 }, (_, i) => accept(`10.0.1.${i}`))
  t.throws(() => accept('10.0.2.1'), { code: 'WEIR_FULL', message: /^256 TCP connections .* for others/ })
  t.equal(streams.counters.refused, 2)
  leave(ends.pop()!)
  t.ok(accept('10.0.2.1'), 'a place that became free is for anybody')
  t.throws(() => accept('10.0.2.1'), { code: 'WEIR_FULL' })
  leave(others.pop()!)
  ends.push(accept('10.0.0.2'))
  t.throws(() => accept('10.0.0.2'), { code: 'WEIR_FULL', message: /this host/ })
})

t.test('connections that come to nothing give their places back', async t => {
  const { accept, leave } = served()
  for (let round = 0; round < 4; round++) {
    const ends = Array.from({ length: 224 }, () => accept('10.0.0.2'))
    t.throws(() => accept('10.0.0.2'), { code: 'WEIR_FULL' })
    for (const end of ends) leave(end)
  }
  t.pass('each of them can be taken again')
})

t.test('both directions together have 512 places, and 16 of them long paths', async t => {
  const streams = new TunnelStreams(() => {})
  const shapes = Array.from({ length: 512 }, () => streams.reserve())
  t.equal(streams.reserve(), null)
  const bytes = shapes.map(shape => shape!.segmentBytes * (shape!.receives + shape!.sends))
  t.equal(bytes.filter(size => size > 4 << 20).length, 16)
  t.ok(bytes.reduce((sum, size) => sum + size) < 512 << 20, 'below 512 MiB in all')
  streams.unreserve()
  t.ok(streams.reserve())
})
