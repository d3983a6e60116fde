/**
 * Measures how many frames per second one switch forwards, in one thread and in virtual time: lookup, TTL,
 * admission, marking, queue, INT stamp, serialisation, and the driver's loop around it. The sender has parsed
 * the frames.
 */
import { parseArgs } from 'node:util'
import type { Frame } from '../lib/frame/frame.js'
import { FramePool, HEADER_SLOT_BYTES } from '../lib/frame/frame-pool.js'
import { HostAddress } from '../lib/wire/net/address.js'
import * as ipv4 from '../lib/wire/net/ipv4.js'
import * as intShim from '../lib/wire/telemetry/int-shim.js'
import type { IpccOptions } from '../switch-emu/core/ipcc/ipcc.js'
import type { LargeFlowsOptions } from '../switch-emu/core/scheduling/large-flows.js'
import { Switch } from '../switch-emu/core/switch.js'
import { buildFrame } from '../test/switch-emu/build-frame.js'
import type { NamedFigure } from './support/against.js'
import { wholeNumber } from './support/whole-number.js'

const RATE_BPS = 100e9
const FLOWS = 256
const ROUNDS = 5
const STANDING_FRAMES = 100

interface Figure {
  wireBytes: number
  ports: number
  /** True: frames of all inputs go to one output at its rate, so that a queue stands and marks. */
  congested: boolean
  /** Large flows are recognised, and have a queue of their own. */
  largeFlows: boolean
  /** The switch keeps a table of RoCEv2 flows, and looks at its queues to send CNPs. */
  ipcc: boolean
  framesPerSecond: number
  nsPerFrame: number
}

interface SwitchCoreResult {
  benchmark: 'switch-core'
  frames: number
  rounds: number
  figures: Figure[]
}

/** @param args `--frames N`: frames per round, 1,000,000 unless given */
export async function run(args: string[]): Promise<SwitchCoreResult> {
  const { values } = parseArgs({
    args,
    options: { frames: { type: 'string', default: '1000000' }, json: { type: 'boolean' } },
  })
  const frames = wholeNumber('--frames', values.frames)
  const cases = [
    { wireBytes: 64, ports: 4, congested: false },
    { wireBytes: 4096, ports: 4, congested: false },
    { wireBytes: 4096, ports: 64, congested: false },
    { wireBytes: 64, ports: 4, congested: true },
    { wireBytes: 4096, ports: 4, congested: true },
    { wireBytes: 64, ports: 4, congested: false, largeFlows: true },
    { wireBytes: 4096, ports: 4, congested: true, largeFlows: true },
    { wireBytes: 64, ports: 4, congested: false, ipcc: true },
    { wireBytes: 4096, ports: 4, congested: true, ipcc: true },
  ].map(c => ({ largeFlows: false, ipcc: false, ...c }))
  // The cases alternate, so that a noisy neighbour affects all of them. The median of the rounds counts.
  const seconds = cases.map(() => [] as number[])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, c] of cases.entries()) {
      seconds[i]!.push(forward(c, frames))
    }
  }
  const figures: Figure[] = cases.map((c, i) => {
    const median = seconds[i]!.sort((a, b) => a - b)[ROUNDS >> 1]!
    return {
      ...c,
      framesPerSecond: Math.round(frames / median),
      nsPerFrame: Math.round((median / frames) * 1e9),
    }
  })
  for (const f of values.json ? [] : figures) {
    const load = loadOf(f)
    console.log(
      `${String(f.wireBytes).padStart(5)} B  ${String(f.ports).padStart(2)} ports  ${load.padEnd(24)}  ` +
        `${(f.framesPerSecond / 1e6).toFixed(2)} M frames/s  ${f.nsPerFrame} ns CPU a frame`,
    )
  }
  return { benchmark: 'switch-core', frames, rounds: ROUNDS, figures }
}

/** For `--against`: ns of CPU time a frame. */
export function comparedFigures({ figures }: SwitchCoreResult): NamedFigure[] {
  return figures.map(figure => ({
    name: `${figure.wireBytes} B, ${figure.ports} ports, ${loadOf(figure)}: ns of CPU a frame`,
    value: figure.nsPerFrame,
  }))
}

