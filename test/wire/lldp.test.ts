/** LLDP by the bytes of IEEE Std 802.1AB-2016, and the TLVs of iNOF. */
import { join } from 'node:path'
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { Random } from '../../lib/sim/random.js'
import { WireError } from '../../lib/wire/bytes/wire-error.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as lldp from '../../lib/wire/net/lldp.js'
import { printFrame } from '../../lib/wire/print.js'
import * as inof from '../../lib/wire/weir/inof-tlv.js'
import { drawnSeed } from '../support/seeds.js'
import { writeFrameCapture } from '../support/tcp-capture.js'
import { noTshark, tshark } from '../support/tshark.js'

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

/** Chassis 02:57:0a:00:00:01 (subtype 4), port "eth0" (subtype 7), TTL 2, system "h1", end: figures 8-4 to 8-7, 8-10, 8-3. */
const PLAIN = '0207' + '0402570a000001' + '0405' + '0765746830' + '0602' + '0002' + '0a02' + '6831'
/** OUI 02-57-45, subtype 1: version 1, kind 1, present, IPv4, epochs, last notice 7, 10.0.0.1. */
const PRESENCE = 'fe18' + '02574501' + '01010104' + 'aabbccdd' + '11223344' + '00000007' + '0a000001'
/** Subtype 2: version 1, 2 notices from number 8 on: 10.0.0.2 arrived in zone 3, 10.0.0.3 (storage) failed in zone 0. */
const NOTICES =
  'fe24' +
  '02574502' +
  '01020000' +
  '11223344' +
  'aabbccdd' +
  '00000008' +
  '010000030a000002' +
  '030100000a000003'
const END = '0000'

const SENDER = { chassis: 0x02570a000001, port: 'eth0', ttlSeconds: 2, systemName: 'h1' }

t.test('what an LLDPDU begins with', async t => {
  const bytes = Buffer.alloc(64)
  const view = viewOf(bytes)
  const end = lldp.writeEnd(view, lldp.writeSender(view, 0, SENDER))
  t.equal(bytes.toString('hex', 0, end), PLAIN + END)
  t.equal(lldp.check(view, 0, end), WireError.OK)
  t.equal(lldp.ttlSeconds(view, 0), 2)
  t.equal(lldp.portId(view, 0), 'eth0')
  t.equal(lldp.systemName(view, 0, end), 'h1')
  t.equal(lldp.print(view, 0, end), 'LLDP h1 port eth0 ttl 2')
  t.equal(inof.readPresence(view, 0, end), null, 'no TLV of iNOF')
  t.equal(inof.readNotices(view, 0, end), null)
})

t.test('a presence', async t => {
  const presence = {
    kind: 1,
    state: inof.HostState.PRESENT,
    epoch: 0xaabbccdd,
    switchEpoch: 0x11223344,
    heard: 7,
    address: 0x0a000001,
  }
  const bytes = Buffer.alloc(128)
  const view = viewOf(bytes)
  const end = lldp.writeEnd(view, inof.writePresence(view, lldp.writeSender(view, 0, SENDER), presence))
  t.equal(bytes.toString('hex', 0, end), PLAIN + PRESENCE + END)
  t.equal(lldp.check(view, 0, end), WireError.OK)
  t.same(inof.readPresence(view, 0, end), presence)
  for (const [at, value, why] of [
    [30, 2, 'another version'],
    [33, 6, 'another family'],
    [28, 0x46, 'another OUI'],
  ] as const) {
    const other = Buffer.from(bytes)
    other[at] = value
    t.equal(inof.readPresence(viewOf(other), 0, end), null, why)
  }
})

