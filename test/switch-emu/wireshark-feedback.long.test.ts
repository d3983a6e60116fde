/**
 * Wireshark's reading of Weir's feedback: notifications, windows, direct responses and tags, field by field
 * compared with lib/wire.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
  PACKET_BYTES_MAX,
} from '../../lib/capture/capture-reader.js'
import { Frame } from '../../lib/frame/frame.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode, opcodeName } from '../../lib/wire/ib/opcode.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as delayedAck from '../../lib/wire/weir/delayed-ack.js'
import * as directTag from '../../lib/wire/weir/direct-tag.js'
import * as feedbackTag from '../../lib/wire/weir/feedback-tag.js'
import * as rate from '../../lib/wire/weir/rate.js'
import * as rateRequest from '../../lib/wire/weir/rate-request.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { noTshark, tshark } from '../support/tshark.js'

const skip = noTshark

const FIELDS = [
  'weir.ack.syndrome',
  'weir.ack.msn',
  'weir.ack.acknowledges',
  'weir.ack.kind',
  'weir.ack.psn',
  'weir.rate.flows',
  'weir.rate.window',
  'weir.rate_request.base_rtt',
  'weir.rate_request.line_rate',
  'weir.rate_request.mtu',
  'weir.rate_request.option',
  'weir.tag.switch_id',
  'weir.tag.sequence',
  'weir.tag.hash',
  '_ws.malformed',
]

const { ANSWER, WINDOW, REQUEST } = { ANSWER: 5, WINDOW: 2, REQUEST: 4 }

/** The fields by lib/wire: three headers, then the tag. Blank where a packet has none. */
function ours(frame: Frame): string[] {
  const { view, bth: at, payload } = frame
  const opcode = bth.opcode(view, at)
  const behind = at + bth.BYTES
  const withAeth = opcode === Opcode.NOTIFY || opcode === Opcode.RATE
  const answer = Array<string>(ANSWER).fill('')
  if (withAeth) {
    answer[0] = `0x${aeth.syndrome(view, behind).toString(16).padStart(2, '0')}`
    answer[1] = String(aeth.msn(view, behind))
  }
  if (withAeth || opcode === Opcode.DIRECT_NOTIFY) {
    const ack = behind + (withAeth ? aeth.BYTES : 0)
    const acknowledges = delayedAck.acknowledges(view, ack)
    answer[2] = acknowledges ? '1' : '0'
    answer[3] = String(delayedAck.kind(view, ack))
    if (acknowledges) answer[4] = String(delayedAck.psn(view, ack))
  }
  const window = Array<string>(WINDOW).fill('')
  if (opcode === Opcode.RATE) {
    const from = payload - rate.BYTES
    window[0] = String(rate.flows(view, from))
    window[1] = String(rate.windowBytes(view, from))
  }
  const request = Array<string>(REQUEST).fill('')
  if (opcode === Opcode.RATE_REQUEST) {
    request[0] = String(rateRequest.baseRttNs(view, behind))
    request[1] = String(rateRequest.lineRateBps(view, behind))
    request[2] = String(rateRequest.mtuBytes(view, behind))
    // The last one says how the flow begins.
    const options = Array.from({ length: rateRequest.OPTION_PLACES + 1 }, (_, place) =>
      rateRequest.option(view, behind, place),
    )
    request[3] = options.filter(value => !Number.isNaN(value)).join()
  }
  return [...answer, ...window, ...request, ...tagOf(frame, opcode), '']
}

function tagOf({ view, payload, payloadLength }: Frame, opcode: number): string[] {
  if (!feedbackTag.isOn(opcode) || payloadLength !== feedbackTag.BYTES) return ['', '', '']
  const hash = view
    .getBigUint64(payload + 8)
    .toString(16)
    .padStart(16, '0')
  return opcode === Opcode.DIRECT_NOTIFY
    ? [String(directTag.switchId(view, payload)), String(directTag.sequence(view, payload)), hash]
    : ['', String(feedbackTag.sequence(view, payload)), hash]
}

