/** The common networks, one row of the table each. */
import { labPath } from './lab-path.js'
import type { Load, NetworkCase } from './path.js'
import { type Shaping, shapedPath } from './shaped-path.js'

const KIB = 1024

/** Rate, buffer, and messages in flight that are at most two seconds' worth. */
const SHAPED: readonly [rateMbps: number, limitBytes: number, load: Load][] = [
  [5, 32 * KIB, { messageBytes: 16_000, depth: 16 }],
  [5, 64 * KIB, { messageBytes: 16_000, depth: 16 }],
  [5, 1024 * KIB, { messageBytes: 16_000, depth: 100 }],
  [50, 32 * KIB, { messageBytes: 64_000, depth: 32 }],
  [50, 64 * KIB, { messageBytes: 64_000, depth: 32 }],
  [50, 1024 * KIB, { messageBytes: 64_000, depth: 64 }],
  [500, 32 * KIB, { messageBytes: 256_000, depth: 64 }],
  [500, 64 * KIB, { messageBytes: 256_000, depth: 64 }],
  [500, 1024 * KIB, { messageBytes: 256_000, depth: 64 }],
]

/** tbf's burst must hold a packet, and as much as the rate sends while the kernel's timer sleeps. */
function shaping(rateMbps: number, limitBytes: number): Shaping {
  return { rateMbps, burstBytes: Math.max(16 * KIB, rateMbps * 250), limitBytes }
}

const DELAYED: readonly number[] = [10, 50, 100]
const DELAYED_MBPS = 100
const bdpBytes = (roundTripMs: number) => (DELAYED_MBPS * 1000 * roundTripMs) / 8
const LOSSY_MS = 20
const LOSSY_PER_MILLE: readonly number[] = [1, 10]

/** CUBIC's constants (RFC 9438, sections 4.6 and 5), and the segment size of its window. */
const BETA = 0.7
const C = 0.4
const SEGMENT_BYTES = 1448

/** @param windowBytes the window at which a packet is lost */
function cycleSeconds(windowBytes: number): number {
  return Math.cbrt(((1 - BETA) * windowBytes) / SEGMENT_BYTES / C)
}

/**
 * Reno's window at that share of lost packets. It is CUBIC's too where windows are small (RFC 5348, section
 * 3.1).
 */
function lossyWindow(perMille: number): number {
  return SEGMENT_BYTES * Math.sqrt(1.5 / (perMille / 1000))
}

/** @param cc controller of the daemons */
export function networkCases(cc: string): NetworkCase[] {
  const chosen = (daemon: readonly string[]) => ['--cc', cc, ...daemon]
  const plain: NetworkCase = {
    name: 'veth',
    load: { messageBytes: 1_000_000, depth: 64 },
    randomLoss: false,
    cycleSeconds: 0,
    open: daemon => shapedPath(null, chosen(daemon)),
  }
  const shaped = SHAPED.map(([rateMbps, limitBytes, load]) => ({
    name: `tbf ${rateMbps} Mbit/s, ${limitBytes / KIB} KiB`,
    load,
    randomLoss: false,
    cycleSeconds: cycleSeconds(limitBytes),
    open: (daemon: readonly string[]) => shapedPath(shaping(rateMbps, limitBytes), chosen(daemon)),
  }))
  /** A buffer of one bandwidth-delay product, but at least 50 packets. */
  const lab = (roundTripMs: number) => {
    const bufferBytes = Math.max(75_000, bdpBytes(roundTripMs))
    return { rateMbps: DELAYED_MBPS, roundTripMs, bufferBytes }
  }
  const load = { messageBytes: 64_000, depth: 100 }
  const delayed = DELAYED.map(ms => ({
    name: `switch ${DELAYED_MBPS} Mbit/s, ${ms} ms`,
    load,
    randomLoss: false,
    cycleSeconds: cycleSeconds(bdpBytes(ms) + lab(ms).bufferBytes),
    open: (daemon: readonly string[]) => labPath({ ...lab(ms), daemon: chosen(daemon) }),
  }))
  const lossy = LOSSY_PER_MILLE.map(dropPerMille => ({
    name: `switch ${DELAYED_MBPS} Mbit/s, ${LOSSY_MS} ms, ${dropPerMille / 10} % loss`,
    load,
    randomLoss: true,
    cycleSeconds: cycleSeconds(lossyWindow(dropPerMille)),
    open: (daemon: readonly string[]) => labPath({ ...lab(LOSSY_MS), dropPerMille, daemon: chosen(daemon) }),
  }))
  return [plain, ...shaped, ...delayed, ...lossy]
}
