/**
 * Hosts that count the IPv4 identification in their ICRCs, as Linux's rdma_rxe and network cards do, behind a
 * socket that hides it: the ICRC is checked up to its 16 bits. Between Weir hosts it is 0, and checked whole.
 */
import t from 'tap'
import { CapturedPacket, CaptureReader, loadFrame } from '../../lib/capture/capture-reader.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { fixturePath } from '../support/fixtures.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { App, frameName, makePair, memoryOf, type Pair, PORT, pattern } from './pair.js'

const HIDDEN: Partial<NicConfig> = { seesIds: false }

/** Gives the frame an identification that its ICRC covers, and takes it away again as a socket does. */
function hideId(frame: Frame, id: number): void {
  const { view, l3 } = frame
  ipv4.setIdentification(view, l3, id)
  icrc.write(frame)
  ipv4.setIdentification(view, l3, 0)
}

/** `a` is a plain host that numbers its packets; what it hears of `b` has to be right for the identification 0. */
function plainHost(pair: Pair): { wrong: number } {
  const seen = { wrong: 0 }
  let id = 0xfff0
  pair.tap.watch = (frame, _now, fromA) => {
    takeWordsOut(frame)
    if (fromA) hideId(frame, id++ & 0xffff || 1)
    else if (ipv4.identification(frame.view, frame.l3) !== 0 || !icrc.verify(frame)) seen.wrong++
    return true
  }
  return seen
}

t.test('a plain host connects to one that does not see identifications, and the other way round', async t => {
  for (const active of ['a', 'b'] as const) {
    const pair = makePair({ b: HIDDEN })
    const seen = plainHost(pair)
    const [left, right] = [new App(pair.a), new App(pair.b)]
    const passive = active === 'a' ? 'b' : 'a'
    const apps = { a: left, b: right }
    pair[passive].listen(PORT, { accept: () => apps[passive] })
    pair[active].connect(pair.network.now, pair[passive].address, PORT, apps[active])
    pair.until(() => left.connection?.established === true && right.connection?.established === true)
    const sent = pattern(7, 50_000)
    const sink = memoryOf(pair.b, Buffer.alloc(sent.length))
    const region = memoryOf(pair.a, sent)
    const back = memoryOf(pair.b, Buffer.alloc(sent.length))
    const work = { id: 1, offset: 0, length: sent.length }
    left.connection!.postSend(pair.network.now, {
      ...work,
      opcode: WorkOpcode.RDMA_WRITE,
      region,
      remoteAddress: sink.address,
      rkey: sink.key,
    })
    right.connection!.postSend(pair.network.now, {
      ...work,
      opcode: WorkOpcode.RDMA_READ,
      region: back,
      remoteAddress: region.address,
      rkey: region.key,
    })
    const done = (app: App) => app.log.includes('completion 1 SUCCESS')
    t.ok(
      pair.until(() => done(left) && done(right)),
      `${active} connects`,
    )
    t.same([sink.buffer!.equals(sent), back.buffer!.equals(sent)], [true, true])
    left.connection!.disconnect(pair.network.now)
    pair.settle()
    t.same([left.closed, right.closed, pair.pool.inUse, seen.wrong], [1, 1, 0, 0])
    t.equal(pair.b.counters.rx.badIcrc, 0)
  }
})

t.test('damage is found all the same', async t => {
  const pair = makePair({ b: HIDDEN })
  plainHost(pair)
  const pass = pair.tap.watch
  let damaged = 0
  pair.tap.watch = (frame, now, fromA) => {
    pass(frame, now, fromA)
    // Retransmissions are left alone.
    if (fromA && frameName(frame).startsWith('RC_SEND') && damaged < 5 && frame.payloadLength > 100) {
      frame.view.setUint8(frame.payload + 9 * damaged, frame.view.getUint8(frame.payload + 9 * damaged) ^ 4)
      damaged++
    }
    return true
  }
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(PORT, { accept: () => right })
  const region = memoryOf(pair.a, pattern(9, 8000))
  left.onReady = (now, connection) =>
    connection.postSend(now, { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 8000 })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.equal(right.log.at(-1), `received ${region.buffer!.toString('latin1')}`)
  t.equal(pair.b.counters.rx.badIcrc, 5)
})