/**
 * Both readings of every packet of a port. Returns for each opcode how many packets had a tag, and how many
 * had none.
 */
function compared(path: string, t: Test): Map<string, number> {
  const theirs = tshark(path, FIELDS)
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  const frame = new Frame(0, Buffer.alloc(PACKET_BYTES_MAX + FRAME_EXTRA_BYTES))
  const seen = new Map<string, number>()
  for (let n = 0; reader.next(packet); n++) {
    loadFrame(packet, frame)
    if (parseFrame(frame) !== WireError.OK) throw new Error(`packet ${n + 1} is malformed`)
    const our = ours(frame)
    const numbers = (row: string[]) =>
      row.map((text, i) => (i >= 7 && i < 11 ? floats(text) : text)).join('|')
    if (numbers(our) !== numbers(theirs[n]!)) t.same(theirs[n], our, `${path}: packet ${n + 1}`)
    const name = opcodeName(bth.opcode(frame.view, frame.bth)) + (our[13] === '' ? '' : ' tagged')
    seen.set(name, (seen.get(name) ?? 0) + 1)
  }
  reader.close()
  return seen
}

/** The two print numbers with different digits. */
function floats(text: string): string {
  return text === '' ? '' : text.split(',').map(Number).join()
}

const text = (more: string, key: boolean) => `
name: feedback
link: {rate: 10Gbps, delay: 10us}
hosts: [h1, h2, h3]
switches: {s1: {telemetry: {direct: {threshold: 5KB}}}, s2: {}}
links: [h1--s1, h2--s1, s1--s2, s2--h3]
int: {format: wide, hops: 5}
${more}
transport: {pathMtu: 1024, ackEvery: 16${key ? ', key: correct horse battery staple' : ''}}
traffic:
  - {name: a, from: h1, to: h3, size: 300KB}
  - {name: b, from: h2, to: h3, size: 300KB}
`

for (const [name, more, expected] of [
  ['notifications', 'telemetry: {answer: notify}', ['NOTIFY', 'DIRECT_NOTIFY']],
  [
    'probes',
    'telemetry: {collect: probe, subscribe: flag}',
    ['NOTIFY', 'PROBE', 'RC_ACKNOWLEDGE', 'DIRECT_NOTIFY'],
  ],
  ['windows', 'cc: {name: rx-hpcc, eta: 0.9}', ['RATE', 'RATE_REQUEST', 'RC_ACKNOWLEDGE']],
] as const) {
  t.test(`${name}, with a key and without: both read the same from every packet`, { skip }, async t => {
    for (const key of [false, true]) {
      const folder = t.testdir({})
      new VirtualRun(parseScenario(text(more, key), 'feedback.yaml'), { captures: { folder } }).run()
      const seen = compared(join(folder, 's1--h1.pcapng'), t)
      for (const opcode of expected) {
        t.ok(seen.has(key ? `${opcode} tagged` : opcode), `${opcode}${key ? ' tagged' : ''}`)
        t.notOk(seen.has(key ? opcode : `${opcode} tagged`) && opcode !== 'PROBE', `all of them: ${opcode}`)
      }
      t.same(tshark(join(folder, 's1--h1.pcapng'), ['frame.number'], 'weir.malformed'), [])
    }
  })
}

t.test('the summary says what a packet answers, acknowledges and tells', { skip }, async t => {
  const folder = t.testdir({})
  new VirtualRun(parseScenario(text('cc: rx-hpcc', false), 'feedback.yaml'), { captures: { folder } }).run()
  const infos = tshark(join(folder, 's1--h1.pcapng'), ['_ws.col.Info'], 'weir.opcode == 0xc2').flat()
  t.ok(infos.length > 2)
  for (const info of infos) t.match(info, /^RATE QP=0x[0-9a-f]{6} sequence \d+ window \d+$/)
})
