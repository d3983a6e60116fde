import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  loadFrame,
  PACKET_BYTES_MAX,
} from '../../lib/capture/capture-reader.js'
import { CapturedRun } from '../../lib/capture/captured-run.js'
import { checkIcrc } from '../../lib/capture/check-icrc.js'
import { RocePorts } from '../../lib/capture/roce-ports.js'
import { WeirError } from '../../lib/errors.js'
import { Frame } from '../../lib/frame/frame.js'
import { IFA_PROTOCOL } from '../../lib/frame/ifa-protocol.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { isKnock } from '../../lib/wire/ib/knock.js'
import { opcodeName } from '../../lib/wire/ib/opcode.js'
import { isShort, WireError } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'

/** What `weir dump --json` prints. */
export interface DumpSummary {
  /** All packets of the capture. Each packet of a run counts. */
  packets: number
  /** Packets with a BTH. */
  roce: number
  icrcOk: number
  /**
   * Those of them that are right for IP identification 0, which senders on ordinary sockets assume. Absent:
   * none.
   */
  icrcOkAsMeant?: number
  icrcBad: number
  /** ICRCs of 0, of connections that use none. Absent: none. */
  icrcUnused?: number
  /** Packets that violate their format. */
  malformed: number
  /** Packets that were captured too short to be identified. Absent: none. */
  cutShort?: number
  /** Runs of packets that were captured before the kernel or a network card split them. Absent: none. */
  runs?: number
  /** What is wrong with the capture after the last counted packet. Absent: nothing. */
  fault?: string
  /** RoCE packets by the name of their opcode, most frequent first. */
  byOpcode: Record<string, number>
}

/** Writes a piece of output. Rejects when it cannot be written. */
type Output = (text: string) => Promise<void>

const OUTPUT_CHUNK = 32_768
const FRAME_BYTES = PACKET_BYTES_MAX + FRAME_EXTRA_BYTES
const VERDICTS = {
  right: ', icrc ok',
  'as-meant': ', icrc ok (IP id taken as 0)',
  unused: ', icrc not used',
  wrong: ', icrc BAD',
  'not-captured': ', icrc not captured',
} as const

/**
 * Reads a capture and counts its packets. Writes a line per packet to `output`, unless it is null. It writes
 * lines before it waits for more input. Throws WEIR_NO_FILE, and WEIR_BAD_CAPTURE for a file that is no
 * capture. A capture that is damaged further on has a `fault`.
 *
 * @param path `-` is standard input
 * @param ports see RocePorts
 * @param ifaProtocol IP protocol number of IFA
 */
export async function dump(
  path: string,
  output: Output | null,
  ports: readonly number[] = [],
  ifaProtocol = IFA_PROTOCOL,
): Promise<DumpSummary> {
  const counter = new PacketCounter(ports, ifaProtocol, output !== null)
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  try {
    while (reader.next(packet)) {
      counter.take(path, packet)
      if (output === null || (counter.text.length < OUTPUT_CHUNK && !reader.isDrained)) continue
      await output(counter.takeText())
    }
  } catch (error) {
    if (!(error instanceof WeirError) || error.code !== 'WEIR_BAD_CAPTURE') throw error
    counter.summary.fault = error.message
  } finally {
    reader.close()
    if (counter.text !== '') await output?.(counter.takeText())
  }
  return counter.done()
}

class PacketCounter {
  readonly summary: DumpSummary = { packets: 0, roce: 0, icrcOk: 0, icrcBad: 0, malformed: 0, byOpcode: {} }
  /** Lines that have not been written. */
  text = ''
  readonly #ports: RocePorts
  readonly #prints: boolean
  readonly #frame = new Frame(0, Buffer.alloc(FRAME_BYTES))
  readonly #run = new CapturedRun(FRAME_BYTES)
  readonly #opcodes = new Map<string, number>()

  constructor(ports: readonly number[], ifaProtocol: number, prints: boolean) {
    this.#frame.ifaProtocol = ifaProtocol
    this.#run.packet.ifaProtocol = ifaProtocol
    this.#ports = new RocePorts(ports)
    this.#prints = prints
  }

  take(path: string, packet: CapturedPacket): void {
    const frame = this.#frame
    const { summary } = this
    if (!loadFrame(packet, frame)) {
      throw new WeirError(
        'WEIR_BAD_CAPTURE',
        `${path}: packet ${summary.packets + 1} is of link type ${packet.linkType}, which is not read here, or is too short for it; capture on an Ethernet interface`,
      )
    }
    const time = this.#prints ? formatTime(packet) : ''
    const { error, port } = this.#ports.parse(frame)
    const verdict = frame.bth < 0 ? 'right' : checkIcrc(frame, port)
    // A run ends like its last packet: without ICRC, if its packets have none.
    const packets = verdict === 'wrong' || verdict === 'unused' ? this.#run.open(frame) : 1
    if (packets === 1) {
      this.#count(time, frame, error, port, '')
      return
    }
    summary.runs = (summary.runs ?? 0) + 1
    for (let i = 0; i < packets; i++) {
      this.#run.take(i)
      const { error } = this.#ports.parse(this.#run.packet)
      this.#count(time, this.#run.packet, error, port, `, ${i + 1} of a run of ${packets}`)
    }
  }

  takeText(): string {
    const { text } = this
    this.text = ''
    return text
  }

  done(): DumpSummary {
    const sorted = [...this.#opcodes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    this.summary.byOpcode = Object.fromEntries(sorted)
    return this.summary
  }

  #count(time: string, frame: Frame, error: WireError, port: number, place: string): void {
    const { summary } = this
    summary.packets++
    if (isShort(error) && frame.length < frame.wireLength) summary.cutShort = (summary.cutShort ?? 0) + 1
    else if (error !== WireError.OK && !isKnock(frame)) summary.malformed++
    const verdict = frame.bth < 0 || isKnock(frame) ? '' : this.#countRoce(frame, port)
    if (this.#prints) this.text += `${time} ${printFrame(frame, port)}${verdict}${place}\n`
  }

  /** Counts a RoCE packet. Returns the ICRC's verdict in words. */
  #countRoce(frame: Frame, port: number): string {
    const { summary } = this
    summary.roce++
    const name = opcodeName(bth.opcode(frame.view, frame.bth))
    this.#opcodes.set(name, (this.#opcodes.get(name) ?? 0) + 1)
    const verdict = checkIcrc(frame, port)
    if (verdict === 'wrong') summary.icrcBad++
    if (verdict === 'unused') summary.icrcUnused = (summary.icrcUnused ?? 0) + 1
    if (verdict === 'right' || verdict === 'as-meant') summary.icrcOk++
    if (verdict === 'as-meant') summary.icrcOkAsMeant = (summary.icrcOkAsMeant ?? 0) + 1
    return VERDICTS[verdict]
  }
}

/** Formats the UTC time of day as tcpdump does, in nanoseconds. */
function formatTime(packet: CapturedPacket): string {
  const day = ((packet.seconds % 86_400) + 86_400) % 86_400
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const nanos = String(packet.nanos).padStart(9, '0')
  return `${two(day / 3600)}:${two((day / 60) % 60)}:${two(day % 60)}.${nanos}`
}
