/**
 * Telemetry of one path, decoded: a column per field, a row per hop, reused for every packet.
 * Times in ns, rates in bit/s, sizes in bytes, whatever the units of the encapsulation.
 *
 * Counters wrap: `tsModulusNs` and `txModulusBytes` say where, so that a difference is
 * `(new - old + modulus) % modulus`.
 */
export const MAX_HOPS = 16

export class HopRecords {
  /** Rows in use. */
  count = 0
  /** XOR of the ids of the switches passed: changes when the path changes. */
  pathId = 0
  /** Concurrent flows that the receiver reports, 0 = unknown (FNCC). */
  flows = 0
  /** True if more hops were passed than there were slots. */
  overflow = false
  /** True if only ratios are meaningful (anonymised telemetry). */
  ratioOnly = false
  readonly switchId = new Uint16Array(MAX_HOPS)
  readonly port = new Uint16Array(MAX_HOPS)
  readonly rateBps = new Float64Array(MAX_HOPS)
  readonly tsNs = new Float64Array(MAX_HOPS)
  readonly txBytes = new Float64Array(MAX_HOPS)
  readonly qlenBytes = new Float64Array(MAX_HOPS)
  readonly tsModulusNs = new Float64Array(MAX_HOPS)
  readonly txModulusBytes = new Float64Array(MAX_HOPS)

  copyFrom(other: HopRecords): void {
    this.count = other.count
    this.pathId = other.pathId
    this.flows = other.flows
    this.overflow = other.overflow
    this.ratioOnly = other.ratioOnly
    for (let i = 0; i < other.count; i++) {
      this.switchId[i] = other.switchId[i]!
      this.port[i] = other.port[i]!
      this.rateBps[i] = other.rateBps[i]!
      this.tsNs[i] = other.tsNs[i]!
      this.txBytes[i] = other.txBytes[i]!
      this.qlenBytes[i] = other.qlenBytes[i]!
      this.tsModulusNs[i] = other.tsModulusNs[i]!
      this.txModulusBytes[i] = other.txModulusBytes[i]!
    }
  }
}
