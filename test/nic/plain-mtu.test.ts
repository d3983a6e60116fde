/**
 * Path MTU with a peer that is no Weir host: nobody agrees on the smaller one, so packets are as long as the
 * request says (IBA 12.6.5). A request for longer ones than this host has is rejected (IBA 12.6.7.2, reason
 * 26).
 */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Reason, reason } from '../../lib/wire/cm/rej.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { App, frameName, makePair, memoryOf, PORT, pattern } from './pair.js'

/** A SEND of two packets or more from `a`, which is no Weir host and has that path MTU; `b` has 1024, or what is in `at`. */
function send(pathMtu: number, at: NonNullable<Parameters<typeof makePair>[0]>['b'] = {}) {
  const pair = makePair({ a: { pathMtu }, b: { pathMtu: 1024, ...at } })
  const reasons: number[] = []
  pair.tap.watch = frame => {
    takeWordsOut(frame)
    if (frameName(frame) === 'REJ') reasons.push(reason(frame.view, frame.payload))
    return true
  }
  const left = new App(pair.a)
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  const length = 5000
  const region = memoryOf(pair.a, pattern(1, length))
  left.onReady = (now, connection) =>
    connection.postSend(now, { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  pair.until(() => left.log.includes('completion 1 SUCCESS') || left.closed > 0)
  return { left, right, reasons }
}

t.test('the same path MTU, and a shorter one, are taken as they are', async t => {
  for (const pathMtu of [256, 1024]) {
    const { left, right } = send(pathMtu)
    t.same(left.log, ['created', 'established', 'completion 1 SUCCESS'], `${pathMtu}`)
    t.equal(right.connection!.pathMtu, pathMtu)
  }
})

t.test('a longer one is rejected at once, with its reason', async t => {
  const { left, right, reasons } = send(2048)
  t.same(left.log, ['created', 'closed WEIR_REJECTED'])
  t.match(left.error?.message, /refused the connection: invalid path mtu/)
  t.same(reasons, [Reason.INVALID_PATH_MTU])
  t.same(right.log, [], 'no application hears of it')
})

t.test('one for which telemetry leaves no room is taken: such peers have none', async t => {
  // A WRITE of one packet with immediate: IPv4 20, UDP 8, BTH 12, RETH 16, ImmDt 4, ICRC 4.
  const bytes = 20 + 8 + 12 + 16 + 4 + 4 + 4096
  const { left, right } = send(4096, { pathMtu: 2048, packetBytesMax: bytes })
  t.same(left.log, ['created', 'established', 'completion 1 SUCCESS'])
  t.equal(right.connection!.pathMtu, 4096)
  t.same(send(4096, { pathMtu: 2048, packetBytesMax: bytes - 1 }).reasons, [Reason.INVALID_PATH_MTU])
})
