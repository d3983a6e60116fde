/** Checks that a message is the one that was sent, with exact bytes. */
import type { Fail } from './fail.js'

/** A message as it was sent, and the completion of its receive. */
export interface Arrival {
  id: number
  sent: Uint8Array
  /** The sender has given its id as immediate data. */
  immediate: boolean
  completion: { byteLength: number; hasImmediate: boolean; immediate: number }
  /** The bytes at the message's place. */
  there: Uint8Array
}

export function checkArrival({ id, sent, immediate, completion, there }: Arrival, fail: Fail): void {
  if (completion.hasImmediate !== immediate) fail(`message ${id} is of another kind`)
  else if (immediate && completion.immediate !== id) {
    fail(`message ${completion.immediate} arrived in place of ${id}`)
  }
  if (completion.byteLength !== sent.length)
    fail(`message ${id} has ${completion.byteLength} bytes, not ${sent.length}`)
  checkBytes(`message ${id}`, sent, there, fail)
}

/** @param what name of the bytes in the report: "WRITE 3" */
export function checkBytes(what: string, wanted: Uint8Array, there: Uint8Array, fail: Fail): void {
  if (Buffer.compare(wanted, there) !== 0) fail(`${what} is not exact`)
}
