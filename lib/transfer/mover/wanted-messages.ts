/** Which files of a tree are wanted, in messages. */
import { MESSAGE_BYTES_MAX } from '../protocol/messages.js'
import type { WantedFiles } from '../protocol/tree-layout.js'
import type { TransferEndpoint } from './endpoint.js'

/** What a message has beside its bits. */
const HEAD_BYTES = 32

export function sayWanted(endpoint: TransferEndpoint, { bits, first }: WantedFiles): void {
  const most = MESSAGE_BYTES_MAX - HEAD_BYTES
  for (let at = 0; ; at += most) {
    const last = at + most >= bits.length
    const wanted = { bits: bits.subarray(at, at + most), first: last ? first : 0, last }
    endpoint.say({ body: 'wanted', wanted })
    if (last) return
  }
}
