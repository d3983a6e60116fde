/** Managers that talk to each other without faults in between: IPv6, and a host that connects to itself. */
import t from 'tap'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import type { CmEvent } from '../../lib/cm/events.js'
import { flowLabelFor } from '../../lib/cm/flow-label.js'
import { MadDatagram } from '../../lib/cm/outbox.js'
import { Random } from '../../lib/sim/random.js'
import { HostAddress } from '../../lib/wire/net/address.js'

const PORT = 4793

/** Carries datagrams to their destinations until none is left. Records each with its bytes. */
function carry(managers: Map<string, ConnectionManager>, notes: Uint8Array[]): void {
  const datagram = new MadDatagram()
  for (let moved = true; moved; ) {
    moved = false
    for (const manager of managers.values()) {
      if (!manager.pollTransmit(0, datagram)) continue
      moved = true
      notes.push(datagram.bytes.slice())
      managers.get(datagram.destination.toString())!.onMad(0, datagram.source, datagram.view, 0, 256)
    }
  }
}

function eventsOf(manager: ConnectionManager): CmEvent[] {
  const events: CmEvent[] = []
  for (let event = manager.pollEvent(); event; event = manager.pollEvent()) events.push(event)
  return events
}

t.test(
  "over IPv6, with private data both ways and a UDP source port of the active side's choice",
  async t => {
    const addresses = [HostAddress.parse('fd00::1'), HostAddress.parse('2001:db8::2')] as const
    const random = new Random(1)
    const [a, b] = addresses.map(
      (address, i) =>
        new ConnectionManager({ caGuid: BigInt(i + 1), addresses: [address], random: () => random.u32() }),
    ) as [ConnectionManager, ConnectionManager]
    const managers = new Map([
      [addresses[0].toString(), a],
      [addresses[1].toString(), b],
    ])
    const notes: Uint8Array[] = []
    b.listen(PORT)
    const id = a.connect(0, {
      remote: addresses[1],
      port: PORT,
      qpn: 10,
      startingPsn: 11,
      pathMtu: 2048,
      flowLabel: flowLabelFor(0xcafe),
      srq: true,
      privateData: Uint8Array.of(1, 2, 3),
    })
    carry(managers, notes)
    const request = notes[0]!
    t.equal(request[165], 0x60, 'IP version 6 in the CMA header')
    t.same(request.subarray(168, 184), addresses[0].gid)
    t.same(request.subarray(184, 200), addresses[1].gid)
    t.same(request.subarray(80, 96), addresses[0].gid)
    const [asked] = eventsOf(b)
    t.match(asked, {
      type: 'connectRequest',
      remote: addresses[0],
      udpSourcePort: 0xcafe,
      pathMtu: 2048,
      srq: true,
    })
    if (asked?.type === 'connectRequest') t.same(asked.privateData.subarray(0, 4), Uint8Array.of(1, 2, 3, 0))
    b.accept(0, asked!.id, { qpn: 20, startingPsn: 21, srq: true, privateData: Uint8Array.of(9) })
    carry(managers, notes)
    const [connected] = eventsOf(a)
    t.match(connected, { type: 'established', id, peer: { qpn: 20, startingPsn: 21, srq: true, caGuid: 2n } })
    if (connected?.type === 'established') t.same(connected.privateData.subarray(0, 2), Uint8Array.of(9, 0))
    t.match(eventsOf(b), [{ type: 'established', by: 'rtu', peer: { qpn: 10, startingPsn: 11 } }])
  },
)

