/** Wireshark's reading of captures of virtual runs, and of single frames. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CapturedPacket, CaptureReader } from '../../lib/capture/capture-reader.js'
import { PacketDirection, PcapngWriter } from '../../lib/capture/pcapng-writer.js'
import * as weirData from '../../lib/cm/weir-private-data.js'
import { Frame } from '../../lib/frame/frame.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { Attribute } from '../../lib/wire/cm/cm-messages.js'
import * as mad from '../../lib/wire/cm/mad.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode, opcodeName } from '../../lib/wire/ib/opcode.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import * as udp from '../../lib/wire/net/udp.js'
import * as needs from '../../lib/wire/weir/needs.js'
import * as sack from '../../lib/wire/weir/sack.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { compare, noTshark, tshark, twoSenders } from '../support/tshark.js'
import { testWhole } from './whole-captures.js'

const skip = noTshark

t.test('a virtual run, wide records: every packet dissects', { skip }, async t => {
  const folder = t.testdir({})
  new VirtualRun(twoSenders('wide', '1Gbps', '{format: wide, hops: 5}'), { captures: { folder } }).run()
  const seen = compare(t, join(folder, 's1--s2.pcapng'))
  t.ok(seen.withHops > 200, `${seen.withHops} packets with hop records`)
  const expected = [
    'RC_RDMA_WRITE_FIRST',
    'RC_RDMA_WRITE_MIDDLE',
    'RC_ACKNOWLEDGE',
    'UD_SEND_ONLY',
    'PROBE',
    'NOTIFY',
  ]
  for (const name of expected) t.ok(seen.opcodes.has(name), name)
})

testWhole('{name: hpcc}')

/** One frame as a capture; returns its path. */
function captureOf(t: Test, frames: readonly Frame[]): string {
  const path = join(t.testdir({}), 'made.pcapng')
  const writer = new PcapngWriter(path, { interfaceName: 's1:s2', rateBps: 1e9 })
  for (const [i, frame] of frames.entries()) writer.write(i, frame, PacketDirection.SENT)
  writer.close()
  return path
}

t.test('PFC frames dissect as CBFC (802.1Qbb)', { skip }, async t => {
  const frame = new Frame(0, Buffer.alloc(128))
  pfc.write(frame.view, 0, 0x02_57_00_00_00_01, 0b0000_1001, 0xffff)
  pfc.setQuanta(frame.view, 0, 3, 17)
  frame.length = pfc.BYTES
  frame.wireLength = pfc.BYTES
  const fields = [
    'macc.opcode',
    'macc.cbfc.enbv',
    'macc.cbfc.pause_time.c0',
    'macc.cbfc.pause_time.c3',
    '_ws.malformed',
  ]
  t.same(tshark(captureOf(t, [frame]), fields), [['0x0101', '0x0009', '65535', '17', '']])
})

/** BTH, AETH and SACK, after that shim if there is one. */
function sackPacket(shim = ''): Buffer {
  const packet = Buffer.alloc(bth.BYTES + aeth.BYTES + sack.BYTES + icrc.BYTES)
  const view = new DataView(packet.buffer, packet.byteOffset)
  bth.write(view, 0, new bth.Bth({ opcode: Opcode.SACK, migrated: false, destQpn: 0x12, psn: 7 }))
  aeth.write(view, bth.BYTES, aeth.NAK_PSN_SEQUENCE_ERROR, 5)
  const at = bth.BYTES + aeth.BYTES
  sack.write(view, at, 0xfffffe)
  for (const bit of [0, 1, 32]) sack.add(view, at, bit)
  return Buffer.concat([Buffer.from(shim, 'hex'), packet])
}

/** An IPv4 packet to `port` whose UDP payload is `payload`. */
function datagram(port: number, payload: Buffer): Frame {
  const frame = new Frame(0, Buffer.alloc(512))
  const { view } = frame
  ethernet.write(view, 0, 2, 4, ethernet.TYPE_IPV4)
  const bytes = ipv4.BYTES + udp.BYTES + payload.length
  ipv4.write(view, 14, {
    tos: 0,
    totalLength: bytes,
    identification: 0,
    dontFragment: true,
    ttl: 64,
    protocol: ipv4.PROTOCOL_UDP,
    source: 0x0a000001,
    destination: 0x0a000002,
  })
  udp.write(view, 34, 0xc000, port, udp.BYTES + payload.length)
  payload.copy(frame.bytes, 42)
  frame.length = 42 + payload.length
  frame.wireLength = frame.length
  return frame
}

