/**
 * Weir's manager replaces one of Linux's hosts in each capture. It gets the other host's datagrams at the
 * times at which they were captured, and must send what Linux sent, byte for byte.
 */
import t, { type Test } from 'tap'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import type { CmEvent } from '../../lib/cm/events.js'
import type { AcceptParams, ConnectParams } from '../../lib/cm/options.js'
import { MadDatagram } from '../../lib/cm/outbox.js'
import type { Nanos } from '../../lib/time/nanos.js'
import * as messages from '../../lib/wire/cm/cm-messages.js'
import * as mad from '../../lib/wire/cm/mad.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { type CapturedMad, readCapture } from './captures.js'

const A = HostAddress.parse('10.99.0.1')
const B = HostAddress.parse('10.99.0.2')
const GUID_A = 0x505400fffe990001n
const GUID_B = 0x505400fffe990002n

interface Sent {
  now: Nanos
  destination: string
  bytes: Uint8Array
}

class Replay {
  readonly manager: ConnectionManager
  readonly sent: Sent[] = []
  readonly events: CmEvent[] = []
  readonly #datagram = new MadDatagram()

  /** @param ids the communication ids that Linux drew, in the order of the connections */
  constructor(address: HostAddress, ids: number[]) {
    this.manager = new ConnectionManager({
      caGuid: address === A ? GUID_A : GUID_B,
      addresses: [address],
      random: () => ids.shift()!,
    })
  }

  /** Lets the timers run up to a time. */
  until(now: Nanos): void {
    for (let due = this.manager.nextTimeout(); due <= now; due = this.manager.nextTimeout()) {
      this.manager.onTimeout(due)
      this.drain(due)
    }
  }

