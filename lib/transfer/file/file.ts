/** What a transfer needs of a file at either end. */
import type { FileHandle } from 'node:fs/promises'
import type { Offer } from '../protocol/messages.js'
import type { TreeList } from '../protocol/tree-list.js'
import type { Wishes } from '../protocol/wishes.js'

/** Bytes that come when they come. */
export interface PipeReading {
  /** True if so many bytes can be read at once, or all that are left, or the pipe has failed. */
  has(bytes: number): boolean
  /** Called when that has become true. */
  onReady: () => void
}

/** The file that is sent. */
export interface FileSource {
  readonly name: string
  /** Bytes. OPEN_END of a pipe whose end has not been read. */
  readonly size: number
  /** A pipe has it: it is read once, in order, and a read that finds its end fills only a part. */
  readonly pipe?: PipeReading
  /** Bytes that a file with holes takes on the disk, at least 1. 0 = it has none. */
  readonly allocatedBytes: number
  readonly mode: number
  readonly mtimeMs: number
  /** Nanoseconds since that second began; 0 = `mtimeMs` says all that is known. */
  readonly mtimeNanos: number
  /** True if all those bytes are of files with holes: zeros among them need not move. */
  mayBeHole(position: number, length: number): boolean
  /** Fills `into` from `position` on. Throws CHANGED when the file ends before. */
  read(into: Uint8Array, position: number): Promise<void>
  /** Throws CHANGED when the file is not what was offered any more. */
  verifyUnchanged(): Promise<void>
  /** Harmless when called again. */
  close(): Promise<void>
}

/** The file that is received, under a temporary name until `commit`. One of the last three ends it. */
export interface FileSink {
  /** Bytes that an interrupted transfer of the same offer has left: chunk 0 begins here. */
  readonly resumeBytes: number
  /** Writes all of `bytes` at `position`. */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** Fills `into` from `position` on: to take up the digest of resumed bytes. */
  readBack(into: Uint8Array, position: number): Promise<void>
  /** Syncs, sets mode and time, gives the file its name; returns its path as users see it. */
  commit(): Promise<string>
  /**
   * Closes and leaves the temporary file, to be resumed.
   * @param bytes what lies behind so many is cut off. Default: nothing
   */
  keep(bytes?: number): Promise<void>
  /** Closes and removes the temporary file. */
  discard(): Promise<void>
}

/** A user that writes a file, as others see it that want the same file. */
export interface FileUser {
  /** It has ended, or is ending: it gives the file back by itself. */
  readonly hasEnded: boolean
  /** Somebody else has the file, and may be about to give it back. */
  onHeld(): void
  /** Resolves to false if it is ending, or ends because its peer is gone. Resolves to true if it goes on, however slowly. */
  goesOn(): Promise<boolean>
}

/** Where received files go. */
export interface FileStore {
  /**
   * Opens the file that an offer speaks of. Waits while another user has the file that is ending, or whose peer may be gone. Throws
   * a TransferFailure to refuse it.
   * @param user default: nobody, who never waits
   */
  open(offer: Offer, user?: FileUser): Promise<FileSink>
}

/** Files of this machine, listed, or while they are listed. */
export interface ListedTree {
  readonly list: TreeList
  /** Nothing is added to the list any more. */
  readonly isWhole: boolean
  /** Resolves when the list has grown, or some time has passed. Throws what has ended it before it was whole. */
  more(): Promise<void>
  /** Nobody needs the list any more. Harmless when it is whole. */
  stop(): void
  /** What was left out: sockets, pipes, devices, and links. */
  readonly skipped: number
  /** Opens the file of that number for reading. */
  openFile(number: number): Promise<FileHandle>
  /** The same by synchronous calls; returns a descriptor. */
  openQuickly(number: number): number
}

/** What others may get. */
export interface SharedFiles {
  /** Opens the file of that relative path. Throws a TransferFailure to refuse it. */
  open(path: string): Promise<FileSource>
  /** Lists what is wished for, or begins to. Throws a TransferFailure to refuse it. @param signal ends it */
  list(wishes: Wishes, signal: Pick<AbortSignal, 'aborted'>): Promise<ListedTree>
}