/** What lib/cm and lib/wire read of Weir's words in each REQ and REP of a capture. */
function wordsIn(path: string): string[][] {
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  const rows: string[][] = []
  const bytesOf = (value: Uint8Array) => Buffer.from(value).toString('hex')
  while (reader.next(packet)) {
    const bytes = Buffer.from(packet.buffer.subarray(packet.at, packet.at + packet.capturedBytes))
    // MAC addresses of hosts have the same letters.
    const at = bytes.indexOf('WEIR', ethernet.BYTES)
    const said = at < 0 ? null : weirData.decode(bytes.subarray(at))
    if (said === null || said === 'malformed' || said.version === 0) continue
    const column = (list: Uint8Array, key: 'id' | 'value') =>
      needs
        .decode(list)!
        .map(need => need[key])
        .join()
    rows.push([
      String(said.version),
      `0x${said.features.toString(16).padStart(8, '0')}`,
      String(said.pathMtu),
      bytesOf(said.keyWords),
      column(said.needs, 'id'),
      column(said.needs, 'value'),
      String(said.ackEvery),
      bytesOf(said.wordsProof),
    ])
  }
  reader.close()
  return rows
}

t.test('what hosts say at connect: the same by tshark and by lib/wire', { skip }, async t => {
  const folder = t.testdir({})
  const text = `
name: words
link: {rate: 1Gbps, delay: 10us}
hosts: [h1, h2]
switches: [s1]
links: [h1--s1, h2--s1]
transport: {ackEvery: 16, key: correct horse battery staple}
traffic:
  - {name: a, from: h1, to: h2, size: 10KB, cc: rx-hpcc}
  - {name: b, from: h2, to: h1, size: 10KB, cc: cubic}
`
  new VirtualRun(parseScenario(text, 'words.yaml'), { captures: { folder } }).run()
  const path = join(folder, 's1--h1.pcapng')
  const fields = ['version', 'features', 'path_mtu', 'key_words']
  const lists = ['need', 'need.value', 'ack_every', 'proof']
  const names = [...fields, ...lists].map(name => `weir.words.${name}`)
  const theirs = tshark(path, names, 'weir.words.version')
  t.same(theirs, wordsIn(path))
  t.equal(theirs.length, 4, 'a REQ and a REP of each flow')
  t.ok(
    theirs.some(([, , , , ids]) => ids === '1,6'),
    'rx-hpcc needs telemetry and windows',
  )
  t.ok(
    theirs.some(([, , , , ids]) => ids === '1,7'),
    'cubic needs telemetry and marks',
  )
  t.ok(theirs.every(([, , , , , , every]) => every === '16'))
  t.same(tshark(path, ['frame.number'], 'weir.words.malformed'), [])
  const marks = tshark(path, ['frame.number'], 'weir.words.features.marks == 1')
  t.equal(marks.length, 4)
})

/** A message of the connection manager with these private data at that offset. */
function message(attribute: number, offset: number, privateData: Uint8Array): Buffer {
  const packet = Buffer.alloc(bth.BYTES + deth.BYTES + mad.BYTES + icrc.BYTES)
  const view = new DataView(packet.buffer, packet.byteOffset)
  bth.write(view, 0, new bth.Bth({ opcode: Opcode.UD_SEND_ONLY, destQpn: deth.QPN_GSI, psn: 7 }))
  deth.write(view, bth.BYTES, deth.QKEY_GSI, deth.QPN_GSI)
  const at = bth.BYTES + deth.BYTES
  packet.set([1, 7, 2, 3], at)
  view.setUint16(at + 16, attribute)
  packet.set(privateData, at + offset)
  return packet
}

t.test('an acknowledgement that a packet with payload carries', { skip }, async t => {
  const packet = Buffer.alloc(bth.BYTES + icrc.BYTES)
  const view = new DataView(packet.buffer, packet.byteOffset)
  bth.write(view, 0, new bth.Bth({ opcode: Opcode.RC_SEND_ONLY, destQpn: 0x12, psn: 7 }))
  const shim = Buffer.from('1180000100000000' + '1f00000503abcdef', 'hex')
  const names = ['msn', 'duplicates', 'psn'].map(name => `weir.int.carried_ack.${name}`)
  const path = captureOf(t, [datagram(udp.PORT_INT, Buffer.concat([shim, packet]))])
  t.same(tshark(path, [...names, 'infiniband.bth.psn']), [['5', '3', String(0xabcdef), '7']])
})

t.test('what a REP says of filled packets, ICRCs and carried ACKs (IBA 12.6.8)', { skip }, async t => {
  const none = new Uint8Array(0)
  const said = {
    ...{
      version: 1,
      features: 0,
      pathMtu: 1024,
      receiveBudgetBytes: 0,
      hostBudgetUnits: 0,
      ackEvery: 0,
      privateBytes: 0,
    },
    ...{ applicationData: none, keyWords: none, needs: none, wordsProof: none },
  }
  const replies = [
    { ...said, filledPayload: 1308, withoutIcrc: true, carriesAcks: true },
    { ...said, filledPayload: 0, withoutIcrc: false, carriesAcks: false },
  ]
  const frames = replies.map(words =>
    datagram(udp.PORT_ROCE, message(Attribute.REP, 60, weirData.encode(words))),
  )
  const fields = ['path_mtu', 'filled_payload', 'without_icrc', 'carries_acks', 'other'].map(
    name => `weir.words.${name}`,
  )
  t.same(tshark(captureOf(t, frames), fields), [
    ['1024', '1308', '1', '1', ''],
    ['1024', '', '', '', ''],
  ])
})