t.test('notices', async t => {
  const header = { switchEpoch: 0x11223344, epoch: 0xaabbccdd, first: 8 }
  const notices = [
    { event: inof.InofEvent.ARRIVED, kind: 0, zone: 3, address: 0x0a000002 },
    { event: inof.InofEvent.FAILED, kind: 1, zone: 0, address: 0x0a000003 },
  ]
  const bytes = Buffer.alloc(512)
  const view = viewOf(bytes)
  const end = lldp.writeEnd(view, inof.writeNotices(view, lldp.writeSender(view, 0, SENDER), header, notices))
  t.equal(bytes.toString('hex', 0, end), PLAIN + NOTICES + END)
  t.same(inof.readNotices(view, 0, end), { header, notices })
  const most = Array.from({ length: inof.NOTICES_MAX }, () => notices[0]!)
  const last = lldp.writeEnd(view, inof.writeNotices(view, lldp.writeSender(view, 14, SENDER), header, most))
  t.ok(last <= 512, `${last} bytes fit into the slots of virtual time`)
  t.same(inof.readNotices(view, 14, last)?.notices.length, inof.NOTICES_MAX)
})

t.test('what section 9.2.7.7 has a receiver discard, and what not', async t => {
  const check = (hex: string) => {
    const bytes = Buffer.from(hex, 'hex')
    return lldp.check(viewOf(bytes), 0, bytes.length)
  }
  const [chassis, port, ttl] = ['02070402570a000001', '04050765746830', '06020002']
  t.equal(check(chassis + port + ttl), WireError.OK, 'the frame ends without an end')
  t.equal(check(`${chassis + port + ttl + END}ffff`), WireError.OK, 'bytes behind the end')
  t.equal(check(`${chassis + port + ttl}1204deadbeef${END}`), WireError.OK, 'an unknown TLV')
  t.equal(check(port + chassis + ttl + END), WireError.BAD_LLDP, 'the order')
  t.equal(check(chassis + port + END), WireError.BAD_LLDP, 'no TTL')
  t.equal(check(chassis + port + ttl + ttl + END), WireError.BAD_LLDP, 'two TTLs')
  t.equal(check(`020104${port}${ttl}${END}`), WireError.BAD_LLDP, 'a chassis without a value')
  t.equal(check(`${chassis + port}060102${END}`), WireError.BAD_LLDP, 'a TTL of one byte')
  t.equal(check(`${chassis + port + ttl}fe03025745${END}`), WireError.BAD_LLDP, 'an OUI without subtype')
  t.equal(check(`${chassis + port + ttl}fe1802574501`), WireError.SHORT_LLDP, 'cut off')
  t.equal(check(''), WireError.SHORT_LLDP)
  t.equal(check(chassis + port), WireError.SHORT_LLDP, 'cut off between TLVs')
})

t.test('every truncation and random bytes', async t => {
  const random = new Random(drawnSeed(t))
  const whole = Buffer.from(PLAIN + PRESENCE + NOTICES + END, 'hex')
  const look = (bytes: Buffer) => {
    const view = viewOf(bytes)
    if (lldp.check(view, 0, bytes.length) !== WireError.OK) return
    lldp.print(view, 0, bytes.length)
    inof.readPresence(view, 0, bytes.length)
    inof.readNotices(view, 0, bytes.length)
  }
  for (let length = 0; length <= whole.length; length++) look(Buffer.from(whole.subarray(0, length)))
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(whole)
    for (let n = 0; n < 1 + (random.u32() % 4); n++) bytes[random.u32() % bytes.length] = random.u32() & 0xff
    look(bytes)
  }
  t.pass('nothing throws')
})

t.test('the dissector of Wireshark', { skip: noTshark }, async t => {
  const link = Buffer.from('0180c200000e02570a00000188cc', 'hex')
  const body = Buffer.from(PLAIN + PRESENCE + NOTICES + END, 'hex')
  const path = join(t.testdir({}), 'lldp.pcap')
  const bytes = Buffer.concat([link, body])
  writeFrameCapture(path, [bytes])
  const fields = ['eth.dst', 'lldp.time_to_live', 'lldp.tlv.system.name', 'lldp.orgtlv.oui', '_ws.malformed']
  t.same(tshark(path, fields, '', false), [['01:80:c2:00:00:0e', '2', 'h1', `${inof.OUI},${inof.OUI}`, '']])
  const frame = new Frame(0, bytes)
  frame.length = frame.wireLength = bytes.length
  t.match(printFrame(frame), 'LLDP h1 port eth0 ttl 2')
  t.equal(ethernet.destination(frame.view, 0), lldp.NEAREST_BRIDGE)
})
