/** What programs get for captures: those of Linux's RoCEv2, those of a virtual run, and damaged ones. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Packet, parseCapture, readCapture } from '../../lib/capture/index.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { parseFrame } from '../../lib/wire/parse.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as carriedAck from '../../lib/wire/weir/carried-ack.js'
import { runScenario, scenarioFrom } from '../../switch-emu/index.js'
import { fixturePath, roceCaptures } from '../support/fixtures.js'
import { fc, property } from '../support/property.js'
import { buildRoce, PLAIN } from '../wire/helpers.js'
import { pcapFile } from './build.js'

t.test("Linux's packets: every field has its place, every ICRC is right", async t => {
  const all = roceCaptures().flatMap(file => [...readCapture(file)])
  t.ok(all.length > 100, `${all.length}`)
  const roce = all.filter(({ bth }) => bth !== null)
  t.same([...new Set(roce.map(({ icrc }) => icrc))], ['right'])
  t.same(
    all.filter(({ fault }) => fault !== null),
    [],
  )
  for (const { bth, ip, udp, bytes, payload, payloadBytes, text } of roce) {
    if (!text.includes(`psn ${bth!.psn}`) || !text.includes(`${ip!.source}.${udp!.sourcePort} > `)) {
      t.fail(text)
    }
    if (payload.length !== payloadBytes || payload.buffer !== bytes.buffer) t.fail(`payload of ${text}`)
  }
})

t.test('telemetry of IFA by another IP protocol, if that is named', async t => {
  const folder = t.testdir({})
  const scenario = scenarioFrom({
    link: { rate: '1Gbps', delay: '1us' },
    hosts: ['h1', 'h2'],
    switches: ['s1'],
    links: ['h1--s1', 'h2--s1'],
    int: { format: 'ifa', hops: 5, ifaProtocol: 131 },
    traffic: [{ from: 'h1', to: 'h2', size: '10KB' }],
  })
  await runScenario(scenario, { captures: { folder } })
  const ofIfa = (ifaProtocol?: number) => {
    const packets = [...readCapture(join(folder, 's1--h2.pcapng'), { ifaProtocol })]
    return packets.filter(
      ({ ip, bth, telemetry }) => ip?.protocol === 131 && bth && telemetry?.hops.length === 1,
    )
  }
  t.ok(ofIfa(131).length >= 10, `${ofIfa(131).length} packets`)
  t.equal(ofIfa().length, 0, 'without it they are another protocol')
  t.throws(() => ofIfa(17), { code: 'WEIR_BAD_ARGUMENT', message: /IP protocol 17 is not IFA's/ })
})

t.test('a WRITE and its acknowledgement', async t => {
  const packets = [...readCapture(fixturePath('roce-pcaps', 'vt_all.pcap'))]
  const write = packets.find(({ extended }) => extended.reth !== undefined)!
  t.match(write, {
    number: Number,
    ethernet: { source: /^([0-9a-f]{2}:){5}/, type: 0x0800, vlan: null },
    ip: { version: 4, protocol: 17, ecn: /ect|ce/ },
    udp: { destinationPort: 4791 },
    bth: { opcodeName: /^RC_RDMA_/, partitionKey: 0xffff },
    extended: { reth: { remoteKey: Number, length: Number } },
    telemetry: null,
    pfcQuanta: null,
    icrc: 'right',
  })
  t.type(write.extended.reth!.remoteAddress, 'bigint')
  const ack = packets.find(({ bth }) => bth?.opcodeName === 'RC_ACKNOWLEDGE')!
  t.match(ack.extended, { aeth: { kind: 'ack', value: Number, msn: Number } })
  t.equal(ack.payloadBytes, 0)
  t.ok(
    packets.every(({ timeNs }, i) => i === 0 || timeNs >= packets[i - 1]!.timeNs),
    'in the order of time',
  )
})

t.test('virtual packets: telemetry, pauses; cut ones have no ICRC', async t => {
  const folder = t.testdir()
  const scenario = scenarioFrom({
    hosts: ['h1', 'h2', 'h3'],
    switches: { s1: { pfc: { xoff: '4KB' } }, s2: { pfc: { xoff: '4KB' } } },
    links: ['h1--s1', 'h2--s1', 's1--s2', { ends: 's2--h3', rate: '100Mbps' }],
    cc: { name: 'fixed-window', window: '64KB' },
    int: { format: 'wide', hops: 2 },
    telemetry: { everyPackets: 1 },
    traffic: [
      { from: 'h1', to: 'h3', size: '200KB', cc: 'hpcc' },
      { from: 'h2', to: 'h3', size: '200KB' },
    ],
  })
  await runScenario(scenario, { captures: { folder, snapBytes: 200 } })
  const packets: Packet[] = [...readCapture(join(folder, 's2--h3.pcapng'))]
  const data = packets.filter(({ bth }) => bth?.opcodeName.startsWith('RC_RDMA_WRITE'))
  t.match(data[3], {
    telemetry: {
      format: 'wide',
      echo: false,
      overflow: false,
      hops: [{ switchId: 1 }, { switchId: 2, rateBps: 100e6 }],
    },
    icrc: 'absent',
    fault: null,
  })
  t.equal(data[3]!.bytes.length, 200)
  t.ok(data[3]!.payloadBytes > data[3]!.payload.length)
  t.ok(data[3]!.payload.every(byte => byte === 0))
  const echo = packets.find(
    ({ bth, telemetry }) => bth?.opcodeName === 'RC_ACKNOWLEDGE' && telemetry !== null,
  )
  t.match(echo?.telemetry, { echo: true, hops: [{ switchId: 1 }, { switchId: 2 }] })
  const paused = [...readCapture(join(folder, 's1--s2.pcapng'))].filter(({ pfcQuanta }) => pfcQuanta !== null)
  t.ok(paused.length > 0, 's2 has paused s1')
  t.match(paused[0]!.pfcQuanta, [null, null, null, 65535, null, null, null, null])
})

t.test('a message that carries an acknowledgement has no telemetry', async t => {
  const frame = buildRoce({
    ...PLAIN,
    opcode: Opcode.RC_SEND_ONLY,
    payloadBytes: 64,
    format: intShim.FORMAT_COMPACT,
    slots: 1,
    flags: intShim.FLAG_ECHO,
  })
  parseFrame(frame)
  aeth.write(frame.view, carriedAck.aethAt(frame), aeth.ACK_UNLIMITED, 7)
  carriedAck.setPsn(frame, 0xabcdef, 3)
  icrc.write(frame)
  const hex = frame.bytes.toString('hex', 0, frame.length)
  const [packet] = [...parseCapture(pcapFile('LE', 0xa1b2c3d4, [[0, 0, hex, frame.length]]))]
  t.same(packet!.carriedAck, { psn: 0xabcdef, aeth: { kind: 'ack', value: 31, msn: 7 }, duplicates: 3 })
  t.equal(packet!.telemetry, null)
  t.match(packet, {
    bth: { opcodeName: 'RC_SEND_ONLY' },
    extended: {},
    payloadBytes: 64,
    icrc: 'right',
    fault: null,
  })
})

t.test('errors', async t => {
  t.throws(() => [...readCapture('/nowhere.pcap')], { code: 'WEIR_NO_FILE' })
  t.throws(() => [...parseCapture(Buffer.from('neither of them'))], {
    code: 'WEIR_BAD_CAPTURE',
    message: /^capture/,
  })
  const bytes = readFileSync(fixturePath('roce-pcaps', 'vt_all.pcap'))
  let count = 0
  t.throws(
    () => {
      for (const _ of parseCapture(bytes.subarray(0, bytes.length - 3), 'cut.pcap')) count++
    },
    { code: 'WEIR_BAD_CAPTURE', message: /^cut\.pcap/ },
  )
  t.ok(count > 10, 'the packets before are there')
})

t.test('damaged packets are decoded as far as they go, and never throw', async t => {
  const bytes = readFileSync(fixturePath('roce-pcaps', 'vt_all.pcap'))
  const FILE_HEADER = 24
  const RECORD_HEADER = 16
  /** Where the bytes of packets are. */
  const places: number[] = []
  for (let at = FILE_HEADER; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at + 8)
    for (let i = 0; i < Math.min(length, 120); i++) places.push(at + RECORD_HEADER + i)
    at += RECORD_HEADER + length
  }
  const change = fc.tuple(fc.integer({ min: 0, max: places.length - 1 }), fc.integer({ min: 0, max: 255 }))
  const whole = [...parseCapture(bytes)].length
  const changes = fc.array(change, { minLength: 1, maxLength: 200 })
  const decode = (all: [number, number][]) => {
    const damaged = Buffer.from(bytes)
    for (const [place, value] of all) damaged[places[place]!] = value
    if ([...parseCapture(damaged)].length !== whole) throw new Error('packets are missing')
  }
  property(t, 'damaged', changes, decode, 50)
})
