/**
 * Captures read by tshark with switch-emu/wireshark/weir.lua, compared with lib/wire's reading of the same
 * bytes.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
  PACKET_BYTES_MAX,
} from '../../lib/capture/capture-reader.js'
import { Frame } from '../../lib/frame/frame.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { opcodeName } from '../../lib/wire/ib/opcode.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { repositoryRoot } from './fixtures.js'
import { without } from './tools.js'

export const LUA = join(repositoryRoot, 'switch-emu', 'wireshark', 'weir.lua')

/** Why tshark is not available here, or false, for the `skip` of a test. */
export const noTshark = without('tshark')

/**
 * The fields of every packet. Repeated fields are joined by commas.
 *
 * @param withLua tshark loads Weir's dissector
 * @param more options of tshark
 */
export function tshark(
  path: string,
  fields: readonly string[],
  filter = '',
  withLua = true,
  more: readonly string[] = [],
): string[][] {
  const args = [...more, '-n', '-r', path, '-T', 'fields', '-E', 'separator=|']
  if (withLua) args.unshift('-X', `lua_script:${LUA}`)
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
  // Wireshark's dissector shows only the BTH of unknown opcodes.
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
  if (telemetry.read(frame, hops) !== WireError.OK) throw new Error('shim')
  const rows = Array.from({ length: hops.count }, (_, i) => i)
  const column = (values: { [row: number]: number }) => rows.map(row => values[row]).join()
  const native = frame.intFormat === telemetry.NATIVE
  // Compact records do not identify switches and ports.
  const wide = !native || intShim.format(view, shim) === intShim.FORMAT_WIDE
  const head = [
    intShim.format(view, shim).toString(),
    hex(intShim.flags(view, shim), 2),
    intShim.hopCount(view, shim).toString(),
    intShim.slots(view, shim).toString(),
    hex(hops.pathId, 4),
    hops.flows.toString(),
  ]
  return [
    ...fields,
    ...(native ? head : head.map(() => '')),
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
export function compare(t: Test, path: string): { packets: number; withHops: number; opcodes: Set<string> } {
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
    if (our.join('|') !== their.join('|')) t.same(their, our, `${path}: packet ${seen.packets}`)
    if (our[12] !== '') seen.withHops++
    seen.opcodes.add(opcodeName(Number(our[0])))
  }
  reader.close()
  t.equal(theirs.length, seen.packets, `${path}: tshark reads the same packets`)
  return seen
}

/** Two switches between two senders and a receiver. @param int empty: the default */
export function twoSenders(name: string, rate: string, int: string, more = ''): Scenario {
  return parseScenario(
    `
name: ${name}
link: {rate: ${rate}, delay: 100us}
hosts: [h1, h2, h3]
switches: [s1, s2]
links: [h1--s1, h2--s1, s1--s2, s2--h3]
${int && `int: ${int}`}
${more}
transport: {pathMtu: 1024}
traffic:
  - {name: a, from: h1, to: h3, size: 100KB}
  - {name: b, from: h2, to: h3, size: 100KB}
`,
    `${name}.yaml`,
  )
}