t.test('a Weir host counts the identification as 0: whatever else the ICRC covers is damage', async t => {
  const pair = makePair({ b: HIDDEN })
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  pair.until(() => right.log.includes('established'))
  let hidden = 0
  pair.tap.watch = (frame, _now, fromA) => {
    if (fromA && frameName(frame) === 'RC_SEND_ONLY' && hidden++ === 0) hideId(frame, 1)
    return true
  }
  const region = memoryOf(pair.a, Buffer.from('seven stones'))
  left.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.SEND,
    region,
    offset: 0,
    length: 12,
  })
  t.ok(pair.until(() => right.log.includes('received seven stones')))
  t.equal(pair.b.counters.rx.badIcrc, 1)
})

t.test('requests that Linux sent are answered', async t => {
  for (const file of ['cm_rping', 'cm_sendbw_R', 'cm_privdata']) {
    const reader = CaptureReader.open(fixturePath('roce-pcaps', `${file}.pcap`))
    const packet = new CapturedPacket()
    let requests = 0
    while (reader.next(packet)) {
      const pair = makePair({ b: { ...HIDDEN, address: HostAddress.parse('10.99.0.1'), pathMtu: 4096 } })
      const frame = pair.pool.take()!
      loadFrame(packet, frame)
      parseFrame(frame)
      if (frame.bth < 0 || frameName(frame) !== 'REQ') continue
      t.not(ipv4.identification(frame.view, frame.l3), 0)
      ipv4.setIdentification(frame.view, frame.l3, 0)
      const right = new App(pair.b)
      for (const port of [7174, 7471, 18_515]) pair.b.listen(port, { accept: () => right })
      frame.l3 = -1
      pair.b.onFrame(pair.network.now, 0, frame)
      if (!pair.until(() => pair.passed.includes('<REP'))) t.fail(`${file}: ${pair.passed}`)
      requests++
    }
    reader.close()
    t.ok(requests > 0, file)
  }
})

t.test('who does not choose identifications says so at connect, and answers no plain host', async t => {
  const pair = makePair({ b: { seesIds: false, choosesIds: false } })
  plainHost(pair)
  const back = pair.tap.watch
  // A plain host hears nothing of what has the wrong ICRC.
  pair.tap.watch = (frame, now, fromA) => back(frame, now, fromA) && fromA
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(PORT, { accept: () => right })
  pair.b.connect(pair.network.now, pair.a.address, PORT, right)
  pair.settle()
  pair.settle()
  t.match(right.error?.message, /did not answer: .*io dgram reaches Weir hosts only/)
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  pair.settle()
  pair.settle()
  t.equal(left.error?.code, 'WEIR_UNREACHABLE')
  t.ok(pair.b.counters.rx.badIcrc > 0)
})

t.test('a connect that fails says what has arrived', async t => {
  for (const v6 of [false, true]) {
    const pair = makePair({ v6, b: HIDDEN })
    const right = new App(pair.b)
    pair.a.listen(PORT, { accept: () => new App(pair.a) })
    let answers = 0
    pair.tap.watch = (frame, _now, fromA) => {
      if (!fromA) return true
      answers++
      frame.view.setUint8(frame.payload + 60, frame.view.getUint8(frame.payload + 60) ^ 1)
      return true
    }
    pair.b.connect(pair.network.now, pair.a.address, PORT, right)
    pair.settle()
    pair.settle()
    const message = right.error!.message
    const said = Number(/(\d+) packets of /.exec(message)?.[1])
    t.match(message, new RegExp(`of ${pair.a.address} had wrong ICRCs`))
    t.ok(said > 0 && said <= answers, message)
  }
})
