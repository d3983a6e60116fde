/** Every table and queue is bounded and reports that it is full. Errors name wrong arguments. */
import t from 'tap'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import type { CmOptions, ConnectParams } from '../../lib/cm/options.js'
import { MadDatagram } from '../../lib/cm/outbox.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { OWN, OWN_GUID, PEER, PORT, Script, writeMessage } from './script.js'

const CONNECT: ConnectParams = { remote: PEER, port: PORT, qpn: 50, startingPsn: 0, pathMtu: 1024 }

t.test('requests beyond those that may wait for a decision are refused: no resources', async t => {
  const s = new Script(t, { pendingRequestsMax: 2 })
  s.run(`
    0    < REQ 2001>0 qpn=201
    0    ! connectRequest 1001 qpn=201
    0    < REQ 2002>0 qpn=202
    0    ! connectRequest 1002 qpn=202
    0    < REQ 2003>0 qpn=203
    0    > REJ 0>2003 of=0 reason=3
    1ms  reject 1001
    1ms  > REJ 1001>2001 of=0 reason=28
    2ms  < REQ 2003>0 qpn=203
    2ms  ! connectRequest 1003 qpn=203
    3ms  accept 1002
    3ms  > REP 1002>2002
    4ms  < REQ 2004>0 qpn=204
    4ms  ! connectRequest 1004 qpn=204`)
  t.equal(s.manager.counters.noResources, 1)
})

t.test('a full table refuses requests and connects; the oldest timewait gives way', async t => {
  const s = new Script(t, { connectionsMax: 2 })
  s.run(`
    0    < REQ 2001>0 qpn=201
    0    ! connectRequest 1001 qpn=201
    0    < REQ 2002>0 qpn=202
    0    ! connectRequest 1002 qpn=202
    0    < REQ 2003>0 qpn=203
    0    > REJ 0>2003 of=0 reason=3`)
  t.throws(() => s.manager.connect(s.now, CONNECT), { code: 'WEIR_FULL' })
  s.run(`
    1ms  accept 1002
    1ms  > REP 1002>2002
    2ms  accept 1001
    2ms  > REP 1001>2001
    3ms  < DREQ 2001>1001 qpn=102
    3ms  ! disconnected 1001 peer
    3ms  > DREP 1001>2001
    4ms  < DREQ 2002>1002
    4ms  ! disconnected 1002 peer
    4ms  > DREP 1002>2002
    5ms  < REQ 2004>0 qpn=204
    5ms  ! timewaitEnded 1001
    5ms  ! connectRequest 1003 qpn=204`)
  t.equal(s.manager.counters.timewaitCutShort, 1)
  t.equal(s.manager.connectionCount, 2)
})

t.test('an application that takes no events gets no more connections', async t => {
  let id = 0
  const manager = new ConnectionManager({
    caGuid: OWN_GUID,
    addresses: [OWN],
    random: () => ++id,
    connectionsMax: 4,
  })
  manager.listen(PORT)
  const view = new DataView(new ArrayBuffer(256))
  for (let i = 1; i <= 100; i++) {
    // A request that its sender withdraws at once: the connection is gone, and its two events wait.
    writeMessage(view, 'REQ', 5000 + i, 0, 1n, (_, otherwise) => otherwise)
    manager.onMad(0, PEER, view, 0, 256)
    writeMessage(view, 'REJ', 5000 + i, 0, 1n, (key, otherwise) => (key === 'reason' ? 4 : otherwise))
    manager.onMad(0, PEER, view, 0, 256)
  }
  let events = 0
  while (manager.pollEvent()) events++
  t.equal(events, 16, '4 for each connection that may exist')
  t.equal(manager.counters.noResources, 92)
  t.equal(manager.connectionCount, 0)
})

/** A manager whose transmit queue takes three datagrams, with five connections that are being requested; and what takes its datagrams. */
function fiveRequests() {
  let id = 0
  const manager = new ConnectionManager({
    caGuid: OWN_GUID,
    addresses: [OWN],
    random: () => ++id,
    transmitQueueMax: 3,
  })
  const ids: number[] = []
  for (let i = 0; i < 5; i++) ids.push(manager.connect(0, { ...CONNECT, qpn: 50 + i }))
  const datagram = new MadDatagram()
  const taken = (now: Nanos) => {
    const ofIds: number[] = []
    while (manager.pollTransmit(now, datagram)) ofIds.push(datagram.view.getUint32(24))
    return ofIds
  }
  return { manager, ids, taken }
}

t.test(
  'what does not fit into the transmit queue waits for room, and nothing times out meanwhile',
  async t => {
    const { manager, ids, taken } = fiveRequests()
    t.equal(manager.pendingTransmits, 3, 'the queue is full')
    const leftNs = 5_000_000_000
    t.same(taken(leftNs), ids, 'each leaves once, in the order of the requests')
    t.equal(manager.counters.outboxFull, 0)
    // Linux's cm_convert_to_ms takes 4.096 us * 2^n for 2^(n - 8) ms: the answer's time, and twice the way's.
    const waitNs = (2 ** (20 - 8) + 2 * 2 ** (18 - 8)) * 1_000_000
    t.equal(manager.nextTimeout(), waitNs, 'that of a request that was in the queue at once')
    manager.onTimeout(waitNs)
    t.same(taken(waitNs), ids.slice(0, 3))
    t.equal(manager.counters.repeated, 3)
    manager.onTimeout(leftNs + waitNs)
    t.same(taken(leftNs + waitNs), ids.slice(3), 'the others count from when they got room')
  },
)

