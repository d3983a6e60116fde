/** Paths whose switches write no telemetry, for virtual time: those of `networks`, and links of a data centre. */
import type { NicConfig } from '../../lib/nic/config.js'
import { MICROSECOND, MILLISECOND } from '../../lib/time/nanos.js'
import type { PathOptions } from '../../test/sim/bottleneck.js'

const KIB = 1024
/** Hosts answer late by up to so much. */
const HOST_JITTER_NS = 0.2 * MILLISECOND

/** A row of the table. */
export interface SilentPath {
  readonly name: string
  readonly link: PathOptions
  /** Flows that begin together. */
  readonly flows: number
  /** How long they run, and from when on they are measured. */
  readonly seconds: number
  readonly settleSeconds: number
  /** TCP may be on such paths: it is measured, alone and beside. */
  readonly withTcp: boolean
  /** Settings of the hosts, beside those of daemons. */
  readonly config?: Partial<NicConfig>
}

const one = { flows: 1, withTcp: true }
const many = { withTcp: false, seconds: 1, settleSeconds: 0.5 }

export function silentPaths(): SilentPath[] {
  return [...shaped(), ...delayed(), ...lossy(), ...dataCentre(), ...foreign()]
}

/** Rate limits, behind the hosts themselves, with short and long buffers. */
function shaped(): SilentPath[] {
  const rows: readonly [rateMbps: number, buffersKib: readonly number[], seconds: number][] = [
    [5, [32, 64, 1024], 30],
    [50, [32, 64, 1024], 20],
    [500, [32, 64, 1024], 8],
  ]
  return rows.flatMap(([rateMbps, buffers, seconds]) =>
    buffers.map(kib => ({
      ...one,
      name: `${rateMbps} Mbit/s, ${kib} KiB`,
      link: {
        rateBps: rateMbps * 1e6,
        rttNs: 0.1 * MILLISECOND,
        bufferBytes: kib * KIB,
        jitterNs: HOST_JITTER_NS,
      },
      seconds,
      settleSeconds: seconds / 2,
    })),
  )
}

/** Long paths, with a buffer of one bandwidth-delay product. */
function delayed(): SilentPath[] {
  return [10, 50, 100].map(ms => ({
    ...one,
    name: `100 Mbit/s, ${ms} ms`,
    link: {
      rateBps: 100e6,
      rttNs: ms * MILLISECOND,
      bufferBytes: (100e6 * ms) / 8000,
      jitterNs: HOST_JITTER_NS,
    },
    seconds: 20,
    settleSeconds: 8,
  }))
}

function lossy(): SilentPath[] {
  return [0.001, 0.01].map(loss => ({
    ...one,
    name: `100 Mbit/s, 20 ms, ${100 * loss} % loss`,
    link: { rateBps: 100e6, rttNs: 20 * MILLISECOND, bufferBytes: 250_000, loss, jitterNs: HOST_JITTER_NS },
    seconds: 60,
    settleSeconds: 10,
  }))
}

/** Ten and fifty microseconds, without TCP. */
function dataCentre(): SilentPath[] {
  const link = { rateBps: 5e9, rttNs: 50 * MICROSECOND, bufferBytes: 500_000, jitterNs: 2 * MICROSECOND }
  return [
    { ...many, name: 'data centre, 5 Gbit/s, 50 us', link, flows: 1 },
    { ...many, name: 'data centre, 4 flows', link, flows: 4 },
    { ...many, name: 'data centre, 16 flows', link, flows: 16 },
    { ...many, name: 'data centre, 16 flows, marks', link: { ...link, markBytes: 65_000 }, flows: 16 },
    { ...many, name: 'data centre, 64 flows, 1 Gbit/s', link: { ...link, rateBps: 1e9 }, flows: 64 },
  ]
}

/** Other RoCEv2 hosts: go-back-N, CNPs. */
function foreign(): SilentPath[] {
  const link = {
    rateBps: 5e9,
    rttNs: 50 * MICROSECOND,
    bufferBytes: 500_000,
    jitterNs: 2 * MICROSECOND,
    plainAcceptNs: 0,
  }
  return [
    { ...many, name: 'RoCEv2 peers, 1 flow', link, flows: 1 },
    { ...many, name: 'RoCEv2 peers, 4 flows', link, flows: 4 },
    { ...many, name: 'RoCEv2 peers, 4 flows, marks', link: { ...link, markBytes: 65_000 }, flows: 4 },
    {
      ...many,
      name: 'RoCEv2 peers, 1 flow, 100 Mbit/s',
      link: { ...link, rateBps: 100e6, rttNs: MILLISECOND, bufferBytes: 64_000 },
      flows: 1,
      seconds: 10,
      settleSeconds: 5,
    },
  ]
}
