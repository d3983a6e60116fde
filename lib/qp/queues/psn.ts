/**
 * Packet sequence numbers (IBA 9.7.1): 24 bits on the wire, unwrapped everywhere else.
 *
 * An unwrapped PSN is a plain number that counts packets from the connection's first PSN on and never
 * wraps: two of them compare with `<`, and the wire carries the low 24 bits.
 */
export const PSN_MODULUS = 0x1000000
export const PSN_MASK = 0xffffff
/** Half of the number space: at most so many PSNs may be outstanding, else old and new look alike (IBA 9.7.1). */
export const PSN_HALF = 0x800000

/** The 24 bits that the wire carries of an unwrapped PSN or MSN. */
export function wrapPsn(seq: number): number {
  return seq & PSN_MASK
}

/**
 * The unwrapped number nearest to `near` whose low 24 bits are `psn`: from `near - 2^23` to `near + 2^23 - 1`.
 * Near the start of a connection an old PSN unwraps to a number below the first, possibly below zero.
 */
export function unwrapPsn(psn: number, near: number): number {
  const ahead = (psn - near) & PSN_MASK
  return ahead < PSN_HALF ? near + ahead : near + ahead - PSN_MODULUS
}

/** Packets that a message of `length` bytes takes: a message of no bytes takes one (IBA 9.7.1). */
export function packetsOf(length: number, pathMtu: number): number {
  return length === 0 ? 1 : Math.ceil(length / pathMtu)
}
