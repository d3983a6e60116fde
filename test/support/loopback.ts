/**
 * Addresses of 127.0.0.0/8 that no other process has: two runs of the tests beside each other have different ports at them, and
 * different source ports.
 */

/** Those of this process are 127.a.b.1 to .250. Processes with near ids have other values of a and b. */
const NET = `127.${64 + (process.pid % 128)}.${1 + (Math.floor(process.pid / 128) % 250)}`
const LAST = 250
let last = 0

/** One that this process has not had. */
export function loopbackAddress(): string {
  if (last === LAST) throw new Error(`this process has had all ${LAST} addresses`)
  return `${NET}.${++last}`
}