t.test('why a connection ends, and words that cannot be read', { skip }, async t => {
  const proof = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  const said = weirData.encodeRejection({ code: 'WEIR_FULL', message: 'no room', proof })
  const cut = Uint8Array.from(said)
  cut[4] = cut.length - 6
  const frames = [said, cut].map(words => datagram(udp.PORT_ROCE, message(Attribute.DREQ, 36, words)))
  const fields = ['code', 'message', 'end_proof', 'malformed'].map(name => `weir.words.${name}`)
  const [whole, broken] = tshark(captureOf(t, frames), fields)
  t.same(whole, ['WEIR_FULL', 'no room', '0102030405060708', ''])
  t.equal(broken![3], '1')
})

t.test('PFC frames of a run: as many pauses as the report says', { skip }, async t => {
  const folder = t.testdir({})
  const paused = parseScenario(
    `
name: paused
link: {rate: 1Gbps, delay: 10us}
hosts: [h1..h4]
switches: {s1: {buffer: 1MB, pfc: {xoff: 20KB}}}
links: [h1..h4--s1]
cc: {name: fixed-window, window: 200KB}
transport: {pathMtu: 1024}
traffic:
  - {name: incast, incast: [h1..h3], to: h4, size: 400KB}
`,
    'paused.yaml',
  )
  const { ports } = new VirtualRun(paused, { captures: { folder } }).run()
  const { pausesSent } = ports.find(({ name }) => name === 's1:h1')!
  const path = join(folder, 's1--h1.pcapng')
  const pauses = tshark(
    path,
    ['macc.cbfc.pause_time.c3'],
    'macc.opcode == 0x0101 && macc.cbfc.pause_time.c3 > 0',
  )
  t.ok(pausesSent > 0)
  t.equal(pauses.length, pausesSent)
})

t.test('vendor opcodes have names, and shims that break a rule are malformed', { skip }, async t => {
  const plain = (opcode: number) => {
    const packet = Buffer.alloc(bth.BYTES + icrc.BYTES)
    bth.write(
      new DataView(packet.buffer, packet.byteOffset),
      0,
      new bth.Bth({ opcode, migrated: false, destQpn: 0x12, psn: 7 }),
    )
    return packet
  }
  const names = [Opcode.PROBE, Opcode.NOTIFY, Opcode.RATE]
  const frames = [...names, 0xd0].map(opcode => datagram(udp.PORT_ROCE, plain(opcode)))
  const infos = tshark(captureOf(t, frames), ['weir.sequence', '_ws.col.Info']).map(fields => fields.join())
  t.same(
    infos,
    [...names.map(opcodeName), 'vendor opcode 0xd0'].map(name => `7,${name} QP=0x000012 sequence 7`),
  )
  const whole = captureOf(t, [
    datagram(udp.PORT_ROCE, sackPacket()),
    datagram(udp.PORT_INT, sackPacket(`1080010100010000${'00'.repeat(24)}`)),
  ])
  const expected = ['0xc3', '7', '0x60', '5', '16777214', '16777214-16777215 30', '']
  const fields = [
    'weir.opcode',
    'weir.sequence',
    'weir.sack.syndrome',
    'weir.sack.msn',
    'weir.sack.base',
    '_ws.col.Info',
    '_ws.malformed',
  ]
  const sacks = tshark(whole, fields).map(columns =>
    columns.map(text => text.replace(/^SACK .* arrived /, '')),
  )
  t.same(sacks, [expected, expected])
  const bad = [
    '',
    '10',
    '2000000200000000',
    '1200000200000000',
    '1000001100000000',
    '1000020100000000',
    '1000000200000000',
  ]
  const wrong = bad.map(hex => datagram(udp.PORT_INT, Buffer.from(hex, 'hex')))
  const right = datagram(
    udp.PORT_INT,
    Buffer.concat([Buffer.from('1000000000000000', 'hex'), plain(Opcode.RC_ACKNOWLEDGE)]),
  )
  const verdicts = tshark(captureOf(t, [...wrong, right]), ['weir.malformed'])
  t.equal(verdicts.filter(([fault]) => fault !== '').length, bad.length - 1, 'an empty datagram is nobody’s')
  t.same(verdicts.at(-1), [''])
})
