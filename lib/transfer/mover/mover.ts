/**
 * A mover reads or writes the file of one session, and moves its chunks through the session's endpoint. It has the machine of
 * the protocol. There are four for files: send-mover.ts, get-mover.ts, receive-mover.ts, serve-mover.ts. Those for trees have one of them.
 */
import { bytesOf } from '../../byte-text.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import type { Nanos } from '../../time/nanos.js'
import type { TransferMachine } from '../protocol/machine.js'
import type { DigestKind, SenderFigures, TransferMessage } from '../protocol/messages.js'
import type { TreeLayout } from '../protocol/tree-layout.js'
import type { Deleted } from '../protocol/tree-machines.js'
import type { Lane } from './lane.js'

/** Bytes of all paths that a dry run lists: they fit an answer to the user. */
const SHOWN_BYTES_MAX = 32_768
/** The same of all that is deleted. */
const DELETED_BYTES_MAX = 16_384

export const NOTHING_DELETED: Deleted = { files: 0, folders: 0, paths: [] }

export interface Mover {
  readonly machine: TransferMachine
  /** Name of the file, '' before it is known. */
  readonly name: string
  /** Bytes of the file, 0 before it is known. */
  readonly sizeBytes: number
  /** Bytes of the file that are known to have arrived, resumed ones included. */
  readonly deliveredBytes: number
  /** Bytes that earlier transfers, or attempts, had delivered. */
  readonly resumedBytes: number
  /** Files of a tree that have arrived or were there, and all its files. */
  readonly fileCounts?: { done: number; total: number }
  /** State of the path that the file's bytes take; null before it is known. */
  readonly figures: SenderFigures | null
  /** True while chunks are in flight: the transport itself finds a peer that has died. */
  readonly awaitsTransport: boolean
  onMessage(now: Nanos, message: TransferMessage): void
  /** Work has completed that was no message, such as a READ or WRITE. @param lane on which */
  onTransferred(now: Nanos, completion: Completion, lane: Lane): void
  /** A further connection has ended before the transfer: others carry what it has not brought. */
  onLaneLost(now: Nanos, lane: Lane): void
  /** Posts whatever may go now. */
  advance(now: Nanos): void
  /** The next work on the file that takes time, or null. */
  nextStep(): (() => Promise<void>) | null
  /** Closes the file. Call once, after the last step. */
  close(): Promise<void>
}

/** A mover of the end that a user asked. */
export interface ActiveMover extends Mover {
  /** True once it is known where in the file the transfer begins. */
  readonly begun: boolean
  /** Files of a tree that this attempt moves; undefined: not known, or no tree. */
  readonly moving?: Moving
  /** Sends the first message. */
  greet(now: Nanos): void
  /** The file once it is in its place. */
  delivered(): DeliveredFile
}

/** Files of a tree that were not there yet, or were not the same. */
export interface Moving {
  movedFiles: number
  /** All of theirs. */
  movedBytes: number
}

export interface DeliveredFile {
  /** Path of a sent file within the receiver's inbox, of a fetched one on this machine. */
  path: string
  bytes: number
  digestKind: DigestKind
  /** The digest of a tree is of the contents of all files that moved, one behind the other. */
  digest: Uint8Array
  /** What a tree has; a file has none. */
  tree?: TreeCounts
}

/** What a tree has. */
interface TreeCounts extends Moving {
  files: number
  folders: number
  /** Symbolic and hard ones. */
  links: number
  /** What was left out: sockets, pipes, devices, and links where the user has said so. */
  skipped: number
  /** Paths of the first files that would move, where that was the question. */
  wouldMove: string[]
  /** What the source does not have and was deleted, or would be. */
  deletedFiles: number
  deletedFolders: number
  /** Paths of the first things that would be deleted, where that was the question. Those of folders end with a slash. */
  wouldDelete: string[]
}

export function movingOf({ order, bytes }: TreeLayout): Moving {
  return { movedFiles: order.length, movedBytes: bytes }
}

export function countsOf(
  layout: TreeLayout,
  skipped: number,
  { files: deletedFiles, folders: deletedFolders }: Deleted = NOTHING_DELETED,
): TreeCounts {
  const { files, entries } = layout.list
  const folders = entries.filter(({ kind }) => kind === 'FOLDER').length
  const links = entries.length - files - folders
  const deleted = { deletedFiles, deletedFolders, wouldDelete: [] }
  return { files, ...movingOf(layout), folders, links, skipped, wouldMove: [], ...deleted }
}

/** What a transfer would move that has ended before it moves anything. */
export function wouldDeliver(
  layout: TreeLayout,
  skipped: number,
  deleted: Deleted,
  digestKind: DigestKind,
): DeliveredFile {
  const { list, order } = layout
  const wouldMove = first(order.length, i => list.pathOf(order[i]!), SHOWN_BYTES_MAX)
  const wouldDelete = first(deleted.paths.length, i => deleted.paths[i]!, DELETED_BYTES_MAX)
  const tree = { ...countsOf(layout, skipped, deleted), wouldMove, wouldDelete }
  return { path: '', bytes: 0, digestKind, digest: new Uint8Array(), tree }
}

/** As many of the first of so many paths as have so many bytes. */
function first(count: number, pathOf: (i: number) => string, bytesMax: number): string[] {
  const paths: string[] = []
  let room = bytesMax
  for (let i = 0; i < count; i++) {
    const path = pathOf(i)
    room -= bytesOf(path).length
    if (room < 0) break
    paths.push(path)
  }
  return paths
}

/** A mover of the end that another host has asked. */
export interface PassiveMover extends Mover {
  /** What the peer is, as in 'sender'. */
  readonly peerRole: string
  /** True while the peer waits for this end. */
  readonly isBusy: boolean
  /** True once this end has accepted the request. From then on it reports a failure by Fail instead of Refuse. */
  readonly granted: boolean
  /** Path of the file in the inbox or the share once it has been delivered, else ''. */
  readonly deliveredPath: string
}

/** What a mover asks of its session, apart from the endpoint. */
export interface MoverHost {
  /** The connection or the transfer has ended. */
  readonly hasEnded: boolean
  /** A step has made it possible to post more. */
  advance(): void
  /** The peer has made progress. */
  onProgress(now: Nanos): void
  /** The file is in its place. `last` is the last message of this end. */
  finish(last: TransferMessage): void
  /** Resolves to false if the session is ending, or ends because its peer is gone. */
  goesOn(): Promise<boolean>
}

/** The same at the end that another host has asked. */
export interface PassiveMoverHost extends MoverHost {
  /**
   * Call before the file is opened. Resolves when no earlier attempt of that transfer holds a file or a ring, and other sessions
   * have made room as far as they can. Throws BUSY (WEIR_FULL) if this peer has too many files under way.
   */
  admit(transfer: Uint8Array): Promise<void>
}
