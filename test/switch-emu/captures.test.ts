/** What a run writes with --pcap. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
  PACKET_BYTES_MAX,
} from '../../lib/capture/capture-reader.js'
import { PacketDirection, PcapngWriter } from '../../lib/capture/pcapng-writer.js'
import { WeirError } from '../../lib/errors.js'
import { Frame } from '../../lib/frame/frame.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { PortCapture } from '../../switch-emu/captures/port-capture.js'
import { captureFile, PortCaptures } from '../../switch-emu/captures/port-captures.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const YAML = `
name: captured
link: {rate: 1Gbps, delay: 10us}
hosts: [h1, h2, h3]
switches: {s1: {ecn: {kmin: 5KB, kmax: 20KB, pmax: 0.5}}, s2: {}}
links: [h1--s1, h2--s1, {ends: s1--s2, delay: 25us}, {ends: s1--s2, delay: 25us}, s2--h3]
transport: {pathMtu: 1024}
traffic:
  - {name: a, from: h1, to: h3, size: 100KB}
  - {name: b, from: h2, to: h3, size: 50KB}
`
const SCENARIO = parseScenario(YAML, 'captured.yaml')

interface Captured {
  timeNs: number
  sent: boolean
  wireBytes: number
  bytes: string
}

/**
 * Packets of a file of PcapngWriter. The direction is the last option of each block, which the reader does
 * not return.
 */
function packetsOf(path: string): Captured[] {
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  const packets: Captured[] = []
  while (reader.next(packet)) {
    const end = packet.at + ((packet.capturedBytes + 3) & ~3)
    packets.push({
      timeNs: packet.seconds * 1e9 + packet.nanos,
      sent: packet.buffer.readUInt32LE(end + 4) === 2,
      wireBytes: packet.wireBytes,
      bytes: packet.buffer.toString('hex', packet.at, packet.at + packet.capturedBytes),
    })
  }
  reader.close()
  return packets
}

t.test('a file a port, both directions, in the order of time', async t => {
  const folder = join(t.testdir({}), 'made', 'here')
  const result = new VirtualRun(SCENARIO, { captures: { folder } }).run()
  const ports = ['s1--h1', 's1--h2', 's1--s2.0', 's1--s2.1', 's2--h3', 's2--s1.0', 's2--s1.1']
  t.same(
    readdirSync(folder).sort(),
    ports.map(port => `${port}.pcapng`),
  )
  for (const port of ports) {
    const packets = packetsOf(join(folder, `${port}.pcapng`))
    const inOrder = packets.every((packet, i) => i === 0 || packets[i - 1]!.timeNs <= packet.timeNs)
    t.ok(inOrder, `${port}: ${packets.length} packets`)
    const name = port.replace('--', ':').replace('.', '#')
    const counted = result.ports.find(port => port.name === name)!
    // Results count from the traffic's start on, captures from the network's.
    const sent = packets.filter(({ sent }) => sent).reduce((sum, { wireBytes }) => sum + wireBytes, 0)
    t.ok(sent > counted.txBytes, `${port}: ${sent} bytes sent, ${counted.txBytes} of them in the run`)
  }
})

t.test('what one end of a link sends the other receives, serialisation and delay later', async t => {
  const folder = t.testdir({})
  new VirtualRun(SCENARIO, { captures: { folder } }).run()
  let compared = 0
  for (const link of [0, 1]) {
    const near = packetsOf(join(folder, `s1--s2.${link}.pcapng`))
    const far = packetsOf(join(folder, `s2--s1.${link}.pcapng`))
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      const sent = from.filter(({ sent }) => sent)
      const arrivals = sent.map(packet => ({
        ...packet,
        sent: false,
        timeNs: packet.timeNs + packet.wireBytes * 8 + 25_000,
      }))
      t.same(
        to.filter(({ sent }) => !sent),
        arrivals.slice(0, to.filter(({ sent }) => !sent).length),
      )
      compared += sent.length
    }
  }
  t.ok(compared > 300, `${compared} packets`)
})

t.test('a virtual run’s packets are whole: zeros for payloads, and ICRCs that fit', async t => {
  const folder = t.testdir({})
  new VirtualRun(SCENARIO, { captures: { folder } }).run()
  const packet = new CapturedPacket()
  const frame = new Frame(0, Buffer.alloc(PACKET_BYTES_MAX + FRAME_EXTRA_BYTES))
  let packets = 0
  let withPayload = 0
  for (const port of ['s1--h1', 's1--s2.0', 's1--s2.1', 's2--h3']) {
    const reader = CaptureReader.open(join(folder, `${port}.pcapng`))
    while (reader.next(packet)) {
      const name = `${port}: packet ${++packets} of ${packet.wireBytes} bytes`
      if (packet.capturedBytes !== packet.wireBytes) t.fail(`${name} is cut`)
      if (!loadFrame(packet, frame) || parseFrame(frame) !== WireError.OK) t.fail(`${name} is malformed`)
      if (!icrc.isPresent(frame) || !icrc.verify(frame)) t.fail(`${name}: its ICRC is wrong`)
      if (bth.opcode(frame.view, frame.bth) !== Opcode.RC_RDMA_WRITE_MIDDLE) continue
      if (frame.payloadBytes().some(byte => byte !== 0)) t.fail(`${name}: bytes that nobody sent`)
      withPayload++
    }
    reader.close()
  }
  t.ok(withPayload > 100 && packets > withPayload, `${withPayload} of ${packets} packets carry a payload`)
})