t.test('a host connects to itself', async t => {
  const address = HostAddress.parse('127.0.0.1')
  const random = new Random(2)
  const manager = new ConnectionManager({ caGuid: 5n, addresses: [address], random: () => random.u32() })
  const managers = new Map([[address.toString(), manager]])
  manager.listen(PORT)
  for (const [active, passive] of [
    [10, 20],
    [11, 21],
  ] as const) {
    const id = manager.connect(0, { remote: address, port: PORT, qpn: active, startingPsn: 1, pathMtu: 1024 })
    carry(managers, [])
    const [asked] = eventsOf(manager)
    manager.accept(0, asked!.id, { qpn: passive, startingPsn: 2 })
    carry(managers, [])
    t.match(eventsOf(manager), [
      { type: 'established', id, peer: { qpn: passive } },
      { type: 'established', id: asked!.id, peer: { qpn: active } },
    ])
    if (active === 10) continue
    const why = new Uint8Array([1, 2, 3])
    manager.disconnect(0, id, why)
    carry(managers, [])
    const heard = new Uint8Array(220)
    heard.set(why)
    t.match(eventsOf(manager), [
      { type: 'disconnected', id: asked!.id, cause: 'peer', privateData: heard },
      { type: 'disconnected', id, cause: 'local', privateData: new Uint8Array() },
    ])
  }
  t.equal(manager.connectionCount, 4)
  t.equal(manager.timewaitCount, 2)
})

/** Two managers that give and take times and depths differently. */
function differentManagers(): { a: ConnectionManager; b: ConnectionManager } {
  const [a, b] = ['10.0.0.1', '10.0.0.2'].map((address, i) => {
    const random = new Random(10 + i)
    return new ConnectionManager({
      caGuid: BigInt(i + 1),
      addresses: [HostAddress.parse(address)],
      random: () => random.u32(),
      responseTimeoutExponent: 12 + i,
      packetLifeTimeExponent: 9 + 5 * i,
      targetAckDelayExponent: 6 + 3 * i,
      peerTimeoutExponentMax: 14 - i,
      maxCmRetries: 5 + i,
    })
  }) as [ConnectionManager, ConnectionManager]
  b.listen(PORT)
  return { a, b }
}

t.test('two managers join by what messages would have said, and part by the same messages', async t => {
  const params = {
    remote: HostAddress.parse('10.0.0.2'),
    port: PORT,
    qpn: 10,
    startingPsn: 11,
    pathMtu: 2048,
    responderResources: 3,
    initiatorDepth: 5,
    rnrRetry: 2,
    retryCount: 4,
    trafficClass: 0x68,
  }
  const answer = {
    qpn: 20,
    startingPsn: 21,
    responderResources: 2,
    initiatorDepth: 7,
    rnrRetry: 6,
    srq: true,
  }
  const byMessages = differentManagers()
  const byHand = differentManagers()
  const managers = new Map([
    ['10.0.0.1', byMessages.a],
    ['10.0.0.2', byMessages.b],
  ])
  const id = byMessages.a.connect(0, params)
  carry(managers, [])
  const [asked] = eventsOf(byMessages.b)
  byMessages.b.accept(0, asked!.id, answer)
  carry(managers, [])
  const [established] = eventsOf(byMessages.a)

  const drawn = byHand.a.drawId()
  const proposed = byHand.a.propose(params, byHand.b)
  const learnt = byHand.a.answerOf(byHand.b, answer)
  t.equal(drawn, id)
  t.equal(proposed.remote.toString(), '10.0.0.1')
  t.same(proposed, asked)
  t.match(established, { type: 'established', peer: learnt })
  t.same([byHand.a.connectionCount, byHand.b.connectionCount], [0, 0], 'neither knows it yet')
  const { ackTimeoutExponent } = proposed
  const own = { ...params, id: drawn, local: HostAddress.parse('10.0.0.1'), ackTimeoutExponent }
  const other = { ...answer, id: proposed.id, local: params.remote, ackTimeoutExponent: 0 }
  t.same(byHand.a.acquaint(0, own, byHand.b, other), [id, asked!.id])
  t.same([eventsOf(byHand.a), eventsOf(byHand.b)], [[], []])
  t.equal(byHand.a.pendingTransmits + byHand.b.pendingTransmits, 0)
  t.equal(byHand.a.nextTimeout(), byMessages.a.nextTimeout())

  const ended: Uint8Array[][] = []
  for (const { a, b } of [byMessages, byHand]) {
    const notes: Uint8Array[] = []
    eventsOf(b)
    b.disconnect(5, asked!.id)
    const repeatNs = b.nextTimeout()
    carry(
      new Map([
        ['10.0.0.1', a],
        ['10.0.0.2', b],
      ]),
      notes,
    )
    t.match(eventsOf(a), [{ type: 'disconnected', cause: 'peer' }])
    ended.push([...notes, Buffer.from(`${repeatNs} ${a.nextTimeout()} ${b.nextTimeout()}`)])
  }
  t.same(ended[1], ended[0], 'the same DREQ and DREP, repeated and forgotten after the same times')
})

