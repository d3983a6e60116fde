/** The networks that people have, one row of the table each. */
import { labPath } from './lab-path.js'
import type { Load, NetworkCase } from './path.js'
import { type Shaping, shapedPath } from './shaped-path.js'

const KIB = 1024

/** Rate, buffer, and messages in flight of two seconds or less. */
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

/** tbf's burst must hold a packet, and what the rate brings while the kernel's timer sleeps. */
function shaping(rateMbps: number, limitBytes: number): Shaping {
  return { rateMbps, burstBytes: Math.max(16 * KIB, rateMbps * 250), limitBytes }
}

const DELAYED: readonly number[] = [10, 50, 100]
const DELAYED_MBPS = 100
const LOSSY_MS = 20
const LOSSY_PER_MILLE: readonly number[] = [1, 10]

/** @param cc controller of the daemons in labs */
export function networkCases(cc: string): NetworkCase[] {
  const plain: NetworkCase = {
    name: 'veth',
    load: { messageBytes: 1_000_000, depth: 64 },
    randomLoss: false,
    open: daemon => shapedPath(null, daemon),
  }
  const shaped = SHAPED.map(([rateMbps, limitBytes, load]) => ({
    name: `tbf ${rateMbps} Mbit/s, ${limitBytes / KIB} KiB`,
    load,
    randomLoss: false,
    open: (daemon: readonly string[]) => shapedPath(shaping(rateMbps, limitBytes), daemon),
  }))
  /** A buffer of one bandwidth-delay product, at least of 50 packets. */
  const lab = (roundTripMs: number) => {
    const bufferBytes = Math.max(75_000, (DELAYED_MBPS * 1000 * roundTripMs) / 8)
    return { rateMbps: DELAYED_MBPS, roundTripMs, bufferBytes, cc }
  }
  const load = { messageBytes: 64_000, depth: 100 }
  const delayed = DELAYED.map(ms => ({
    name: `switch ${DELAYED_MBPS} Mbit/s, ${ms} ms`,
    load,
    randomLoss: false,
    open: () => labPath(lab(ms)),
  }))
  const lossy = LOSSY_PER_MILLE.map(dropPerMille => ({
    name: `switch ${DELAYED_MBPS} Mbit/s, ${LOSSY_MS} ms, ${dropPerMille / 10} % loss`,
    load,
    randomLoss: true,
    open: () => labPath({ ...lab(LOSSY_MS), dropPerMille }),
  }))
  return [plain, ...shaped, ...delayed, ...lossy]
}
