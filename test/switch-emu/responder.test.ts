import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { HostTable } from '../../switch-emu/core/answers/host-table.js'
import { IpAnswers } from '../../switch-emu/core/answers/ip-answers.js'
import { ANSWERS_SHARE, OwnMemory, PORT_SHARE } from '../../switch-emu/core/queueing/own-memory.js'
import type { Switch } from '../../switch-emu/core/switch.js'
import { internetSum } from '../io/helpers.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, seeded, starSwitch } from './helpers.js'

const GIGABIT = { rateBps: 1e9 }
const MAC = (n: number) => 0x02570a000000 + n
const V6 = 'fd000000000000000000000000000001'
const V6_ASKER = 'fd000000000000000000000000000002'
const ALL = Number.MAX_SAFE_INTEGER

function build() {
  const hosts = new HostTable()
  for (let n = 0; n < 3; n++) hosts.add(HostAddress.fromIpv4(HOST(n)), MAC(n))
  hosts.add(HostAddress.parse('fd00::1'), MAC(1))
  return starSwitch({ ports: [GIGABIT, GIGABIT, GIGABIT], responder: new IpAnswers(hosts, 0x0102) })
}

function frameOf(pool: FramePool, hex: string): Frame {
  const frame = pool.take()!
  frame.length = frame.bytes.write(hex, 'hex')
  frame.wireLength = frame.length
  return frame
}

/** What leaves the switch when a frame has come in by port 0. */
function answers(node: Switch, pool: FramePool, frame: Frame, now = 0): { port: number; bytes: Buffer }[] {
  node.onFrame(now, 0, frame)
  const out: { port: number; bytes: Buffer }[] = []
  drain(node, ALL, sent => {
    out.push({ port: sent.port, bytes: Buffer.from(sent.bytes.subarray(0, sent.length)) })
    pool.give(sent)
  })
  return out
}

const arpRequest = (from: number, wanted: number, operation = 1) => {
  const [a, b] = [HOST(from), HOST(wanted)].map(address => address.toString(16).padStart(8, '0'))
  const mac = MAC(from).toString(16).padStart(12, '0')
  return `ffffffffffff${mac}08060001080006040${'00'}${operation}${mac}${a}000000000000${b}`
}

t.test('ARP for another host is answered with its MAC, by the port where it came in', async t => {
  const { node, pool } = build()
  const [answer, ...more] = answers(node, pool, frameOf(pool, arpRequest(0, 2)))
  t.same(more, [])
  t.equal(answer!.port, 0)
  t.equal(
    answer!.bytes.toString('hex'),
    `02570a00000002570a0000020806${'0001080006040002'}02570a0000020a00000202570a0000000a000000`,
  )
  t.equal(node.report(1, 0).drops, 0)
  t.equal(pool.inUse, 0)
})

t.test(
  'no answer to replies, about oneself, about strangers, to what is cut off; those are drops',
  async t => {
    const { node, pool } = build()
    const frames = [arpRequest(0, 2, 2), arpRequest(0, 0), arpRequest(0, 9), arpRequest(0, 2).slice(0, -2)]
    for (const hex of frames) t.same(answers(node, pool, frameOf(pool, hex)), [], hex)
    t.equal(node.report(1, 0).dropsByReason.notIp, frames.length)
    t.equal(pool.inUse, 0)
  },
)

t.test(
  'answers take their place in the queue, and do without an IP header under ECN and priorities',
  async t => {
    const ecn = { kminBytes: 0, kmaxBytes: 1, pmax: 1 }
    const { node, pool } = starSwitch({
      ports: [GIGABIT, GIGABIT],
      features: { ecn },
      classifier: { dscp: { 0: 1 }, pcp: { 0: 2 } },
      responder: new IpAnswers(oneHost(), 1),
    })
    t.equal(answers(node, pool, frameOf(pool, arpRequest(0, 2))).length, 1)
    t.equal(pool.inUse, 0)
  },
)