type Case = Pick<Figure, 'wireBytes' | 'ports' | 'congested' | 'largeFlows' | 'ipcc'>

function loadOf({ congested, largeFlows, ipcc }: Case): string {
  return `${congested ? 'congested' : 'uncongested'}${largeFlows ? ', large flows' : ''}${ipcc ? ', IPCC' : ''}`
}

const IPCC: IpccOptions = {
  few: 0.25,
  more: 1,
  high: 0.4,
  least: 0.1,
  flowIntervalNs: 50_000,
  most: 64,
  dscp: 48,
  priorities: [0],
  flows: 4096,
  ageNs: 1e9,
}

const LARGE_FLOWS: LargeFlowsOptions = {
  sizeBytes: 100_000,
  intervalNs: 100_000,
  holdNs: 10_000_000,
  priority: 1,
  from: [0],
  flows: 4096,
  ageNs: 100_000_000,
}

/** CPU seconds in which one switch forwards `frames` frames. */
function forward({ wireBytes, ports, congested, largeFlows, ipcc }: Case, frames: number): number {
  const pool = new FramePool(8192, HEADER_SLOT_BYTES)
  const node = new Switch({
    id: 1,
    name: 's1',
    ports: Array.from({ length: ports }, () => ({
      rateBps: RATE_BPS,
      queueBytesMax: 1000 * wireBytes,
    })),
    features: {
      ecn: { kminBytes: 20 * wireBytes, kmaxBytes: 200 * wireBytes, pmax: 0.2 },
      ...(largeFlows && { largeFlows: LARGE_FLOWS }),
      ...(ipcc && { ipcc: IPCC }),
    },
    bufferBytes: 32 << 20,
    pool,
    random: lehmer(),
  })
  for (let flow = 0; flow < FLOWS; flow++) {
    node.routes.set(
      HostAddress.fromIpv4(0x0a000000 + flow),
      congested ? [0] : [flow % ports, (flow + 1) % ports],
    )
  }
  const templates = Array.from({ length: FLOWS }, (_, flow) => template(pool, wireBytes, flow))
  // The rate of the one output with a standing queue, or a quarter of the rate of all outputs.
  const gapNs = Math.max(1, Math.round(((wireBytes * 8e9) / RATE_BPS) * (congested ? 1 : 4 / ports)))
  const before = process.cpuUsage()
  let now = 0
  for (let i = 0; i < frames; i++) {
    if (!congested || i > STANDING_FRAMES) now += gapNs
    const frame = pool.take()!
    refill(frame, templates[i % FLOWS]!)
    // Due departures come first, as in an event loop.
    for (let next = node.nextTimeout(); next <= now; next = node.nextTimeout()) {
      for (let out = node.pollTransmit(next); out !== null; out = node.pollTransmit(next)) pool.give(out)
    }
    node.onFrame(now, i % ports, frame)
    for (let out = node.pollTransmit(now); out !== null; out = node.pollTransmit(now)) pool.give(out)
  }
  const used = process.cpuUsage(before)
  return (used.user + used.system) / 1e6
}

function template(pool: FramePool, wireBytes: number, flow: number): Frame {
  // 64 B have no room for a shim, so those frames carry no telemetry.
  const int = wireBytes > 200 ? { format: intShim.FORMAT_COMPACT, slots: 5 } : undefined
  return buildFrame(pool, {
    from: 0x0a000000 + ((flow * 7) % FLOWS),
    to: 0x0a000000 + flow,
    wireBytes,
    ...(int && { int }),
  })
}

/** Restores `frame` to what the sender passed. It writes only the bytes that the switch changed. */
function refill(frame: Frame, from: Frame): void {
  const { view } = frame
  for (let at = 0; at < from.length; at += 4) view.setUint32(at, from.view.getUint32(at))
  frame.length = from.length
  frame.wireLength = from.wireLength
  frame.l3 = from.l3
  frame.l4 = from.l4
  frame.shim = from.shim
  frame.bth = from.bth
  ipv4.setTtl(view, frame.l3, 64)
}

/** A cheap repeatable source of numbers in [0, 1). */
function lehmer(): () => number {
  let state = 1
  return () => {
    state = (state * 48271) % 0x7fffffff
    return state / 0x7fffffff
  }
}
