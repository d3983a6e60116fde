import type { Command } from 'commander'
import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
  PACKET_BYTES_MAX,
} from '../../lib/capture/capture-reader.js'
import { WeirError } from '../../lib/errors.js'
import { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/bth.js'
import * as icrc from '../../lib/wire/icrc.js'
import { opcodeName } from '../../lib/wire/opcode.js'
import { isShort, parseFrame, WireError } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'
import { commandOf } from './names.js'

/** What `weir dump --json` prints. */
export interface DumpSummary {
  /** All packets of the capture. */
  packets: number
  /** Packets with a BTH. */
  roce: number
  icrcOk: number
  icrcBad: number
  /** Packets that break a rule of their format. */
  malformed: number
  /** Packets of which the capture has kept too little to tell what they are; absent: none. */
  cutShort?: number
  /** RoCE packets by the name of their opcode, most frequent first. */
  byOpcode: Record<string, number>
}

/** Takes a piece of output; rejects when it cannot be written. */
export type Output = (text: string) => Promise<void>

const OUTPUT_CHUNK = 32_768

/** `weir dump CAPTURE [--json]` */
export function dumpCommand(): Command {
  return commandOf('dump')
    .argument('<capture>', 'pcap or pcapng file')
    .option('--json', 'print the counts alone, as JSON')
    .action(runDump)
}

async function runDump(path: string, options: { json?: boolean }): Promise<void> {
  try {
    const summary = await dump(path, options.json ? null : writeOut)
    await writeOut(`${options.json ? JSON.stringify(summary, null, 2) : printSummary(summary)}\n`)
  } catch (error) {
    // A reader that has seen enough (`weir dump … | head`) is no failure.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })
}

/**
 * Reads a capture and counts; writes a line per packet to `output`, unless it is null. Throws WEIR_NO_FILE and
 * WEIR_BAD_CAPTURE, the lines before the fault written.
 */
export async function dump(path: string, output: Output | null): Promise<DumpSummary> {
  const reader = CaptureReader.open(path)
  let text = ''
  try {
    const frame = new Frame(0, Buffer.alloc(PACKET_BYTES_MAX + FRAME_EXTRA_BYTES))
    const packet = new CapturedPacket()
    const counts = new Map<string, number>()
    const summary: DumpSummary = { packets: 0, roce: 0, icrcOk: 0, icrcBad: 0, malformed: 0, byOpcode: {} }
    while (reader.next(packet)) {
      summary.packets++
      load(path, packet, frame, summary.packets)
      const verdict = count(frame, summary, counts)
      if (output === null) continue
      text += `${formatTime(packet)} ${printFrame(frame)}${verdict}\n`
      if (text.length >= OUTPUT_CHUNK) {
        await output(text)
        text = ''
      }
    }
    const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    summary.byOpcode = Object.fromEntries(sorted)
    return summary
  } finally {
    reader.close()
    if (text !== '') await output?.(text)
  }
}

function load(path: string, packet: CapturedPacket, frame: Frame, number: number): void {
  if (loadFrame(packet, frame)) return
  throw new WeirError(
    'WEIR_BAD_CAPTURE',
    `${path}: packet ${number} is of link type ${packet.linkType}, which is not read here, or is too short for it; capture on an Ethernet interface`,
  )
}

/** Takes one frame into the counts, and returns its ICRC's verdict in words. */
function count(frame: Frame, summary: DumpSummary, counts: Map<string, number>): string {
  const error = parseFrame(frame)
  if (isShort(error) && frame.length < frame.wireLength) summary.cutShort = (summary.cutShort ?? 0) + 1
  else if (error !== WireError.OK) summary.malformed++
  if (frame.bth < 0) return ''
  summary.roce++
  const name = opcodeName(bth.opcode(frame.view, frame.bth))
  counts.set(name, (counts.get(name) ?? 0) + 1)
  if (!icrc.isPresent(frame)) return ', icrc not captured'
  if (icrc.verify(frame)) {
    summary.icrcOk++
    return ', icrc ok'
  }
  summary.icrcBad++
  return ', icrc BAD'
}

/** UTC time of day as tcpdump prints it, in nanoseconds. */
function formatTime(packet: CapturedPacket): string {
  const day = ((packet.seconds % 86_400) + 86_400) % 86_400
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const nanos = String(packet.nanos).padStart(9, '0')
  return `${two(day / 3600)}:${two((day / 60) % 60)}:${two(day % 60)}.${nanos}`
}

function printSummary(summary: DumpSummary): string {
  const { packets, roce, icrcOk, icrcBad, malformed, cutShort } = summary
  const missing = roce - icrcOk - icrcBad
  const notCaptured = missing > 0 ? `, ${missing} not captured` : ''
  const cut = cutShort === undefined ? '' : `, ${cutShort} captured too short to tell`
  return `${packets} packets, ${roce} RoCEv2, ${icrcOk} ICRCs right, ${icrcBad} wrong${notCaptured}, ${malformed} malformed${cut}`
}
