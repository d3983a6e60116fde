/** Which hosts are in which zones of an iNOF network. */

/** Every switch has it. Free hosts may join it by themselves. */
export const DEFAULT_ZONE = 0
/** Zones have the numbers 0 to 1,023. */
export const ZONES_MAX = 1024

/** Members of user-defined zones, and whether free hosts join the default zone. */
export class Zones {
  /** Whether hosts that are in no user-defined zone join the default zone. */
  autoJoin: boolean
  readonly #members = new Map<number, ReadonlySet<number>>()

  constructor(autoJoin: boolean) {
    this.autoJoin = autoJoin
  }

  /** Sets all members of a zone; none: the zone is gone. */
  set(zone: number, members: ReadonlySet<number>): void {
    if (members.size === 0) this.#members.delete(zone)
    else this.#members.set(zone, members)
  }

  /** The zones of a host, in order. */
  of(address: number): number[] {
    const zones = [...this.#members].flatMap(([zone, members]) => (members.has(address) ? [zone] : []))
    const isFree = !zones.some(zone => zone !== DEFAULT_ZONE)
    if (isFree && this.autoJoin && !zones.includes(DEFAULT_ZONE)) zones.push(DEFAULT_ZONE)
    return zones.sort((a, b) => a - b)
  }
}
