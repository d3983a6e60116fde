/** Which files of a tree are wanted, in messages, and what is deleted. */
import { bytesOf } from '../../byte-text.js'
import type { Deletions } from '../file/deletions.js'
import { MESSAGE_BYTES_MAX } from '../protocol/messages.js'
import type { WantedFiles } from '../protocol/tree-layout.js'
import type { TransferEndpoint } from './endpoint.js'

/** What a message has beside its bits or paths, and a path beside its bytes. */
const HEAD_BYTES = 48
const PATH_BYTES = 4
/** Bytes of all paths that are said: people read no more. */
const PATHS_BYTES_MAX = 4 * MESSAGE_BYTES_MAX

/** @param deletions null: nothing is deleted */
export function sayWanted(
  endpoint: TransferEndpoint,
  { bits, first }: WantedFiles,
  deletions: Deletions | null = null,
): void {
  for (const deleted of pathMessages(deletions?.paths ?? [])) {
    endpoint.say({ body: 'wanted', wanted: { bits: new Uint8Array(), first: 0, last: false, deleted } })
  }
  const { files: deletedFiles = 0, folders: deletedFolders = 0 } = deletions ?? {}
  const most = MESSAGE_BYTES_MAX - HEAD_BYTES
  for (let at = 0; ; at += most) {
    const last = at + most >= bits.length
    const counts = last ? { deletedFiles, deletedFolders } : {}
    const wanted = { bits: bits.subarray(at, at + most), first: last ? first : 0, last, ...counts }
    endpoint.say({ body: 'wanted', wanted })
    if (last) return
  }
}

/** The first paths, as many as are said, a list a message. */
function pathMessages(paths: readonly string[]): string[][] {
  const messages: string[][] = []
  let [room, all] = [0, PATHS_BYTES_MAX]
  for (const path of paths) {
    const bytes = PATH_BYTES + bytesOf(path).length
    if (bytes > MESSAGE_BYTES_MAX - HEAD_BYTES || bytes > all) break
    if (bytes > room) {
      messages.push([])
      room = MESSAGE_BYTES_MAX - HEAD_BYTES
    }
    messages.at(-1)!.push(path)
    room -= bytes
    all -= bytes
  }
  return messages
}