t.test('answers to hosts that ask without end leave most of the memory for own packets', async t => {
  const { node, pool } = build()
  const bytes = arpRequest(0, 2).length / 2
  /** So many answers wait at a port: 2 KiB of its own, and a quarter of what is free of 128 KiB that the ports share. */
  const most = (used: number) => {
    let count = 0
    while ((count + 1) * bytes - 2048 <= (131_072 - used - Math.max(0, (count + 1) * bytes - 2048)) / 4)
      count++
    return count
  }
  for (let n = 0; n < 3000; n++) node.onFrame(0, 0, frameOf(pool, arpRequest(0, 2)))
  const first = most(0)
  t.equal(first, Math.floor((131_072 / 5 + 2048) / bytes))
  t.equal(node.ownMemory.usedBytes, first * bytes)
  t.equal(node.ownMemory.mostBytes(0), first * bytes)
  t.equal(node.report(1, 0).dropsByReason.bufferFull, 3000 - first)
  for (let n = 0; n < 3000; n++) node.onFrame(0, 1, frameOf(pool, arpRequest(1, 2)))
  const second = most(first * bytes - 2048)
  t.ok(second > first / 2, 'another port has room')
  t.equal(node.ownMemory.usedBytes, (first + second) * bytes)
  node.send(0, buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes: 1000 }))
  t.equal(node.ownMemory.usedBytes, (first + second) * bytes + 1000)
  drain(node, ALL, frame => pool.give(frame))
  t.equal(node.ownMemory.usedBytes, 0)
  t.equal(pool.inUse, 0)
})

t.test(
  'however many ports fill up with own packets, each other one has room for some, and for answers',
  async t => {
    const PORTS = 64
    const memory = new OwnMemory(PORTS)
    const waiting = new Array<number>(PORTS).fill(0)
    for (let port = 0; port < PORTS; port++) {
      t.ok(memory.check(port, 100, ANSWERS_SHARE), 'an answer')
      for (; memory.check(port, 100, PORT_SHARE); waiting[port]! += 100) memory.update(port, 100)
      t.ok(waiting[port]! >= 2000, `${waiting[port]} B at port ${port}`)
    }
    t.ok(Math.abs(waiting[0]! - 51_200) < 100, `${waiting[0]} B: 2 KiB and three eighths of 128`)
    t.equal(
      memory.usedBytes,
      waiting.reduce((sum, bytes) => sum + bytes, 0),
    )
    t.ok(memory.usedBytes <= memory.bytesMax)
    for (const [port, bytes] of waiting.entries())
      for (let n = 0; n < bytes; n += 100) memory.remove(port, 100)
    t.equal(memory.usedBytes, 0)
    t.ok(memory.check(0, 51_200, PORT_SHARE), 'all of it is free')
  },
)

function oneHost(): HostTable {
  const hosts = new HostTable()
  hosts.add(HostAddress.fromIpv4(HOST(2)), MAC(2))
  return hosts
}

/** A solicitation for fd00::1 with the option of the asker's MAC, as Linux sends it. */
const solicitation = (source: string, hops = 'ff') =>
  `3333ff00000102570a00000086dd` +
  `6000000000203a${hops}${source}ff0200000000000000000001ff000001` +
  `870000000000000${'0'}${V6}0101${'02570a000000'}`

t.test('a neighbour solicitation is answered (RFC 4861, section 7.2.4)', async t => {
  const { node, pool } = build()
  const [answer] = answers(node, pool, frameOf(pool, solicitation(V6_ASKER)))
  const { bytes } = answer!
  t.equal(bytes.subarray(0, 14).toString('hex'), '02570a00000002570a00000186dd')
  t.equal(bytes.subarray(14, 54).toString('hex'), `6000000000203aff${V6}${V6_ASKER}`)
  t.equal(bytes.subarray(54, 56).toString('hex'), '8800')
  t.equal(bytes.subarray(58).toString('hex'), `60000000${V6}0201${'02570a000001'}`)
  const pseudo = Buffer.concat([bytes.subarray(22, 54), Buffer.from('000000200000003a', 'hex')])
  t.equal(internetSum(Buffer.concat([pseudo, bytes.subarray(54)])), 0xffff)
})

t.test('no advertisement to who checks an address for duplicates, nor beyond a router', async t => {
  const { node, pool } = build()
  t.same(answers(node, pool, frameOf(pool, solicitation('0'.repeat(32)))), [])
  t.same(answers(node, pool, frameOf(pool, solicitation(V6_ASKER, 'fe'))), [])
  t.equal(node.report(1, 0).dropsByReason.noRoute, 2)
})

/** An IPv4 frame without telemetry, whose TTL is that. */
function expiring(pool: FramePool, ttl: number, wireBytes = 100): Frame {
  const frame = buildFrame(pool, { from: HOST(0), to: HOST(2), wireBytes })
  frame.length = frame.wireLength
  frame.bytes[22] = ttl
  frame.bytes.writeUInt16BE(0, 24)
  frame.bytes.writeUInt16BE(~internetSum(frame.bytes.subarray(14, 34)) & 0xffff, 24)
  frame.l3 = -1
  return frame
}

