/** Runs of packets that a capture has as one datagram. */
import t from 'tap'
import { CapturedRun } from '../../lib/capture/captured-run.js'
import { checkIcrc } from '../../lib/capture/check-icrc.js'
import { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { buildRoce, PLAIN, type Shape } from '../wire/helpers.js'

/** As the kernel has them before it splits them: the first one's headers with the lengths of all. */
function runOf(packets: readonly Frame[]): Frame {
  const [first] = packets as [Frame]
  const from = first.l4 + udp.BYTES
  const bytes = Buffer.concat([
    first.bytes.subarray(0, from),
    ...packets.map(({ bytes }) => bytes.subarray(from)),
  ])
  const run = new Frame(0, bytes)
  run.length = run.wireLength = bytes.length
  if (ipv4.version(run.view, first.l3) === 4) ipv4.setTotalLength(run.view, first.l3, bytes.length - first.l3)
  else ipv6.setPayloadLength(run.view, first.l3, bytes.length - first.l3 - ipv6.BYTES)
  udp.setLength(run.view, first.l4, bytes.length - first.l4)
  t.equal(parseFrame(run), WireError.OK)
  return run
}

function packetsOf(shape: Shape, lengths: readonly number[]): Frame[] {
  return lengths.map((payloadBytes, i) => {
    const packet = buildRoce({ ...shape, payloadBytes, seed: shape.seed + i })
    parseFrame(packet)
    if (shape.family === 4) ipv4.setIdentification(packet.view, packet.l3, 0)
    icrc.write(packet)
    return packet
  })
}

const RUNS: [string, Shape, number[]][] = [
  ['data, the last one shorter', { ...PLAIN, opcode: 0x07 }, [1024, 1024, 1024, 77]],
  ['with telemetry', { ...PLAIN, opcode: 0x07, slots: 5 }, Array(15).fill(4096)],
  ['IPv6', { ...PLAIN, opcode: 0x07, slots: 5, family: 6 }, [256, 256, 1]],
  ['acknowledgements', { ...PLAIN, opcode: 0x11 }, [0, 0, 0]],
  ['two', { ...PLAIN, opcode: 0x0a, seed: 9 }, [64, 64]],
]

for (const [name, shape, lengths] of RUNS) {
  t.test(`${name}: each packet as it leaves the machine`, async t => {
    const packets = packetsOf(shape, lengths)
    const frame = runOf(packets)
    t.equal(checkIcrc(frame), 'wrong')
    const run = new CapturedRun(70_000)
    t.equal(run.open(frame), lengths.length)
    for (const [i, packet] of packets.entries()) {
      run.take(i)
      t.equal(parseFrame(run.packet), WireError.OK)
      t.not(checkIcrc(run.packet), 'wrong')
      const sent = packet.bytes.subarray(packet.l4).toString('hex')
      t.equal(run.packet.bytes.toString('hex', run.packet.l4, run.packet.length), sent)
    }
  })
}

t.test('packets without ICRC; one of them is no run, whatever it carries', async t => {
  for (const [name, shape, lengths] of RUNS) {
    const packets = packetsOf(shape, lengths)
    for (const { view, length } of packets) view.setUint32(length - icrc.BYTES, 0)
    const run = new CapturedRun(70_000)
    t.equal(run.open(runOf(packets)), lengths.length, name)
    run.take(1)
    t.equal(parseFrame(run.packet), WireError.OK)
    t.equal(checkIcrc(run.packet), 'unused', name)
    t.equal(run.open(packets[0]!), 1, name)
  }
  const zeros = packetsOf({ ...PLAIN, opcode: 0x07 }, [1024])[0]!
  zeros.bytes.fill(0, zeros.payload, zeros.length)
  t.equal(new CapturedRun(70_000).open(zeros), 1)
})

t.test('the last packet may have a shim without slots', async t => {
  const [long] = packetsOf({ ...PLAIN, opcode: 0x07, slots: 5 }, [256]) as [Frame]
  const [short] = packetsOf({ ...PLAIN, opcode: 0x07, slots: 0, seed: 4 }, [256]) as [Frame]
  const run = new CapturedRun(70_000)
  t.equal(run.open(runOf([long, short])), 2)
  for (const i of [0, 1]) {
    run.take(i)
    t.equal(parseFrame(run.packet), WireError.OK)
    t.not(checkIcrc(run.packet), 'wrong')
  }
})

t.test('the last packet may be an acknowledgement that counts duplicates', async t => {
  const [long] = packetsOf({ ...PLAIN, opcode: 0x07 }, [256]) as [Frame]
  const [short] = packetsOf({ ...PLAIN, opcode: 0x11, seed: 4 }, [0]) as [Frame]
  bth.setDuplicates(short.view, short.bth, 3)
  icrc.write(short)
  const run = new CapturedRun(70_000)
  t.equal(run.open(runOf([long, short])), 2)
  for (const i of [0, 1]) {
    run.take(i)
    t.equal(parseFrame(run.packet), WireError.OK)
    t.not(checkIcrc(run.packet), 'wrong')
  }
})

t.test('a damaged packet is no run, whatever it carries', async t => {
  const run = new CapturedRun(70_000)
  for (const payloadBytes of [0, 40, 1024, 4096]) {
    const [packet] = packetsOf({ ...PLAIN, opcode: 0x0a, seed: 3 }, [payloadBytes]) as [Frame]
    packet.view.setInt32(packet.length - 4, 1)
    t.equal(run.open(packet), 1)
    // Its payload consists of headers that could be another packet's.
    for (let at = packet.payload; at + bth.BYTES < packet.length - 4; at += bth.BYTES) {
      packet.bytes.copy(packet.bytes, at, packet.bth, packet.bth + bth.BYTES)
    }
    t.equal(run.open(packet), 1)
  }
})

t.test('in a run a damaged packet alone is wrong', async t => {
  const frame = runOf(packetsOf({ ...PLAIN, opcode: 0x07 }, [512, 512, 512]))
  frame.bytes[frame.payload + 700]! ^= 4
  const run = new CapturedRun(70_000)
  t.equal(run.open(frame), 3)
  const verdicts = [0, 1, 2].map(i => {
    run.take(i)
    parseFrame(run.packet)
    return checkIcrc(run.packet) === 'wrong'
  })
  t.same(verdicts, [false, true, false])
})
