/** Which packets collect telemetry, when probes go, and how answers accumulate. */
import t from 'tap'
import { newAckSample } from '../../lib/cc/congestion-control.js'
import { Hpcc } from '../../lib/cc/hpcc/hpcc.js'
import {
  DEFAULT_TELEMETRY,
  parseTelemetrySettings,
  telemetrySettings,
} from '../../lib/cc/telemetry-settings.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { EchoRooms, TelemetryEcho } from '../../lib/nic/telemetry/telemetry-echo.js'
import { TelemetryProbe } from '../../lib/nic/telemetry/telemetry-probe.js'
import { NO_SHIM, TelemetrySource } from '../../lib/nic/telemetry/telemetry-source.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { INT_MD } from '../../lib/wire/telemetry/telemetry.js'
import { connected, makePair, memoryOf, refusal } from './pair.js'

/** The headers of a flow's first packets: slots, with `s` for packets that ask switches. */
function pattern(
  given: Parameters<typeof telemetrySettings>[0],
  packets: number,
  { bytes = 1000, format = intShim.FORMAT_WIDE } = {},
): string {
  const source = new TelemetrySource(telemetrySettings(given), 5, format)
  source.start()
  const out: string[] = []
  for (let n = 0; n < packets; n++) {
    const asks = (source.nextFlags & intShim.FLAG_SUBSCRIBED) !== 0 || source.subscribesByDscp
    out.push((source.nextSlots === NO_SHIM ? '-' : String(source.nextSlots)) + (asks ? 's' : ''))
    source.onSent(bytes)
  }
  return out.join(' ')
}

t.test('every packet, every n-th, or by bytes; the first always', async t => {
  t.equal(pattern({}, 4), '5 5 5 5')
  t.equal(pattern({ everyPackets: 3 }, 7), '5 0 0 5 0 0 5', 'the others have the same ports by an empty shim')
  t.equal(pattern({ everyPackets: 3, plain: true }, 7), '5 - - 5 - - 5', 'or none')
  t.equal(
    pattern({ everyBytes: 2500 }, 8),
    '5 0 0 5 0 0 5 0',
    '2,500 bytes are sent after three packets of 1,000',
  )
  t.equal(pattern({ collect: 'probe' }, 3), '0 0 0')
  t.equal(pattern({ collect: 'probe', plain: true }, 3), '- - -')
})

t.test('packets ask for direct answers by flag or by DSCP, each for itself', async t => {
  t.equal(pattern({ collect: 'probe', plain: true, subscribe: 'flag' }, 3), '0s 0s 0s', 'a flag needs a shim')
  t.equal(pattern({ everyPackets: 2, subscribe: 'flag', subscribeEvery: 3 }, 6), '5s 0 5 0s 5 0')
  t.equal(pattern({ collect: 'probe', plain: true, subscribe: 'dscp' }, 2), '-s -s')
  const intMd = pattern({ everyPackets: 2, subscribe: 'flag', subscribeEvery: 3 }, 7, { format: INT_MD })
  t.equal(intMd, '5s - 5 - 5s - 5', 'INT-MD asks by the next packet that collects')
})

t.test(
  'where few packets are to collect, single messages count an eighth, and a run ends before one that does',
  async t => {
    const FEW = 4
    const ALONE_A_PACKET = 8
    const newSource = (sparse: number, alone: number) => {
      const source = new TelemetrySource(DEFAULT_TELEMETRY, 5, intShim.FORMAT_WIDE)
      source.start()
      source.sparse = sparse
      for (let n = 0; n <= alone; n++) source.onSent(1000, true)
      return source
    }
    t.ok(newSource(0, 0).collects, 'where all collect, single messages do too')
    const most = (FEW - 1) * ALONE_A_PACKET
    for (let alone = 0; alone < most; alone++) {
      t.notOk(newSource(FEW, alone).collects, `after ${alone}`)
      const source = newSource(FEW, alone)
      const { alikePackets } = source
      // The last one collected if none has left since: the next is another kind.
      const left = alone === 0 ? FEW - 1 : alikePackets
      if (alone === 0) t.equal(alikePackets, 0)
      t.ok(Number.isInteger(alikePackets), `${alikePackets} packets`)
      for (let n = 0; n < left; n++) {
        t.notOk(source.collects, `after ${alone} and ${n} of a run`)
        source.onRun(1, 1000)
      }
      t.ok(source.collects, `after ${alone} and ${left} of a run`)
    }
    t.ok(newSource(FEW, most).collects)
    for (const window of [64, 1000, 20_000]) {
      const source = newSource(window, 0)
      let alone = 0
      for (; !source.collects; alone++) source.onSent(1000, true)
      t.ok(alone > 250 && alone <= 256, `${alone} of a window of ${window}`)
    }
  },
)

t.test('a flow whose controller needs nothing, or whose peer is no Weir host', async t => {
  const source = new TelemetrySource(DEFAULT_TELEMETRY, 5, intShim.FORMAT_WIDE)
  t.equal(source.nextSlots, NO_SHIM)
  t.notOk(source.subscribes)
})

