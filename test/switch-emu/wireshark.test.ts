/** Captures read by tshark with switch-emu/wireshark/weir.lua, beside what lib/wire makes of the same bytes. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
  PACKET_BYTES_MAX,
} from '../../lib/capture/capture-reader.js'
import { Direction, PcapngWriter } from '../../lib/capture/pcapng-writer.js'
import { Frame } from '../../lib/frame/frame.js'
import { parseScenario } from '../../lib/scenario/load-scenario.js'
import type { Scenario } from '../../lib/scenario/scenario.js'
import * as bth from '../../lib/wire/bth.js'
import * as ethernet from '../../lib/wire/ethernet.js'
import { HopRecords } from '../../lib/wire/hop-records.js'
import * as icrc from '../../lib/wire/icrc.js'
import * as intShim from '../../lib/wire/int-shim.js'
import * as ipv4 from '../../lib/wire/ipv4.js'
import { Opcode, opcodeName } from '../../lib/wire/opcode.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as pfc from '../../lib/wire/pfc.js'
import * as udp from '../../lib/wire/udp.js'
import { runOverlay } from '../../switch-emu/overlay/run-overlay.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { repositoryRoot } from '../support/fixtures.js'

const LUA = join(repositoryRoot, 'switch-emu', 'wireshark', 'weir.lua')
const skip = spawnSync('tshark', ['--version']).status === 0 ? false : 'tshark is not installed'

/** The fields of every packet: what occurs more than once is joined by commas. */
function tshark(path: string, fields: readonly string[], filter = ''): string[][] {
  const args = ['-n', '-X', `lua_script:${LUA}`, '-r', path, '-T', 'fields', '-E', 'separator=|']
  for (const field of fields) args.push('-e', field)
  if (filter !== '') args.push('-Y', filter)
  const output = execFileSync('tshark', args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return output
    .split('\n')
    .slice(0, -1)
    .map(line => line.split('|'))
}

const FIELDS = [
  'infiniband.bth.opcode',
  'infiniband.bth.psn',
  'infiniband.bth.destqp',
  'infiniband.invariant.crc',
  'weir.int.format',
  'weir.int.flags',
  'weir.int.hops',
  'weir.int.slots',
  'weir.int.path_id',
  'weir.int.flows',
  'weir.hop.switch_id',
  'weir.hop.port',
  'weir.hop.rate',
  'weir.hop.time',
  'weir.hop.tx_bytes',
  'weir.hop.queue',
  'weir.opcode',
  '_ws.malformed',
]

/** The same fields, by lib/wire. */
function ourFields(frame: Frame): string[] {
  const { view, shim } = frame
  const opcode = bth.opcode(view, frame.bth)
  const hex = (value: number, digits: number) => `0x${value.toString(16).padStart(digits, '0')}`
  // Of opcodes that it does not know, Wireshark's dissector shows the BTH alone.
  const crc = icrc.isPresent(frame) && opcode < 0xc0 ? hex(view.getUint32(frame.length - icrc.BYTES), 8) : ''
  const fields = [
    opcode.toString(),
    bth.psn(view, frame.bth).toString(),
    hex(bth.destQpn(view, frame.bth), 6),
    crc,
  ]
  const vendor = opcode >= 0xc0 ? hex(opcode, 2) : ''
  if (shim < 0) return [...fields, ...Array(12).fill(''), vendor, '']
  const hops = new HopRecords()
  if (intShim.read(view, shim, frame.bth, hops) !== WireError.OK) throw new Error('shim')
  const rows = Array.from({ length: hops.count }, (_, i) => i)
  const column = (values: { [row: number]: number }) => rows.map(row => values[row]).join()
  // Compact records name no switch and no port.
  const wide = intShim.format(view, shim) === intShim.FORMAT_WIDE
  return [
    ...fields,
    intShim.format(view, shim).toString(),
    hex(intShim.flags(view, shim), 2),
    intShim.hopCount(view, shim).toString(),
    intShim.slots(view, shim).toString(),
    hex(hops.pathId, 4),
    hops.flows.toString(),
    wide ? column(hops.switchId) : '',
    wide ? column(hops.port) : '',
    column(hops.rateBps),
    column(hops.tsNs),
    column(hops.txBytes),
    column(hops.qlenBytes),
    vendor,
    '',
  ]
}

/** Both readings of each packet. */
function compare(t: Test, path: string): { packets: number; withHops: number; opcodes: Set<string> } {
  const theirs = tshark(path, FIELDS)
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  const frame = new Frame(0, Buffer.alloc(PACKET_BYTES_MAX + FRAME_EXTRA_BYTES))
  const seen = { packets: 0, withHops: 0, opcodes: new Set<string>() }
  while (reader.next(packet)) {
    loadFrame(packet, frame)
    if (parseFrame(frame) !== WireError.OK) throw new Error(`packet ${seen.packets + 1} is malformed`)
    const their = theirs[seen.packets++] ?? []
    const our = ourFields(frame)
    // Where the end was not captured it shows zeros, if anything.
    if (our[3] === '') our[3] = their[3] === '0x00000000' ? '0x00000000' : ''
    if (our.join('|') !== their.join('|')) t.same(their, our, `${path}: packet ${seen.packets}`)
    if (our[12] !== '') seen.withHops++
    seen.opcodes.add(opcodeName(Number(our[0])))
  }
  reader.close()
  t.equal(theirs.length, seen.packets, `${path}: tshark reads the same packets`)
  return seen
}

function scenario(name: string, rate: string, int: string): Scenario {
  return parseScenario(
    `
name: ${name}
link: {rate: ${rate}, delay: 100us}
hosts: [h1, h2, h3]
switches: [s1, s2]
links: [h1--s1, h2--s1, s1--s2, s2--h3]
int: ${int}
transport: {pathMtu: 1024}
traffic:
  - {name: a, from: h1, to: h3, size: 100KB}
  - {name: b, from: h2, to: h3, size: 100KB}
`,
    `${name}.yaml`,
  )
}

t.test('a virtual run, wide records: every packet dissects, headers only as they are', { skip }, async t => {
  const folder = t.testdir({})
  new VirtualRun(scenario('wide', '1Gbps', '{format: wide, hops: 5}'), { captures: { folder } }).run()
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

t.test('a virtual run, compact records, more hops than slots', { skip }, async t => {
  const folder = t.testdir({})
  new VirtualRun(scenario('compact', '10Gbps', '{format: compact, hops: 1}'), { captures: { folder } }).run()
  const path = join(folder, 's2--h3.pcapng')
  const seen = compare(t, path)
  t.ok(seen.withHops > 200, `${seen.withHops} packets with hop records`)
  t.ok(tshark(path, ['frame.number'], 'weir.int.flags.overflow == 1').length > 100)
  t.ok(tshark(path, ['frame.number'], 'weir.int.flags.echo == 1 && infiniband.aeth').length > 10)
})

t.test('an overlay run: every byte is there, the ICRC too', { skip }, async t => {
  const folder = t.testdir({})
  await runOverlay(scenario('real', '100Mbps', '{format: wide, hops: 5}'), { captures: { folder } })
  const path = join(folder, 's1--s2.pcapng')
  const seen = compare(t, path)
  t.ok(seen.withHops > 200, `${seen.withHops} packets with hop records`)
  t.same(tshark(path, ['frame.number'], 'frame.cap_len != frame.len'), [])
  // The field itself, 4 bytes at the packet's end: from the detailed output of the last data packet.
  const pdml = execFileSync(
    'tshark',
    [
      '-n',
      '-X',
      `lua_script:${LUA}`,
      '-r',
      path,
      '-Y',
      'infiniband.bth.opcode == 7',
      '-T',
      'pdml',
      '-c',
      '200',
    ],
    { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const crcs = [...pdml.matchAll(/<field name="infiniband.invariant.crc"[^>]* size="(\d+)"/g)]
  t.ok(crcs.length > 0 && crcs.every(match => match[1] === '4'), `${crcs.length} ICRCs of 4 bytes`)
})

/** One frame as a capture; returns its path. */
function captureOf(t: Test, frames: readonly Frame[]): string {
  const path = join(t.testdir({}), 'made.pcapng')
  const writer = new PcapngWriter(path, { interfaceName: 's1:s2', rateBps: 1e9 })
  for (const [i, frame] of frames.entries()) writer.write(i, frame, Direction.SENT)
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

/** An IPv4 packet to `port` whose UDP payload is `payload`. */
function datagram(port: number, payload: Buffer): Frame {
  const frame = new Frame(0, Buffer.alloc(512))
  const { view } = frame
  ethernet.write(view, 0, 2, 4, ethernet.TYPE_IPV4)
  const bytes = ipv4.BYTES + udp.BYTES + payload.length
  ipv4.write(view, 14, 0, bytes, 0, true, 64, ipv4.PROTOCOL_UDP, 0x0a000001, 0x0a000002)
  udp.write(view, 34, 0xc000, port, udp.BYTES + payload.length)
  payload.copy(frame.bytes, 42)
  frame.length = 42 + payload.length
  frame.wireLength = frame.length
  return frame
}

t.test('vendor opcodes have names, and shims that break a rule are malformed', { skip }, async t => {
  const plain = (opcode: number) => {
    const packet = Buffer.alloc(bth.BYTES + icrc.BYTES)
    bth.write(
      new DataView(packet.buffer, packet.byteOffset),
      0,
      opcode,
      false,
      false,
      0,
      0xffff,
      0x12,
      false,
      7,
    )
    return packet
  }
  const names = [Opcode.PROBE, Opcode.NOTIFY, Opcode.RATE, Opcode.SACK]
  const frames = [...names, 0xd0].map(opcode => datagram(udp.PORT_ROCE, plain(opcode)))
  const infos = tshark(captureOf(t, frames), ['weir.sequence', '_ws.col.Info']).map(fields => fields.join())
  t.same(
    infos,
    [...names.map(opcodeName), 'vendor opcode 0xd0'].map(name => `7,${name} QP=0x000012 sequence 7`),
  )
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
