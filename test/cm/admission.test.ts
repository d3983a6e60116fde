/**
 * Which REQs are refused and with which reasons, and which irregular ones are accepted: what Linux's stack
 * was seen to do.
 */
import t, { type Test } from 'tap'
import type { ConnectRequest } from '../../lib/cm/events.js'
import type { CmOptions } from '../../lib/cm/options.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { type Bend, OWN, PEER, Script, writeMessage } from './script.js'

const ACCEPTED = '0 ! connectRequest 1001 qpn=201'

function one(
  t: Test,
  name: string,
  request: string,
  answer: string,
  bend?: Bend,
  options: Partial<CmOptions> = {},
): Script {
  t.comment(name)
  const s = new Script(t, options, bend ? { bent: bend } : {})
  s.run(`0 < REQ 2001>0 ${request} ${bend ? 'bent' : ''}\n${answer}`)
  return s
}

t.test('nobody listens to the port, or in that port space', async t => {
  one(t, 'port', 'port=9', '0 > REJ 0>2001 of=0 reason=8')
  one(t, 'port space UDP', '', '0 > REJ 0>2001 of=0 reason=8', view => view.setUint32(36, 0x01110000 + 7174))
  const s = new Script(t)
  s.manager.unlisten(7174)
  s.run('0 < REQ 2001>0\n0 > REJ 0>2001 of=0 reason=8')
  t.throws(() => s.manager.listen(0), { code: 'WEIR_BAD_ARGUMENT' })
  s.manager.listen(7174)
  t.throws(() => s.manager.listen(7174), { code: 'WEIR_BAD_STATE' })
})

t.test('a GID that is not ours, or a P_Key of another partition: reason 12 with our GID', async t => {
  for (const bend of [
    (view: DataView) => view.setUint8(111, 9),
    (view: DataView) => view.setUint16(72, 0x8001),
  ]) {
    const s = one(t, 'bent', '', '0 > REJ 0>2001 of=0 reason=12', bend)
    t.equal(s.sent[0]![33], 16 << 1)
    t.same(s.sent[0]!.subarray(36, 52), OWN.gid)
  }
})

t.test('a CMA header that is wrong or absent, an unreliable connection: reason 28 of nobody', async t => {
  const answer = '0 > REJ 0>2001 of=0 reason=28'
  one(t, 'version', '', answer, view => view.setUint8(164, 1))
  one(t, 'IP version', '', answer, view => view.setUint8(165, 0x50))
  one(t, 'IP version of the other family', '', answer, view => view.setUint8(165, 0x60))
  one(t, 'destination', '', answer, view => view.setUint8(199, 9))
  one(t, 'absent', '', answer, view => {
    for (let i = 164; i < 200; i++) view.setUint8(i, 0)
  })
  one(t, 'UC', 'transport=1', answer)
})

t.test('a queue pair of management: reason 5 of nobody', async t => {
  for (const qpn of [0, 1]) one(t, `queue pair ${qpn}`, `qpn=${qpn}`, '0 > REJ 0>2001 of=0 reason=5')
})

t.test('a path MTU that is none: reason 28 of a connection', async t => {
  for (const mtu of [6, 7, 15]) one(t, `code ${mtu}`, `mtu=${mtu}`, '0 > REJ 1001>2001 of=0 reason=28')
})

t.test('what is let pass', async t => {
  const bend = (name: string, change: Bend) => one(t, name, '', ACCEPTED, change)
  bend('CMA source of another host', view => view.setUint8(183, 99))
  bend('CA GUID 0', view => view.setBigUint64(40, 0n))
  bend('LIDs', view => view.setUint32(76, 0x00070008))
  bend('subnet local', view => view.setUint8(118, 8))
  bend('hop limit', view => view.setUint8(117, 1))
  bend('packet rate', view => view.setUint8(115, view.getUint8(115) | 2))
  bend('P_Key 0x7fff', view => view.setUint16(72, 0x7fff))
  bend('no retries', view => view.setUint8(75, 0))
  bend('ACK timeout 0', view => view.setUint8(119, 0))
  for (const value of [0, 200]) one(t, `resources ${value}`, `rr=${value} id=${value}`, ACCEPTED)
  for (const [code, bytes] of [
    [0, 0],
    [1, 256],
    [5, 4096],
  ]) {
    const s = one(t, `MTU code ${code}`, `mtu=${code}`, ACCEPTED)
    t.match(s.events[0], { pathMtu: bytes })
  }
  const label = one(t, 'no flow label', '', ACCEPTED, view => view.setUint32(112, 0))
  t.match(label.events[0], { flowLabel: 0, udpSourcePort: 0 })
})

t.test('what is dropped without a word', async t => {
  const faults: [string, Bend][] = [
    ['base version', view => view.setUint8(0, 2)],
    ['class', view => view.setUint8(1, 4)],
    ['class version', view => view.setUint8(2, 1)],
    ['method', view => view.setUint8(3, 0x83)],
    ['attribute', view => view.setUint16(16, 0x19)],
    ['no communication id', view => view.setUint32(24, 0)],
  ]
  for (const [name, bend] of faults) t.equal(one(t, name, '', '', bend).manager.counters.malformed, 1)
  const s = one(t, 'source GID of another host', '', '', view => view.setUint8(95, 99))
  t.equal(s.manager.counters.wrongSource, 1)
})

t.test('lengths: 232 to 256 bytes, anywhere in the view; nothing is read beyond the end', async t => {
  const s = new Script(t)
  const view = new DataView(new ArrayBuffer(400))
  const request = new DataView(new ArrayBuffer(256))
  writeMessage(request, 'REQ', 2001, 0, 1n, (_, otherwise) => otherwise)
  const bytes = new Uint8Array(view.buffer).fill(0xff)
  bytes.set(new Uint8Array(request.buffer), 100)
  for (const [at, end] of [
    [100, 331],
    [100, 357],
    [200, 456],
    [-1, 255],
    [300, 100],
    [Number.NaN, 256],
  ] as const) {
    s.manager.onMad(0, PEER, view, at, end)
  }
  t.equal(s.manager.counters.malformed, 6)
  t.equal(s.manager.pollEvent(), null)
  // A whole datagram of a foreign class. Its bytes must not show where the next one is short.
  s.manager.onMad(0, PEER, view, 110, 366)
  s.manager.onMad(0, PEER, view, 100, 332)
  const event = s.manager.pollEvent()
  t.match(event, { type: 'connectRequest', qpn: 201 })
  const data = (event as ConnectRequest).privateData
  t.equal(data.length, 56)
  t.ok(
    data.subarray(32).every(byte => byte === 0),
    'what the datagram lacks is zero, not what follows it in the frame',
  )
})

t.test('IPv6: GIDs and CMA header are the addresses', async t => {
  const own = HostAddress.parse('fd00::1')
  const peer = HostAddress.parse('fd00::2')
  const bend: Bend = view => {
    for (let i = 0; i < 16; i++) {
      for (const at of [80, 168]) view.setUint8(at + i, peer.gid[i]!)
      for (const at of [96, 184]) view.setUint8(at + i, own.gid[i]!)
    }
    view.setUint8(165, 0x60)
  }
  const view = new DataView(new ArrayBuffer(256))
  writeMessage(view, 'REQ', 2001, 0, 1n, (_, otherwise) => otherwise)
  bend(view)
  // A host with addresses of both families answers from the requested one.
  const s = new Script(t, { addresses: [OWN, own] })
  s.manager.onMad(0, peer, view, 0, 256)
  t.match(s.manager.pollEvent(), { type: 'connectRequest', remote: peer, local: own, sourcePort: 40_001 })
})
