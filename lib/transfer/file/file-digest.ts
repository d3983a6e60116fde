/** Digests of whole files, to compare two of the same size. */
import type { FileHandle } from 'node:fs/promises'
import { createDigest, DIGEST_BYTES } from '../protocol/digest.js'
import { TransferFailure } from '../protocol/failure.js'
import type { DigestKind } from '../protocol/messages.js'
import type { TreeList } from '../protocol/tree-list.js'
import { forEachAtOnce } from './at-once.js'
import type { ListedTree } from './file.js'
import { readFully } from './file-source.js'

const PIECE_BYTES = 256 << 10
/** Files that are read at once: each takes a piece of memory. */
const FILES_AT_ONCE = 4

/** The kind of a digest in a list; null if there is none of that length. */
export function kindOfDigest(digest: Uint8Array): DigestKind | null {
  return digest.length === DIGEST_BYTES.XXH64
    ? 'XXH64'
    : digest.length === DIGEST_BYTES.SHA256
      ? 'SHA256'
      : null
}

/** Digest of the first `size` bytes. Throws CHANGED when there are fewer, and what `check` throws between two pieces. */
export async function digestOf(
  handle: FileHandle,
  size: number,
  kind: DigestKind,
  check: () => void,
): Promise<Uint8Array> {
  const digest = createDigest(kind)
  const memory = Buffer.alloc(Math.min(size, PIECE_BYTES))
  const tooShort = () =>
    new TransferFailure('CHANGED', 'a file was modified while it was compared: try again')
  for (let at = 0; at < size; at += memory.length) {
    check()
    const piece = memory.subarray(0, Math.min(memory.length, size - at))
    await readFully(handle, piece, at, tooShort)
    digest.update(piece)
  }
  return digest.finish()
}

/** Adds their digests to the files of a list. */
export async function addDigests(
  tree: Pick<ListedTree, 'openFile'> & { readonly list: TreeList },
  kind: DigestKind,
  check: () => void,
): Promise<void> {
  const numbers = tree.list.entries.flatMap((entry, i) => (entry.kind === 'FILE' ? [i + 1] : []))
  await forEachAtOnce(
    numbers,
    async number => {
      const entry = tree.list.of(number)
      try {
        const handle = await tree.openFile(number)
        try {
          entry.digest = await digestOf(handle, entry.size, kind, check)
        } finally {
          await handle.close()
        }
      } catch (error) {
        throw TransferFailure.from(error, `cannot read ${tree.list.pathOf(number)}`)
      }
    },
    FILES_AT_ONCE,
  )
}