t.test('an answer before the first probe answers none', async t => {
  const probe = new TelemetryProbe(1000, true, 1)
  t.equal(probe.onAnswer(100, 0xffffff, 60), -1)
  probe.onSent(200, 7, 60)
  t.equal(probe.onAnswer(1300, 0, 60), 7)
})

t.test('probes: one in T, the next when the answer has come or is given up', async t => {
  const probe = new TelemetryProbe(1000, true, 1)
  t.ok(probe.isDue(50))
  probe.onSent(50, 7, 0)
  t.notOk(probe.isDue(3000), 'one at a time')
  t.equal(probe.onAnswer(900, 3, 0), -1, 'another sequence')
  t.equal(probe.onAnswer(900, 0, 0), 7, 'sent before transmission 7')
  t.equal(probe.onAnswer(901, 0, 0), -1, 'twice')
  t.notOk(probe.isDue(1359))
  t.equal(probe.nextTimeout(), 1360)
  t.ok(probe.isDue(1360), 'T after the last, and half a T times the golden ratio, 0.618…')
  probe.onSent(1360, 20, 0)
  t.equal(probe.nextTimeout(), 1360 + 4000, 'four round trips')
  probe.onTimeout(5359)
  t.notOk(probe.isDue(5359))
  probe.onTimeout(5360)
  t.ok(probe.isDue(5360))
})

t.test('answers later than ever: waited for twice as long each time, and taken when they come', async t => {
  const probe = new TelemetryProbe(1000, true, 1)
  probe.onSent(0, 10, 0)
  probe.onTimeout(4000)
  probe.onSent(4000, 11, 0)
  t.equal(probe.nextTimeout(), 4000 + 8000)
  t.equal(probe.onAnswer(9000, 0, 0), 10, 'of the one that was given up')
  t.notOk(probe.isDue(11_000), 'the other is still waited for')
  t.equal(probe.nextTimeout(), 4000 + 4 * 9000, 'by what the round trip has become')
  t.equal(probe.onAnswer(12_000, 1, 0), 11)
  t.equal(probe.onAnswer(12_001, 0, 0), -1, 'older than what is known')
  t.ok(probe.isDue(12_001))
})

t.test('probes and their answers take no more than their share of the data', async t => {
  const share = 0.01
  const bytes = 190
  const probe = new TelemetryProbe(1000, true, share)
  let data = 0
  let probed = 0
  for (let now = 0; now < 1_000_000; now += 500) {
    probe.onData(now, 1000)
    data += 1000
    if (!probe.isDue(now)) continue
    probe.onSent(now, 1, bytes)
    probed += bytes
    t.equal(probe.onAnswer(now + 900, probe.sequence, bytes), 1)
    probed += bytes
  }
  t.ok(probed <= share * data + 800 + 2 * bytes, `${probed} of ${data}, and what a flow begins with`)
  t.ok(probed >= share * data - 2 * bytes, 'and no less: T would let ten times as many go')
  t.notOk(probe.isDue(1_000_500), 'nothing left')
  t.ok(probe.isDue(1_010_000), 'but a flow that has heard nothing for two round trips asks all the same')
})

t.test('a flow whose packets collect probes only when it has heard nothing for two round trips', async t => {
  const probe = new TelemetryProbe(1000, false, 1)
  probe.onProgress(10_000, 3000)
  t.notOk(probe.isDue(15_999))
  t.ok(probe.isDue(16_000), 'of 3,000 ns each')
})

t.test('settings by text, and what they refuse', async t => {
  t.same(telemetrySettings(parseTelemetrySettings([])), DEFAULT_TELEMETRY)
  const texts = ['everyBytes=64KB', 'plain=true', 'subscribe=dscp', 'subscribeDscp=26']
  t.same(parseTelemetrySettings(texts), {
    everyBytes: 64_000,
    plain: true,
    subscribe: 'dscp',
    subscribeDscp: 26,
  })
  t.match(parseTelemetrySettings(['collect=probe', 'probeShare=1.5%']), { probeShare: 0.015 })
  for (const text of [
    'collect=all',
    'everyPackets=0',
    'everyPackets=',
    'plain=yes',
    'hops',
    'nothing=1',
    'subscribeDscp=64',
    'probeShare=0',
  ])
    t.match(
      refusal(() => parseTelemetrySettings([text]), 'WEIR_BAD_ARGUMENT'),
      /telemetry/,
    )
})

const RATE = 100e9
const T = 8000

