/**
 * The ICRC of packets in any order: what was kept of the headers of one must not reach another. The expected value is the rule of IBA
 * 7.8.1 and annex A17 over a copy of the packet, a bit at a time.
 */
import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { FrameRun } from '../../lib/frame/frame-run.js'
import { ReceivedRun } from '../../lib/frame/received-run.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { drawnSeed } from '../support/seeds.js'
import { buildRoce, PLAIN, slowCrc32 } from './helpers.js'

const FRAMES = 3000
/** More than the known headers have room for. */
const FLOWS = 150
const SLOT = 2048
const LINK = 14

type Pick = (below: number) => number

function expectedIcrc({ bytes, length, l3, l4, bth: at, shim, intFormat }: Frame): number {
  const isIpv4 = bytes[l3]! >>> 4 === 4
  const ip = [...bytes.subarray(l3, l3 + (isIpv4 ? (bytes[l3]! & 15) * 4 : 40))]
  const header = [...bytes.subarray(l4, l4 + 8)]
  const inUdp = [...bytes.subarray(l4 + 8, at)]
  const transport = [...bytes.subarray(at, length - icrc.BYTES)]
  const isNative = shim >= 0 && intFormat <= intShim.FORMAT_COMPACT
  const put = (into: number[], offset: number, value: number) => {
    into[offset] = value >>> 8
    into[offset + 1] = value & 0xff
  }
  if (l4 - l3 !== ip.length || (shim >= 0 && !isNative)) {
    const datagram = 8 + transport.length + icrc.BYTES
    put(ip, isIpv4 ? 2 : 4, isIpv4 ? ip.length + datagram : datagram)
    ip[isIpv4 ? 9 : 6] = 17
    put(header, 2, 4791)
    put(header, 4, datagram)
  }
  const free = isIpv4 ? [1, 8, 10, 11] : [1, 2, 3, 7]
  for (const offset of free) ip[offset] = 0xff
  if (!isIpv4) ip[0]! |= 0x0f
  header[6] = header[7] = 0xff
  transport[4] = 0xff
  const isEcho = isNative && (bytes[shim + 1]! & intShim.FLAG_ECHO) !== 0
  return slowCrc32([...new Array(8).fill(0xff), ...ip, ...header, ...(isEcho ? inUdp : []), ...transport])
}

/** A packet with one of all encapsulations, an echo, or none, over IPv4 with or without options, or IPv6. */
function drawnFrame(pick: Pick): Frame {
  const from = buildRoce({
    ...PLAIN,
    family: pick(2) === 0 ? 4 : 6,
    payloadBytes: pick(90),
    seed: 1 + pick(9999),
  })
  parseFrame(from)
  const isIpv4 = from.bytes[LINK]! >>> 4 === 4
  const options = isIpv4 && pick(3) === 0 ? 4 * (1 + pick(10)) : 0
  const frame = new Frame(0, Buffer.alloc(SLOT))
  const { view, bytes } = frame
  bytes.set(from.bytes.subarray(0, from.l4))
  bytes.fill(1, from.l4, from.l4 + options)
  if (options > 0) bytes[LINK] = 0x45 + options / 4
  const l4 = from.l4 + options
  bytes.set(from.bytes.subarray(from.l4, from.bth), l4)
  Object.assign(frame, { l3: LINK, l4, payload: l4 + udp.BYTES, bth: l4 + udp.BYTES })
  const format = pick(7) - 1
  // The senders of these two write no IPv4 options.
  if (format >= 0 && (options === 0 || format < telemetry.IFA)) {
    const flags = format <= intShim.FORMAT_COMPACT && pick(2) === 0 ? intShim.FLAG_ECHO : 0
    frame.bth = telemetry.begin(frame, Math.min(format, telemetry.IOAM), 1 + pick(4), flags)
  }
  bytes.set(from.bytes.subarray(from.bth, from.length), frame.bth)
  frame.length = frame.wireLength = frame.bth + from.length - from.bth
  const total = frame.length - LINK
  if (isIpv4) ipv4.setTotalLength(view, LINK, total)
  else ipv6.setPayloadLength(view, LINK, total - ipv6.BYTES)
  if (isIpv4) ipv4.updateChecksum(view, LINK)
  udp.setDestinationPort(view, frame.l4, telemetry.destinationPort(frame))
  udp.setLength(view, frame.l4, frame.length - frame.l4 - telemetry.foreignBytes(frame))
  return frame
}

/** The same flow's next packet: what a hop, a kernel or its sender may write differently, and a few bytes that nobody may. */
function change(frame: Frame, pick: Pick): void {
  const { view, bytes, l3, l4, bth: at } = frame
  const isIpv4 = bytes[l3]! >>> 4 === 4
  const flip = (offset: number) => {
    bytes[offset]! ^= 1 << pick(8)
  }
  const changes = [
    () => flip(l3 + (isIpv4 ? 1 : 2)),
    () => flip(l3 + (isIpv4 ? 8 : 7)),
    () => flip(isIpv4 ? l3 + 4 + pick(2) : l3 + 3),
    () => view.setUint16(l4 + 6, pick(0x1_0000)),
    () => view.setUint16(l4, pick(0x1_0000)),
    () => flip(l3 + (isIpv4 ? 12 + pick(8) : 8 + pick(32))),
    () => flip(at + 4),
    () => bth.setPsn(view, at, pick(1 << 24)),
    () => flip(at + 5 + pick(3)),
    () => frame.payloadLength > 0 && flip(frame.payload + pick(frame.payloadLength)),
  ]
  for (let n = pick(4); n > 0; n--) changes[pick(changes.length)]!()
  if (isIpv4) ipv4.updateChecksum(view, l3)
}

