/**
 * Direct responses of switches where hosts have a secret: a response without the domain's key has no effect.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { TagVerdict } from '../../lib/nic/keys/feedback-guard.js'
import { SwitchGuard } from '../../lib/nic/keys/switch-guard.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { Random } from '../../lib/sim/random.js'
import { sipHash24 } from '../../lib/wire/bytes/siphash.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as directTag from '../../lib/wire/weir/direct-tag.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { drawnSeed } from '../support/seeds.js'
import { buildFrame } from '../switch-emu/build-frame.js'
import { drain, HOST, starSwitch } from '../switch-emu/helpers.js'

const seed = drawnSeed(t)

const SECRET = Buffer.from('correct horse battery staple')
const RATE = 100e9

/** Responses of a switch to packets at these times, each of which finds a queue, parsed as by the sender. */
function responses(timesNs: readonly number[], v6 = false) {
  const ports = [{ rateBps: RATE }, { rateBps: RATE }, { rateBps: RATE }]
  const key = directTag.directKey(SECRET)
  const { node, pool } = starSwitch({
    ports,
    features: { direct: { thresholdBytes: 1, intervalNs: 1, key } },
  })
  const address = (n: number) => (v6 ? Buffer.from(`fd${'0'.repeat(29)}${n}`, 'hex') : HOST(n))
  if (v6) for (const n of [1, 2]) node.routes.set(HostAddress.parse(`fd00::${n}`), [n])
  const found: Buffer[] = []
  for (const now of timesNs) {
    const [from, to] = v6 ? [address(1), address(2)] : [address(0), address(2)]
    node.onFrame(
      now,
      0,
      buildFrame(pool, { from, to, wireBytes: 1000, psn: 9, int: { format: 0, slots: 3 } }),
    )
    drain(node, now + 500, frame => {
      if (bth.opcode(frame.view, frame.bth) === Opcode.DIRECT_NOTIFY) {
        found.push(Buffer.from(frame.bytes.subarray(0, frame.length)))
      }
      pool.give(frame)
    })
  }
  const parsed = (bytes: Buffer, change: (frame: Frame) => void = () => {}): Frame => {
    const frame = pool.take()!
    frame.bytes.set(bytes)
    frame.length = bytes.length
    frame.wireLength = bytes.length
    frame.l3 = -1
    t.equal(parseFrame(frame), WireError.OK)
    change(frame)
    return frame
  }
  return { found, parsed, pool }
}

t.test('the tag is over both addresses, and all from the telemetry to the number', async t => {
  const { found, parsed } = responses([5_000_000])
  const frame = parsed(found[0]!)
  t.ok(icrc.verify(frame))
  t.equal(frame.payloadLength, 16)
  t.equal(directTag.switchId(frame.view, frame.payload), 7)
  t.equal(directTag.sequence(frame.view, frame.payload), 5000, 'its clock in us')
  // From 10.0.0.2, as its receiver would answer, to 10.0.0.0.
  const mapped = (last: string) => Buffer.from(`${'00'.repeat(10)}ffff0a0000${last}`, 'hex')
  const ip = Buffer.from(frame.bytes.subarray(26, 34))
  const covered = Buffer.concat([
    mapped(ip.subarray(3, 4).toString('hex')),
    mapped(ip.subarray(7, 8).toString('hex')),
    frame.bytes.subarray(42, frame.payload + 8),
  ])
  const hash = new Uint32Array(2)
  const view = new DataView(covered.buffer, covered.byteOffset, covered.length)
  sipHash24(directTag.directKey(SECRET), view, 0, covered.length, hash)
  t.same(
    [frame.view.getUint32(frame.payload + 8), frame.view.getUint32(frame.payload + 12)],
    [hash[1], hash[0]],
  )
})