t.test('a connection that ends while its message waits for room sends nothing of it', async t => {
  const { manager, ids, taken } = fiveRequests()
  manager.disconnect(0, ids[4]!)
  t.same(taken(0), ids.slice(0, 4), 'neither its REQ, nor the REJ, for which there was no room')
  t.equal(manager.counters.outboxFull, 1)
})

t.test('a queue pair has one connection at a time', async t => {
  const s = new Script(t)
  s.run('0 connect\n0 > REQ 1001>0')
  t.throws(() => s.manager.connect(0, { ...CONNECT, qpn: 101 }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /1001/,
  })
  s.run('1ms < REQ 2001>0\n1ms ! connectRequest 1002 qpn=201')
  t.throws(() => s.manager.accept(s.now, 1002, { qpn: 101, startingPsn: 0 }), { code: 'WEIR_BAD_ARGUMENT' })
  t.equal(s.manager.accept(s.now, 1002, { qpn: 55, startingPsn: 0 }), true, 'the request is still there')
})

t.test(
  'a queue pair is free again when its connection ends, and for the peer already in timewait',
  async t => {
    const s = new Script(t)
    const id = s.manager.connect(0, { ...CONNECT, sourcePort: 9 })
    s.manager.disconnect(0, id)
    t.doesNotThrow(() => s.manager.connect(0, { ...CONNECT, sourcePort: 9 }))
    t.equal(s.manager.connectionCount, 1)
  },
)

t.test('commands on a request that is gone, and out of turn', async t => {
  const s = new Script(t)
  s.run(`
    0    < REQ 2001>0
    0    ! connectRequest 1001 qpn=201
    1ms  < REJ 2001>0 of=2 reason=4
    1ms  ! rejected 1001 reason=4`)
  t.equal(s.manager.accept(s.now, 1001, { qpn: 55, startingPsn: 0 }), false)
  t.equal(s.manager.reject(s.now, 1001), false)
  t.equal(s.manager.mra(s.now, 1001), false)
  s.manager.disconnect(s.now, 1001)
  s.run('2ms connect\n2ms > REQ 1002>0')
  for (const command of ['accept', 'reject', 'mra'] as const) {
    const call = () =>
      command === 'accept'
        ? s.manager.accept(s.now, 1002, { qpn: 55, startingPsn: 0 })
        : s.manager[command](s.now, 1002)
    t.throws(call, { code: 'WEIR_BAD_STATE', message: /REQ_SENT/ })
  }
})

t.test('wrong arguments are named', async t => {
  const manager = new Script(t).manager
  const wrong: [string, Partial<ConnectParams>][] = [
    ['qpn', { qpn: 1 }],
    ['qpn', { qpn: 1 << 24 }],
    ['startingPsn', { startingPsn: -1 }],
    ['port', { port: 0 }],
    ['sourcePort', { sourcePort: 65_536 }],
    ['pathMtu', { pathMtu: 1500 }],
    ['responderResources', { responderResources: 256 }],
    ['initiatorDepth', { initiatorDepth: 0.5 }],
    ['retryCount', { retryCount: 8 }],
    ['rnrRetry', { rnrRetry: 8 }],
    ['ackTimeoutExponent', { ackTimeoutExponent: 32 }],
    ['flowLabel', { flowLabel: 1 << 20 }],
    ['trafficClass', { trafficClass: 256 }],
    ['hopLimit', { hopLimit: 256 }],
    ['privateData.length', { privateData: new Uint8Array(57) }],
    ['local', { local: PEER }],
    ['remote', { remote: HostAddress.parse('fd00::2') }],
  ]
  for (const [name, params] of wrong) {
    t.throws(() => manager.connect(0, { ...CONNECT, ...params }), {
      code: 'WEIR_BAD_ARGUMENT',
      message: new RegExp(`connection manager: ${name} is `),
    })
  }
  t.equal(manager.connectionCount, 0)
  const options: Partial<CmOptions>[] = [
    { caGuid: 1n << 64n },
    { addresses: [] },
    { connectionsMax: 0 },
    { pendingRequestsMax: 5000 },
    { transmitQueueMax: 0 },
    { responseTimeoutExponent: 32 },
    { maxCmRetries: 16 },
  ]
  for (const option of options) {
    const make = () => new ConnectionManager({ caGuid: 1n, addresses: [OWN], random: () => 1, ...option })
    t.throws(make, { code: 'WEIR_BAD_ARGUMENT', message: new RegExp(Object.keys(option)[0]!) })
  }
})

t.test('ids come from the random source, never 0, never one in use; a broken source is an error', async t => {
  const draws = [0, 7, 7, 0, 9]
  const manager = new ConnectionManager({ caGuid: 1n, addresses: [OWN], random: () => draws.shift() ?? 9 })
  const params = { ...CONNECT, sourcePort: 4 }
  t.equal(manager.connect(0, params), 7)
  t.equal(manager.connect(0, { ...params, qpn: 51 }), 9)
  t.throws(() => manager.connect(0, { ...params, qpn: 52 }), { code: 'WEIR_BAD_ARGUMENT', message: /random/ })
})