function parsed(frame: Frame): Frame {
  const error = parseFrame(frame)
  if (error !== WireError.OK)
    throw new Error(`parse error ${error}: ${frame.bytes.toString('hex', 0, frame.length)}`)
  return frame
}

t.test('any packets in any order', async t => {
  const random = new Random(drawnSeed(t))
  const pick: Pick = below => Math.floor(random.next() * below)
  const frames = Array.from({ length: FLOWS }, () => drawnFrame(pick))
  const seen = new Set<string>()
  for (let n = 0; n < FRAMES; n++) {
    const frame = frames[pick(FLOWS)]!
    change(frame, pick)
    parsed(frame)
    const isIpv4 = frame.bytes[LINK]! >>> 4 === 4
    const echo = telemetry.isEcho(frame) ? ' echo' : ''
    const options = isIpv4 && frame.bytes[LINK] !== 0x45 ? ' options' : ''
    seen.add(`IPv${isIpv4 ? 4 : 6}${options} ${frame.shim < 0 ? 'none' : frame.intFormat}${echo}`)
    const [right, computed] = [expectedIcrc(frame), icrc.compute(frame)]
    if (computed !== right) {
      t.fail(`packet ${n}: ${computed}, not ${right}: ${frame.bytes.toString('hex', 0, frame.length)}`)
      return
    }
    frame.view.setUint32(frame.length - icrc.BYTES, right, true)
    const passes = [icrc.verify, icrc.verifyIgnoringId, icrc.verifyOrWithZeroId].every(verify =>
      verify(frame),
    )
    if (!passes) t.fail(`packet ${n} is refused`)
    frame.view.setUint32(frame.length - icrc.BYTES, right ^ (1 << pick(32)), true)
    if (icrc.verify(frame)) t.fail(`packet ${n} with a wrong ICRC passes`)
  }
  t.comment([...seen].sort().join(', '))
  t.ok(seen.size >= 12, `${seen.size} kinds of packets`)
})

t.test('runs whose heads come in any order', async t => {
  const random = new Random(drawnSeed(t))
  const pick: Pick = below => Math.floor(random.next() * below)
  const pool = new FramePool(8, SLOT)
  let runs = 0
  for (let n = 0; n < 400; n++) {
    const drawn = drawnFrame(pick)
    change(drawn, pick)
    parsed(drawn)
    const isForeign = drawn.shim >= 0 && drawn.intFormat > intShim.FORMAT_COMPACT
    // The packets of a run have no pad.
    if (isForeign || drawn.payloadLength === 0 || drawn.payloadLength % 4 !== 0) continue
    const head = pool.take()!
    head.bytes.set(drawn.bytes.subarray(0, drawn.length))
    head.copyFrom(drawn)
    parsed(head)
    head.view.setUint32(head.length - icrc.BYTES, expectedIcrc(head), true)
    const packets = 1 + pick(5)
    const payloads = Buffer.alloc(packets * head.payloadLength)
    for (let i = 0; i < payloads.length; i++) payloads[i] = pick(256)
    const run = new FrameRun(pool, true)
    run.begin(head, packets, new Backing(payloads), 0)
    const udpPayloads: Buffer[] = []
    for (let i = 0; i < packets; i++) {
      bth.setPsn(run.view, run.bthAt(i), bth.psn(head.view, head.bth) + i + 1)
    }
    icrc.writeRun(head, run)
    for (let i = 0; i < packets; i++) {
      const frame = run.shift()!
      frame.bringIn()
      const whole = new Frame(0, Buffer.from(frame.bytes.subarray(0, frame.length)))
      whole.length = whole.wireLength = frame.length
      pool.give(frame)
      parsed(whole)
      t.equal(icrc.read(whole), expectedIcrc(whole), `run ${n}, packet ${i}`)
      udpPayloads.push(whole.bytes.subarray(whole.l4 + udp.BYTES))
    }
    const received = new ReceivedRun(new Backing(Buffer.concat(udpPayloads)))
    received.begin(0, udpPayloads[0]!.length, head.l4 + udp.BYTES, packets)
    t.ok(icrc.verifyRun(head, received, packets), `run ${n}`)
    const damagedAt = head.bth + bth.BYTES - head.l4 - udp.BYTES + pick(head.payloadLength)
    received.memory.bytes[damagedAt]! ^= 1 << pick(8)
    t.notOk(icrc.verifyRun(head, received, packets), `run ${n}, damaged`)
    runs++
    pool.give(head)
  }
  t.equal(pool.inUse, 0)
  t.ok(runs > 10, `${runs} runs`)
})