t.test('each is taken once, in order, from every switch by itself', async t => {
  const { found, parsed, pool } = responses([1_000_000, 2_000_000, 2_000_100, 9_000_000])
  t.equal(found.length, 4)
  const guard = new SwitchGuard(directTag.directKey(SECRET))
  const verdict = (n: number) => {
    const frame = parsed(found[n]!)
    const said = guard.open(frame)
    pool.give(frame)
    return said
  }
  t.same([0, 1, 1, 0, 2, 3, 2, 3].map(verdict), [
    TagVerdict.OK,
    TagVerdict.OK,
    TagVerdict.REPLAYED,
    TagVerdict.REPLAYED,
    TagVerdict.OK,
    TagVerdict.OK,
    TagVerdict.REPLAYED,
    TagVerdict.REPLAYED,
  ])
  t.equal(pool.inUse, 0)
})

for (const v6 of [false, true]) {
  t.test(`100,000 forgeries over IPv${v6 ? 6 : 4}: all refused`, async t => {
    const { found, parsed, pool } = responses([1_000_000], v6)
    const guard = new SwitchGuard(directTag.directKey(SECRET))
    const random = new Random(seed)
    const int = (n: number) => random.u32() % n
    const frame = parsed(found[0]!)
    const { payload, shim, l3 } = frame
    const places: number[] = []
    const addresses = v6 ? l3 + 8 : l3 + 12
    for (let i = 0; i < (v6 ? 32 : 8); i++) places.push(addresses + i)
    for (let i = shim; i < payload + directTag.BYTES; i++) places.push(i)
    const said = new Map<number, number>()
    for (let n = 0; n < 100_000; n++) {
      const place = places[int(places.length)]!
      const before = frame.bytes[place]!
      frame.bytes[place] = before ^ (1 << int(8))
      const verdict = guard.open(frame)
      said.set(verdict, (said.get(verdict) ?? 0) + 1)
      frame.bytes[place] = before
    }
    t.same([...said], [[TagVerdict.FORGED, 100_000]])
    t.equal(
      new SwitchGuard(directTag.directKey(Buffer.from('another secret of 16'))).open(frame),
      TagVerdict.FORGED,
    )
    t.equal(guard.open(frame), TagVerdict.OK, 'as it was')
    t.equal(guard.open(frame), TagVerdict.MISSING, 'without its tag')
    pool.give(frame)
  })
}

t.test('with a key senders and receivers use direct responses as they do without one', async t => {
  const run = (cc: string, transport: string, direct: string) => {
    const text = `
link: { rate: 100Gbps, delay: 5us }
hosts: [h1, h2, h3]
switches: { s1: { telemetry: { ${direct} } }, s2: {} }
links: [h1--s1, h2--s1, s1--s2, s2--h3]
cc: ${cc}
transport: { ${transport} }
telemetry: { loadMax: 1 }
traffic:
  - { name: flow0, from: h1, to: h3, size: 2GB }
  - { name: flow1, from: h2, to: h3, size: 2GB, start: 100us }
duration: 400us
`
    const virtual = new VirtualRun(parseScenario(text, 'direct.yaml'))
    const result = virtual.run()
    const port = result.ports.find(({ name }) => name === 's1:s2')!
    const hosts = virtual.hostRxCounters
    return {
      peak: port.maxQueueBytes,
      sent: port.directResponses ?? 0,
      refused: hosts.reduce((n, h) => n + h.untaggedFeedback + h.forgedFeedback + h.replayedFeedback, 0),
      implausible: hosts.reduce((n, h) => n + h.implausibleTelemetry, 0),
    }
  }
  for (const cc of ['hpcc', 'rx-hpcc']) {
    const key = 'key: correct horse battery staple'
    const without = run(cc, '', 'direct: { threshold: 50KB }')
    const keyed = run(cc, key, 'direct: { threshold: 50KB }')
    t.ok(keyed.sent > 0, cc)
    t.same([keyed.refused, keyed.implausible], [0, 0], cc)
    // To the receiver it is the same way, but for the queue.
    if (cc === 'hpcc') {
      const silent = run(cc, key, '')
      t.ok(keyed.peak < 0.9 * silent.peak, `${keyed.peak} beside ${silent.peak}`)
    }
    t.ok(Math.abs(keyed.peak / without.peak - 1) < 0.1, `${cc}: ${keyed.peak} beside ${without.peak}`)
  }
})