  drain(now: Nanos): void {
    for (let event = this.manager.pollEvent(); event; event = this.manager.pollEvent())
      this.events.push(event)
    while (this.manager.pollTransmit(now, this.#datagram)) {
      const { destination, bytes } = this.#datagram
      this.sent.push({ now, destination: String(destination), bytes: bytes.slice() })
    }
  }

  receive(captured: CapturedMad): void {
    this.until(captured.timeNs)
    this.manager.onMad(captured.timeNs, captured.source, captured.view, 0, mad.BYTES)
    this.drain(captured.timeNs)
  }

  /** The command that made Linux send this datagram. */
  command(captured: CapturedMad, command: (now: Nanos) => void): void {
    this.until(captured.timeNs)
    command(captured.timeNs)
    this.drain(captured.timeNs)
  }

  lastId(): number {
    const request = this.events.findLast(event => event.type === 'connectRequest')
    return request!.id
  }
}

function name(bytes: Uint8Array): string {
  return messages.attributeName(mad.attributeId(new DataView(bytes.buffer, bytes.byteOffset, 256), 0))
}

function sameBytes(t: Test, replay: Replay, captured: CapturedMad[]): void {
  t.same(
    replay.sent.map(({ bytes }) => name(bytes)),
    captured.map(({ bytes }) => name(bytes)),
    'the same messages in the same order',
  )
  for (const [i, { bytes, packet, capture, destination }] of captured.entries()) {
    const ours = replay.sent[i]
    if (!ours) continue
    t.equal(
      Buffer.from(ours.bytes).toString('hex'),
      Buffer.from(bytes).toString('hex'),
      `${capture} ${packet}`,
    )
    t.equal(ours.destination, String(destination))
  }
}

const by = (address: HostAddress, mads: CapturedMad[]) => mads.filter(({ source }) => source.equals(address))
const text = (value: string) => new Uint8Array(Buffer.from(value, 'latin1'))

/** What the programs of the captures requested from librdmacm. */
const RPING: ConnectParams = {
  remote: A,
  port: 7174,
  sourcePort: 0,
  qpn: 0x11,
  startingPsn: 0x2550c1,
  pathMtu: 4096,
}

/** The source port is the only number that a program does not choose: it is read from the CMA header. */
const sourcePortOf = (captured: CapturedMad) => captured.view.getUint16(166)

t.test('the active side of rping', async t => {
  const { mads } = readCapture('cm_rping')
  const [request, reply, , close, closed] = mads as [
    CapturedMad,
    CapturedMad,
    CapturedMad,
    CapturedMad,
    CapturedMad,
  ]
  const replay = new Replay(B, [0x5a311535])
  const { manager } = replay
  let id = 0
  replay.command(request, now => {
    id = manager.connect(now, { ...RPING, sourcePort: sourcePortOf(request) })
  })
  replay.receive(reply)
  replay.command(close, now => manager.disconnect(now, id))
  replay.receive(closed)
  sameBytes(t, replay, by(B, mads))
  t.match(replay.events, [
    {
      type: 'established',
      by: 'rep',
      roundTripNs: reply.timeNs - request.timeNs,
      peer: {
        qpn: 0x11,
        startingPsn: 0x6c80f9,
        responderResources: 1,
        initiatorDepth: 1,
        rnrRetry: 7,
        caGuid: GUID_A,
      },
    },
    { type: 'disconnected', id, cause: 'local', privateData: new Uint8Array() },
  ])
  t.equal(manager.timewaitCount, 1)
  t.equal(manager.nextTimeout() - closed.timeNs, 2_048_000_000, 'timewait is 2^(19-8) ms')
  replay.until(closed.timeNs + 3e9)
  t.match(replay.events[2], { type: 'timewaitEnded', id, qpn: 0x11 })
  t.equal(manager.connectionCount, 0)
})

t.test('the passive side of rping; the starting PSNs are those of the data', async t => {
  const { mads, data } = readCapture('cm_rping')
  const [request, reply, ready, close] = mads as [CapturedMad, CapturedMad, CapturedMad, CapturedMad]
  const replay = new Replay(A, [0x43786b38])
  const { manager } = replay
  manager.listen(7174)
  replay.receive(request)
  const asked = replay.events[0]!
  t.match(asked, {
    type: 'connectRequest',
    port: 7174,
    sourcePort: sourcePortOf(request),
    qpn: 0x11,
    startingPsn: 0x2550c1,
    pathMtu: 4096,
    retryCount: 7,
    rnrRetry: 7,
    ackTimeoutExponent: 19,
    udpSourcePort: 54392,
    caGuid: GUID_B,
  })
  replay.command(reply, now => manager.accept(now, replay.lastId(), { qpn: 0x11, startingPsn: 0x6c80f9 }))
  replay.receive(ready)
  t.match(replay.events[1], { type: 'established', by: 'rtu', roundTripNs: ready.timeNs - reply.timeNs })
  replay.receive(close)
  t.match(replay.events[2], { type: 'disconnected', cause: 'peer' })
  sameBytes(t, replay, by(A, mads))
  const requests = data.filter(
    packet => packet.source.equals(A) && packet.psn >= 0x2550c1 && packet.psn < 0x2560c1,
  )
  t.equal(requests[0]!.psn, 0x2550c1, 'the passive side sends from the PSN that the REQ named')
  t.equal(
    data.find(packet => packet.source.equals(B))!.psn,
    0x6c80f9,
    'the active one from the one that the REP named',
  )
})

/** cm_privdata: distinct values in every parameter. */
const PRIVATE_CONNECT: ConnectParams = {
  remote: A,
  port: 7174,
  qpn: 0x15,
  startingPsn: 0x530fae,
  pathMtu: 4096,
  responderResources: 4,
  initiatorDepth: 5,
  retryCount: 6,
  rnrRetry: 3,
  privateData: text('CLIPRIV_REQDATA'),
}
const PRIVATE_ACCEPT: AcceptParams = {
  qpn: 0x14,
  startingPsn: 0xebf11e,
  responderResources: 2,
  initiatorDepth: 3,
  rnrRetry: 5,
  privateData: text('SRVPRIV_REPDATA'),
}

t.test('distinct parameters and private data, active side', async t => {
  const { mads } = readCapture('cm_privdata')
  const [request, reply, , close, closed] = mads as [
    CapturedMad,
    CapturedMad,
    CapturedMad,
    CapturedMad,
    CapturedMad,
  ]
  const replay = new Replay(B, [0x5e311535])
  let id = 0
  replay.command(request, now => {
    id = replay.manager.connect(now, { ...PRIVATE_CONNECT, sourcePort: sourcePortOf(request) })
  })
  replay.receive(reply)
  replay.command(close, now => replay.manager.disconnect(now, id))
  replay.receive(closed)
  sameBytes(t, replay, by(B, mads))
  const established = replay.events[0]!
  // REP rr=2 id=3 reads as rr=3 id=2 on the client.
  t.match(established, { peer: { responderResources: 3, initiatorDepth: 2, rnrRetry: 5 } })
  if (established.type === 'established') {
    t.equal(established.privateData.length, 196)
    t.equal(Buffer.from(established.privateData).toString('latin1', 0, 15), 'SRVPRIV_REPDATA')
  }
})

t.test('distinct parameters and private data, passive side', async t => {
  const { mads } = readCapture('cm_privdata')
  const [request, reply, ready, close] = mads as [CapturedMad, CapturedMad, CapturedMad, CapturedMad]
  const replay = new Replay(A, [0x4a786b38])
  replay.manager.listen(7174)
  replay.receive(request)
  const asked = replay.events[0]!
  // REQ rr=4 id=5 reads as rr=5 id=4 on the server.
  t.match(asked, {
    type: 'connectRequest',
    responderResources: 5,
    initiatorDepth: 4,
    retryCount: 6,
    rnrRetry: 3,
  })
  if (asked.type === 'connectRequest') {
    t.equal(asked.privateData.length, 56)
    t.equal(Buffer.from(asked.privateData).toString('latin1', 0, 15), 'CLIPRIV_REQDATA')
  }
  replay.command(reply, now => replay.manager.accept(now, replay.lastId(), PRIVATE_ACCEPT))
  replay.receive(ready)
  replay.receive(close)
  sameBytes(t, replay, by(A, mads))
})

t.test('the server closes: both sides', async t => {
  const { mads } = readCapture('cm_srv_disc')
  const [request, reply, ready, close, closed] = mads as [
    CapturedMad,
    CapturedMad,
    CapturedMad,
    CapturedMad,
    CapturedMad,
  ]
  const server = new Replay(A, [0x4e786b38])
  server.manager.listen(7174)
  server.receive(request)
  server.command(reply, now =>
    server.manager.accept(now, server.lastId(), {
      qpn: 0x15,
      startingPsn: 0x6e3d95,
      responderResources: 2,
      initiatorDepth: 3,
      rnrRetry: 5,
      privateData: reply.bytes.slice(60),
    }),
  )
  server.receive(ready)
  server.command(close, now => server.manager.disconnect(now, server.lastId()))
  server.receive(closed)
  sameBytes(t, server, by(A, mads))

  const client = new Replay(B, [0x5c311535])
  client.command(request, now => {
    client.manager.connect(now, connectLike(request))
  })
  client.receive(reply)
  client.receive(close)
  sameBytes(t, client, by(B, mads))
  t.match(client.events[1], { type: 'disconnected', cause: 'peer' })
})

/** The parameters of a captured REQ, read at the offsets of the reference by hand. */
function connectLike({ view, bytes }: CapturedMad): ConnectParams {
  return {
    remote: A,
    port: view.getUint16(38),
    sourcePort: view.getUint16(166),
    qpn: view.getUint32(56) >>> 8,
    startingPsn: view.getUint32(68) >>> 8,
    pathMtu: 4096,
    responderResources: bytes[59]!,
    initiatorDepth: bytes[63]!,
    retryCount: bytes[71]! & 7,
    rnrRetry: bytes[74]! & 7,
    privateData: bytes.slice(200, 256),
  }
}

t.test('nobody listens: both sides', async t => {
  const { mads } = readCapture('cm_rej_noport')
  const [request, refusal] = mads as [CapturedMad, CapturedMad]
  const server = new Replay(A, [])
  server.manager.listen(7174)
  server.receive(request)
  sameBytes(t, server, [refusal])
  t.same(server.events, [])
  t.equal(server.manager.connectionCount, 0)

  const client = new Replay(B, [0x59311535])
  client.command(request, now => {
    client.manager.connect(now, connectLike(request))
  })
  client.receive(refusal)
  sameBytes(t, client, [request])
  t.match(client.events, [{ type: 'rejected', reason: 8 }])
  t.equal(client.manager.connectionCount, 0)
})

t.test('the application refuses: both sides', async t => {
  const { mads } = readCapture('cm_rej_user')
  const [request, refusal] = mads as [CapturedMad, CapturedMad]
  const said = refusal.bytes.slice(108, 256)
  const server = new Replay(A, [0x48786b38])
  server.manager.listen(7174)
  server.receive(request)
  server.command(refusal, now => server.manager.reject(now, server.lastId(), undefined, said))
  sameBytes(t, server, [refusal])
  t.equal(server.manager.connectionCount, 0)

  const client = new Replay(B, [0x5f311535])
  client.command(request, now => {
    client.manager.connect(now, connectLike(request))
  })
  client.receive(refusal)
  const [event] = client.events
  t.match(event, { type: 'rejected', reason: 28 })
  if (event?.type === 'rejected') t.same(event.privateData, said)
})

t.test('the RTU is lost twice: the passive side repeats its REP as Linux does', async t => {
  const { mads } = readCapture('cm_lost_rtu')
  const replay = new Replay(A, [0x57786b38])
  replay.manager.listen(7174)
  replay.receive(mads[0]!)
  const reply = mads[1]!
  replay.command(reply, now =>
    replay.manager.accept(now, replay.lastId(), {
      qpn: 0x18,
      startingPsn: 0xc19a36,
      responderResources: 2,
      initiatorDepth: 3,
      rnrRetry: 5,
      privateData: reply.bytes.slice(60),
    }),
  )
  // Linux's host did not see the RTUs of packets 3 and 5.
  replay.receive(mads[6]!)
  t.equal(replay.events.filter(event => event.type === 'established').length, 1)
  t.match(replay.events[1], { roundTripNs: null }, 'a repeated message measures nothing')
  replay.command(mads[7]!, now => replay.manager.disconnect(now, replay.lastId()))
  replay.receive(mads[8]!)
  sameBytes(t, replay, by(A, mads))
  const captured = by(A, mads).map(({ timeNs }) => timeNs)
  for (const i of [1, 2]) {
    const ours = replay.sent[i]!.now - replay.sent[i - 1]!.now
    t.equal(ours, 4_096_000_000, '2^(20-8) ms')
    const theirs = captured[i]! - captured[i - 1]!
    t.ok(theirs > ours && theirs < ours * 1.1, `${theirs / 1e9} s in the capture`)
  }
})

t.test('the RTU is lost twice: the active side answers each REP', async t => {
  const { mads } = readCapture('cm_lost_rtu')
  const replay = new Replay(B, [0x53311535])
  replay.command(mads[0]!, now => {
    replay.manager.connect(now, connectLike(mads[0]!))
  })
  for (const i of [1, 3, 5, 7]) replay.receive(mads[i]!)
  sameBytes(t, replay, by(B, mads))
  t.same(
    replay.events.map(event => event.type),
    ['established', 'disconnected'],
  )
})

t.test('two connections to one port, closed by the server: both sides', async t => {
  const { mads } = readCapture('cm_sendbw_R')
  const server = new Replay(A, [0x41786b38, 0x47786b38])
  const client = new Replay(B, [0x5b311535, 0x58311535])
  server.manager.listen(18515)
  for (const captured of mads) {
    const kind = name(captured.bytes)
    if (captured.source.equals(B)) {
      server.receive(captured)
      if (kind === 'REQ') client.command(captured, now => client.manager.connect(now, connectLike(captured)))
      continue
    }
    const { view, bytes } = captured
    const id = view.getUint32(24)
    if (kind === 'REP') {
      const params = {
        qpn: view.getUint32(36) >>> 8,
        startingPsn: view.getUint32(44) >>> 8,
        responderResources: bytes[48]!,
        initiatorDepth: bytes[49]!,
      }
      server.command(captured, now => server.manager.accept(now, id, params))
    } else server.command(captured, now => server.manager.disconnect(now, id))
    client.receive(captured)
  }
  sameBytes(t, server, by(A, mads))
  sameBytes(t, client, by(B, mads))
})