t.test('an expired packet is reported to its source (RFC 792)', async t => {
  const { node, pool } = build()
  const frame = expiring(pool, 1)
  const packet = Buffer.from(frame.bytes.subarray(14, frame.length))
  const [answer] = answers(node, pool, frame)
  const { port, bytes } = answer!
  t.equal(port, 0)
  t.equal(internetSum(bytes.subarray(14, 34)), 0xffff, 'IP checksum')
  t.equal(bytes.readUInt32BE(26), 0x0aff0102, 'the switch')
  t.equal(bytes.readUInt32BE(30), HOST(0))
  t.equal(bytes[23], 1, 'ICMP')
  t.equal(bytes.readUInt16BE(34), 11 << 8, 'time exceeded in transit')
  t.equal(internetSum(bytes.subarray(34)), 0xffff, 'ICMP checksum')
  t.same(bytes.subarray(42), packet, 'the packet goes along')
  t.equal(bytes.readUInt16BE(16), bytes.length - 14)
  t.equal(node.report(1, 0).dropsByReason.ttlExpired, 1)
  t.equal(pool.inUse, 0)
})

t.test('reports are rare: 50 at once, then 1 in a millisecond', async t => {
  const { node, pool } = build()
  const reports = (now: number, frames: number) => {
    let count = 0
    for (let i = 0; i < frames; i++) count += answers(node, pool, expiring(pool, 0), now).length
    return count
  }
  t.equal(reports(1e9, 200), 51)
  t.equal(reports(1e9 + 10e6, 200), 10)
  t.equal(reports(5e9, 200), 51)
  t.equal(pool.inUse, 0)
})

t.test('no report about an error, a later fragment, a group, or a packet that is not there', async t => {
  const { node, pool } = build()
  const changed = (change: (frame: Frame) => unknown) => {
    const frame = expiring(pool, 1)
    change(frame)
    frame.bytes.writeUInt16BE(0, 24)
    frame.bytes.writeUInt16BE(~internetSum(frame.bytes.subarray(14, 34)) & 0xffff, 24)
    return answers(node, pool, frame)
  }
  const icmpError = (frame: Frame) => {
    frame.bytes[23] = 1
    frame.bytes[34] = 11
  }
  t.same(changed(icmpError), [], 'ICMP error')
  t.same(
    changed(frame => frame.bytes.writeUInt16BE(5, 20)),
    [],
    'fragment',
  )
  t.same(
    changed(frame => frame.bytes.writeUInt32BE(0xe0000001, 26)),
    [],
    'from a group',
  )
  t.same(
    changed(frame => frame.bytes.writeUInt32BE(0, 26)),
    [],
    'from nobody',
  )
  const virtual = buildFrame(pool, { from: HOST(0), to: HOST(2), wireBytes: 1000 })
  virtual.bytes[22] = 1
  virtual.l3 = -1
  t.same(answers(node, pool, virtual), [], 'virtual time')
  t.equal(pool.inUse, 0)
})

t.test('damaged questions are answered or dropped, never fatal, never lost', async t => {
  const { node, pool } = build()
  const random = seeded(t, 11)
  const expired = expiring(pool, 1)
  const templates = [
    arpRequest(0, 2),
    solicitation(V6_ASKER),
    expired.bytes.toString('hex', 0, expired.length),
    solicitation(V6_ASKER).replace('86dd', '8100000186dd'),
  ]
  pool.give(expired)
  const frames = 20_000
  let answered = 0
  for (let i = 0; i < frames; i++) {
    const frame = frameOf(pool, templates[i % templates.length]!)
    for (let flips = random.below(4); flips > 0; flips--)
      frame.bytes[random.below(frame.length)] = random.below(256)
    if (random.below(4) === 0) frame.length = random.below(frame.length + 1)
    frame.wireLength = frame.length
    answered += answers(node, pool, frame, i * 1e6).length
  }
  const { drops, dropsByReason } = node.report(frames * 1e6, 0)
  t.ok(answered > frames / 10 && answered < frames, `${answered} were answered`)
  // Every frame was answered, forwarded or dropped. An expired one that was reported is both.
  t.ok(answered + drops >= frames && answered + drops <= frames + dropsByReason.ttlExpired!)
  t.equal(pool.inUse, 0)
})