t.test('capturing changes nothing in the run', async t => {
  const folder = t.testdir({})
  const bare = new VirtualRun(SCENARIO).run()
  const captured = new VirtualRun(SCENARIO, { captures: { folder, snapBytes: 64 } }).run()
  t.same({ ...captured, wallSeconds: 0 }, { ...bare, wallSeconds: 0 })
  const cut = packetsOf(join(folder, 's2--h3.pcapng'))
  t.ok(cut.every(({ bytes }) => bytes.length <= 2 * 64))
  t.ok(cut.some(({ wireBytes }) => wireBytes > 1024))
})

t.test('a bounded capture keeps the newest packets, in two files', async t => {
  const [folder, whole] = ['bounded', 'whole'].map(name => join(t.testdirName, name)) as [string, string]
  const scenario = parseScenario(YAML.replace('50KB', '1300KB'), 'captured.yaml')
  const bytesMax = 1 << 20
  new VirtualRun(scenario, { captures: { folder, bytesMax } }).run()
  new VirtualRun(scenario, { captures: { folder: whole } }).run()
  const all = packetsOf(join(whole, 's2--h3.pcapng'))
  const older = packetsOf(join(folder, 's2--h3.older.pcapng'))
  const newer = packetsOf(join(folder, 's2--h3.pcapng'))
  const bytes = ['.older', ''].map(part => statSync(join(folder, `s2--h3${part}.pcapng`)).size)
  t.ok(bytes[0]! <= bytesMax / 2 && bytes[1]! <= bytesMax / 2, `${bytes.join(' and ')} bytes`)
  t.ok(older.length > 100 && older.length + newer.length < all.length)
  const times = (packets: Captured[]) => packets.map(({ timeNs, sent }) => `${timeNs} ${sent}`)
  const newest = all.slice(-older.length - newer.length)
  t.same(times([...older, ...newer]), times(newest), 'no gap, no other order')
})

t.test('a capture that may stop does so when its file cannot be written, and says why', async t => {
  const full = '/dev/full'
  const options = { interfaceName: 's1:s2', rateBps: 1e9 }
  const path = join(t.testdir({}), 'x.pcapng')
  const frame = new Frame(0, Buffer.alloc(64))
  frame.length = frame.wireLength = 60
  const writer = new PcapngWriter(path, options)
  for (const mayStop of [true, false]) {
    const capture = new PortCapture('s1:s2', full, writer, mayStop)
    const fails = t.capture(writer, 'flush', () => {
      throw new WeirError('WEIR_NO_FILE', 'cannot write x: ENOSPC')
    })
    if (mayStop) capture.flush()
    else t.throws(() => capture.flush(), { code: 'WEIR_NO_FILE' })
    fails.restore()
    t.equal(capture.fault, mayStop ? 'cannot write x: ENOSPC' : '')
    if (mayStop) capture.write(1, frame, PacketDirection.SENT)
  }
  t.equal(writer.amount.packets, 0, 'it is left alone then')
})

t.test('names of ports and of files are one to one', async t => {
  t.equal(captureFile('s1:s2'), 's1--s2.pcapng')
  t.equal(captureFile('s1:s2#1'), 's1--s2.1.pcapng')
  // Names may hold single hyphens, and neither double ones nor dots.
  t.not(captureFile('a-b:c'), captureFile('a:b-c'))
})

t.test('what cannot be written is said', async t => {
  const folder = t.testdir({ file: '' })
  t.throws(() => new PortCaptures(SCENARIO, { folder: join(folder, 'file', 'x') }), { code: 'WEIR_NO_FILE' })
  mkdirSync(join(folder, 's1--h2.pcapng'))
  t.throws(() => new PortCaptures(SCENARIO, { folder }), { code: 'WEIR_NO_FILE', message: /s1--h2/ })
  const wide = { ...SCENARIO, links: Array.from({ length: 901 }, (_, i) => link(i)) }
  t.throws(() => new PortCaptures(wide, { folder }), { code: 'WEIR_BAD_ARGUMENT', message: /901/ })
  writeFileSync(join(folder, 'old.pcapng'), 'x')
  new VirtualRun(SCENARIO, { captures: { folder: join(folder, 'again') } }).run()
  t.equal(readFileSync(join(folder, 'old.pcapng'), 'utf8'), 'x', 'other files stay')
})

function link(i: number) {
  const ends = { a: { node: 's1', port: i }, b: { node: 'h1', port: i } }
  return { ...ends, rateBps: 1e9, delayNs: 0 }
}
