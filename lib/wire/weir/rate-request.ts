/**
 * Asks the receiver to work out the window (opcode RATE_REQUEST), with what its algorithm has to know of the sender: 120
 * bytes behind the BTH, IEEE 754 doubles, big-endian. The receiver answers with RATE.
 *
 *      0   T, ns
 *      8   rate of the sender's link, bit/s
 *     16   payload bytes of a full packet
 *     24   eleven options of the algorithm, each at its place; NaN = not given
 *    112   1: the flow begins carefully; NaN: at line rate
 */
export const BYTES = 120
/** Places for options: 0 to 10. */
export const OPTION_PLACES = 11
/** Behind them. */
const CAREFUL_PLACE = OPTION_PLACES

export function baseRttNs(view: DataView, at: number): number {
  return view.getFloat64(at)
}

export function lineRateBps(view: DataView, at: number): number {
  return view.getFloat64(at + 8)
}

export function mtuBytes(view: DataView, at: number): number {
  return view.getFloat64(at + 16)
}

/** @param place 0 to 10. NaN: not given */
export function option(view: DataView, at: number, place: number): number {
  return view.getFloat64(at + 24 + 8 * place)
}

/** Writes everything but the options, which are not given then. */
export function write(view: DataView, at: number, tNs: number, rateBps: number, mtu: number): void {
  view.setFloat64(at, tNs)
  view.setFloat64(at + 8, rateBps)
  view.setFloat64(at + 16, mtu)
  for (let place = 0; place <= CAREFUL_PLACE; place++) setOption(view, at, place, Number.NaN)
}

export function setOption(view: DataView, at: number, place: number, value: number): void {
  view.setFloat64(at + 24 + 8 * place, value)
}

export function isCareful(view: DataView, at: number): boolean {
  return option(view, at, CAREFUL_PLACE) === 1
}

export function setCareful(view: DataView, at: number): void {
  setOption(view, at, CAREFUL_PLACE, 1)
}

export function print(view: DataView, at: number): string {
  return `T ${baseRttNs(view, at)} ns, rate ${lineRateBps(view, at)}`
}