t.test('an echo in the room of one that has ended is as in a room of its own', async t => {
  const pool = new FramePool(2, 512)
  const [frame, answer] = [pool.take()!, pool.take()!]
  const arrives = (echo: TelemetryEcho, startNs: number, qlenBytes: number) => {
    frame.shim = 0
    frame.intFormat = intShim.FORMAT_WIDE
    frame.bth = intShim.write(frame.view, 0, intShim.FORMAT_WIDE, 1, 0)
    const hop = { switchId: 1, egressPort: 1, rateBps: RATE, startNs, txBytes: startNs, qlenBytes }
    intShim.stamp(frame.view, 0, 512, hop)
    echo.keep(frame)
  }
  const answered = (echo: TelemetryEcho) => {
    arrives(echo, 5000, 3000)
    arrives(echo, 6000, 7000)
    return Buffer.from(answer.bytes.subarray(0, echo.write(answer, 0, T)))
  }
  const rooms = new EchoRooms()
  const ended = new TelemetryEcho(false, null, rooms)
  arrives(ended, 1000, 90_000)
  arrives(ended, 2000, 80_000)
  ended.end()
  t.equal(ended.bytes, 0)
  const next = new TelemetryEcho(false, null, rooms)
  const expected = answered(new TelemetryEcho(false))
  t.same(answered(next), expected)
  // A packet of the first arrives behind its end.
  arrives(ended, 3000, 70_000)
  t.same(Buffer.from(answer.bytes.subarray(0, next.write(answer, 0, T))), expected)
})

t.test('a host keeps rooms for echoes, but not of each connection that it ever had', async t => {
  const rooms = new EchoRooms()
  const given = new Set(Array.from({ length: 1000 }, () => rooms.take()))
  t.equal(given.size, 1000, 'each is one of its own')
  for (const room of given) rooms.give(room)
  const kept = Array.from({ length: 1000 }, () => rooms.take()).filter(room => given.has(room))
  t.ok(kept.length > 0 && kept.length < 100, `${kept.length} are kept`)
})

/**
 * A receiver that answers each packet, and one that answers one in `m`, with the same packets: the
 * controllers that get the answers. This checks the echo's rule against the listing run packet by packet.
 */
function both(format: number, m: number, seed: number): [number, number] {
  const random = new Random(seed)
  const pool = new FramePool(2, 512)
  const frame = pool.take()!
  const ends = [new TelemetryEcho(false), new TelemetryEcho(false)]
  const ccs = [
    new Hpcc({ lineRateBps: RATE, baseRttNs: T, mtuBytes: 1000 }),
    new Hpcc({ lineRateBps: RATE, baseRttNs: T, mtuBytes: 1000 }),
  ]
  const hops = new HopRecords()
  const answer = pool.take()!
  let ts = 1_000_000
  let tx = 0
  let queue = 30_000
  for (let n = 0; n < 64 * m + 1; n++) {
    const dt = 60 + random.below(60)
    ts += dt
    tx += Math.round(dt * 12.5)
    queue = Math.max(0, queue + random.below(8001) - 4000)
    for (const [i, echo] of ends.entries()) {
      frame.shim = 0
      frame.intFormat = format
      frame.bth = intShim.write(frame.view, 0, format, 1, 0)
      intShim.stamp(frame.view, 0, 512, {
        switchId: 1,
        egressPort: 1,
        rateBps: RATE,
        startNs: ts,
        txBytes: tx,
        qlenBytes: queue,
      })
      echo.keep(frame)
      if (i === 1 && n % m !== 0) continue
      const bytes = echo.write(answer, 0, T)
      echo.clear()
      intShim.read(answer.view, 0, bytes, hops)
      const sample = { ...newAckSample(), sndNxt: 1e9, advanced: true, hops }
      ccs[i]!.onAck(ts, sample)
    }
  }
  const u = ccs.map(cc => {
    const into = new Float64Array(8)
    cc.observe(into)
    return into[2]!
  })
  return [u[0]!, u[1]!]
}

t.test('one answer for many packets moves U as an answer for each would', async t => {
  for (const format of [intShim.FORMAT_WIDE, intShim.FORMAT_COMPACT]) {
    for (const m of [4, 16]) {
      for (let seed = 1; seed <= 5; seed++) {
        const [each, one] = both(format, m, seed)
        // tau of m packets is m x 90 ns. The omitted terms are of its square.
        const share = (m * 90) / T
        t.ok(Math.abs(one / each - 1) < share * 0.5, `seed ${seed}, 1 in ${m}: ${one} beside ${each}`)
      }
    }
  }
})

t.test(
  'an answer that was posted behind an acknowledgement leaves when a notification has acknowledged',
  async t => {
    const telemetry = telemetrySettings({ answer: 'notify' })
    const pair = makePair({ a: { baseRttNs: 100_000, telemetry }, b: { baseRttNs: 100_000, telemetry } })
    const { left, right } = connected(pair)
    const work = { opcode: WorkOpcode.SEND, offset: 0, length: 4 }
    const [ping, pong] = [memoryOf(pair.a, Buffer.from('ping')), memoryOf(pair.b, Buffer.from('pong'))]
    right.onDone = (now, connection, { isReceive }) => {
      if (isReceive) connection.postSend(now, { ...work, id: 2, region: pong })
    }
    for (const n of [1, 2, 3]) {
      left.connection!.postSend(pair.network.now, { ...work, id: 1, region: ping })
      const answers = () => left.log.filter(line => line === 'received pong').length
      t.ok(
        pair.until(() => answers() === n),
        `answer ${n}`,
      )
    }
    t.ok(
      pair.passed.some(name => /NOTIFY/.test(name)),
      `notifications: ${pair.passed.slice(-6)}`,
    )
  },
)