t.test('managers that are acquainted with a connection forget it without a datagram', async t => {
  const { a, b } = differentManagers()
  const [left, right] = ['10.0.0.1', '10.0.0.2'].map(address => HostAddress.parse(address)) as [
    HostAddress,
    HostAddress,
  ]
  const own = { id: 7, local: left, qpn: 10, startingPsn: 11, ackTimeoutExponent: 19 }
  const other = { id: 8, local: right, qpn: 20, startingPsn: 21, ackTimeoutExponent: 0 }
  t.same(a.acquaint(0, own, b, other), [7, 8])
  const [id, otherId] = a.acquaint(0, { ...own, qpn: 12 }, b, { ...other, qpn: 22 })!
  t.notOk([7, 8].includes(id) || [7, 8].includes(otherId), 'another id in place of one that is not free')
  for (const of of [7, id]) a.forget(of)
  for (const of of [8, otherId]) b.forget(of)
  t.same([a.connectionCount, b.connectionCount], [0, 0])
  t.equal(a.pendingTransmits + b.pendingTransmits, 0)
  t.same(a.acquaint(0, own, b, other), [7, 8], 'the queue pairs may be used again')
})

t.test('a thousand connections end at once: no datagram is lost, and none has to be repeated', async t => {
  const CONNECTIONS = 1000
  const random = new Random(2)
  const addresses = [HostAddress.parse('10.0.0.1'), HostAddress.parse('10.0.0.2')] as const
  const [a, b] = addresses.map(
    (address, i) =>
      new ConnectionManager({
        caGuid: BigInt(i + 1),
        addresses: [address],
        random: () => random.u32(),
        pendingRequestsMax: CONNECTIONS,
      }),
  ) as [ConnectionManager, ConnectionManager]
  const managers = new Map([
    [addresses[0].toString(), a],
    [addresses[1].toString(), b],
  ])
  b.listen(PORT)
  const ids: number[] = []
  for (let i = 0; i < CONNECTIONS; i++) {
    const of = { remote: addresses[1], port: PORT, qpn: 10 + i, startingPsn: 0, pathMtu: 1024 }
    ids.push(a.connect(0, of))
  }
  t.equal(a.pendingTransmits, 256, 'no more wait in the queue')
  carry(managers, [])
  for (const [i, event] of eventsOf(b).entries()) b.accept(0, event.id, { qpn: 10 + i, startingPsn: 0 })
  carry(managers, [])
  t.equal(eventsOf(a).filter(({ type }) => type === 'established').length, CONNECTIONS)
  t.equal(eventsOf(b).filter(({ type }) => type === 'established').length, CONNECTIONS)
  for (const id of ids) a.disconnect(0, id)
  const notes: Uint8Array[] = []
  carry(managers, notes)
  t.equal(notes.length, 2 * CONNECTIONS, 'a DREQ and a DREP for each')
  for (const manager of [a, b]) {
    t.equal(eventsOf(manager).filter(({ type }) => type === 'disconnected').length, CONNECTIONS)
    t.match(manager.counters, { outboxFull: 0, repeated: 0 })
  }
})
