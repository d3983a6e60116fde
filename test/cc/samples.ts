/** Builds the samples that controllers are fed with: one hop or several, wide or compact moduli. */
import { type AckSample, type LossSample, newAckSample } from '../../lib/cc/congestion-control.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'

const WIDE_MODULUS = 2 ** 48

export interface Hop {
  rateBps: number
  tsNs: number
  txBytes: number
  qlenBytes: number
  tsModulusNs?: number
  txModulusBytes?: number
}

interface SampleOptions {
  seq?: number
  sndNxt?: number
  pathId?: number
  rttNs?: number
  ackedBytes?: number
  advanced?: boolean
  inFlightBytes?: number
  ecnEcho?: boolean
  markedBytes?: number
  probed?: boolean
}

export function sampleOf(hops: readonly Hop[], options: SampleOptions = {}): AckSample {
  const records = new HopRecords()
  records.count = hops.length
  records.pathId = options.pathId ?? 1
  for (const [i, hop] of hops.entries()) {
    records.rateBps[i] = hop.rateBps
    records.tsNs[i] = hop.tsNs
    records.txBytes[i] = hop.txBytes
    records.qlenBytes[i] = hop.qlenBytes
    records.tsModulusNs[i] = hop.tsModulusNs ?? WIDE_MODULUS
    records.txModulusBytes[i] = hop.txModulusBytes ?? WIDE_MODULUS
  }
  return {
    ...newAckSample(),
    seq: options.seq ?? 0,
    sndNxt: options.sndNxt ?? 0,
    ackedBytes: options.ackedBytes ?? 1000,
    advanced: options.advanced ?? true,
    inFlightBytes: options.inFlightBytes ?? 0,
    rttNs: options.rttNs ?? 0,
    ecnEcho: options.ecnEcho ?? false,
    markedBytes: options.markedBytes ?? 0,
    probed: options.probed ?? false,
    hops: records,
  }
}

export function lossOf(options: Partial<LossSample> = {}): LossSample {
  return {
    lostBytes: 1000,
    newestSeq: 0,
    sndNxt: 1,
    inFlightBytes: 0,
    ackedBytes: 0,
    byTimeout: false,
    ...options,
  }
}
