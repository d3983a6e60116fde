/** The messages of proto/transfer.proto as plain objects. */
import type { ConnectionStats } from '../../nic/types.js'
import { MessageCodec, messageType } from '../../proto/proto.js'

/** CM port number (RDMA_PS_TCP) on which a daemon accepts transfers. */
export const TRANSFER_PORT = 4793
/** Private data of a connection that is to get a file. That of one that is to send a file is empty. */
export const GET_PRIVATE_DATA = Uint8Array.of(0x47)
/** Private data of a connection that is to send a tree. */
export const TREE_PRIVATE_DATA = Uint8Array.of(0x54)
/** Private data of a connection that is to get a tree. */
export const FETCH_PRIVATE_DATA = Uint8Array.of(0x46)
/**
 * First byte of the private data of a further connection of a transfer, by which the connecting end WRITEs chunks, or READs them. The number of
 * the connection follows, from 1, and the key that the other end has sent.
 */
export const WRITES_LANE = 0x4c
export const READS_LANE = 0x52
/** With the two bytes before it the key fits the least private data that a NIC has room for. */
export const LANE_KEY_BYTES = 14
/** Connections that carry the chunks of one transfer, at most. */
export const STREAMS_MAX = 16
/** Version of the protocol that this code speaks. */
export const TRANSFER_VERSION = 1
/** Version of an offer with an open end, which a peer that knows no such files refuses by its version. */
export const OPEN_END_VERSION = 2
/** Version of a tree whose files have digests, and of a wish for one: a peer that would not compare them refuses by its version. */
export const CHECKSUM_VERSION = 2
/** Version of a tree that asks for deletion, with or without digests: a peer that would delete nothing refuses by its version. */
export const DELETION_VERSION = 3
/** Longest message, and size of the receives posted for them. */
export const MESSAGE_BYTES_MAX = 4096

/** Longest name of a transfer that this host remembers, bytes; Weir's own have 16. A longer one counts as none. */
export const TRANSFER_NAME_BYTES_MAX = 64

export type DigestKind = 'XXH64' | 'SHA256'

export type FailureReason =
  | 'REASON_UNSPECIFIED'
  | 'PROTOCOL'
  | 'BUSY'
  | 'BAD_NAME'
  | 'EXISTS'
  | 'NO_SPACE'
  | 'IO_ERROR'
  | 'DIGEST_MISMATCH'
  | 'CHANGED'
  | 'STALLED'
  | 'UNSUPPORTED'
  | 'CANCELLED'
  | 'NOT_FOUND'
  | 'NOT_A_FILE'
  | 'NOT_ALLOWED'
  | 'SHUTTING_DOWN'
  | 'PART_DIFFERS'

export interface Offer {
  version: number
  /** One path component. */
  name: string
  /** Path relative to the inbox, '' = the inbox. */
  directory: string
  /** Bytes. */
  size: number
  /** Permission bits. */
  mode: number
  /** Milliseconds since 1970. */
  mtimeMs: number
  /** Nanoseconds since that second began; 0 or absent: `mtimeMs` says all that is known. */
  mtimeNanos?: number
  digest: DigestKind | 'DIGEST_UNSPECIFIED' | number
  overwrite: boolean
  /** In an answer to Request: memory that the getter may READ. */
  ring: Ring | null
  /** The same in each attempt of one transfer, empty = there is one attempt. */
  transfer: Uint8Array
  /** Bytes that a file with holes takes on the sender's disk. 0 or absent = it has none. */
  allocatedBytes?: number
  /** Name within the folder `name`, if there is one; '' or absent = then it is refused. */
  nameInFolder?: string
  /** The end that has the file can state a digest for each chunk. */
  chunkDigests?: boolean
  /** The sender knows Held. */
  knowsHeld?: boolean
  /** Nobody knows the size before the last chunk: `size` is 0. */
  openEnd?: boolean
  /** Connections that the sender would like to have; 0 or absent = 1. */
  streams?: number
  /** In an answer to Request that asks for several connections: what the getter says to add one. Empty or absent = it may not. */
  laneKey?: Uint8Array
}

interface Ring {
  rkey: number
  /** Virtual address. */
  address: number
  bytes: number
}

export interface Request {
  version: number
  /** Relative to what the server shares. */
  path: string
  digest: DigestKind | 'DIGEST_UNSPECIFIED' | number
  /** As in Offer. */
  transfer: Uint8Array
  /** Connections that the getter would like to have; 0 or absent = 1. */
  streams?: number
}

export interface Filled {
  /** Modulo 2^32. */
  chunks: number
  path: SenderFigures | null
  /** Those of the new chunks that are zeros, of which the digest alone is to be read; modulo 2^32. */
  zeros?: number[]
  /** Windows of the further connections, from that with number 1 on; 0 = not known. */
  laneWindows?: number[]
}

/** State of the path that a file's bytes take, as the end that sends them sees it. A window of 0 is not known. */
export type SenderFigures = Pick<
  ConnectionStats,
  | 'rateBps'
  | 'windowBytes'
  | 'pathQueueBytes'
  | 'pathHops'
  | 'rttNs'
  | 'baseRttNs'
  | 'controller'
  | 'controllerReason'
  | 'retransmittedBytes'
  | 'spuriousRetransmissions'
  | 'timeouts'
  | 'pathMoves'
>

export interface Ready {
  /** 0 from a getter: it READs from the ring of the Offer. */
  rkey: number
  /** Virtual address of the ring. */
  address: number
  chunkBytes: number
  slots: number
  resumeBytes: number
  /** Digest of the first `resumeBytes`; empty = the message has none. */
  resumeDigest: Uint8Array
  /** Chunks have digests. */
  chunkDigests?: boolean
  /** A chunk of zeros may move as its digest alone. */
  zerosAlone?: boolean
  /** What the sender says to add a connection. Empty or absent = it may not. */
  laneKey?: Uint8Array
}

/** Chunks of a further connection that has ended; modulo 2^32. */
export interface LaneChunks {
  /** Its number. */
  lane: number
  chunks: number[]
}

export interface Refusal {
  reason: FailureReason
  text: string
}

/** A tree follows. */
export interface Tree {
  version: number
  /** Where it goes: relative to the inbox, '' = the inbox. */
  directory: string
  overwrite: boolean
  /** As in Offer. */
  transfer: Uint8Array
  /** What the source does not have is to be deleted. */
  deletion?: Deletion | null
}

/** What is to be deleted where a tree goes. */
export interface Deletion {
  /** What lies right in the folder that the tree goes to is deleted too. */
  inRoot: boolean
  /** There are entries right in that folder that were named: globs are for paths below them. */
  hasNamed: boolean
  /** Files and folders. */
  most: number
  /** Globs of what stays. */
  exclude: string[]
  include: string[]
}

type EntryKind = 'FOLDER' | 'FILE' | 'SYMBOLIC_LINK' | 'HARD_LINK'

/** A folder, a file or a link of a tree. */
export interface TreeEntry {
  /** One path component. */
  name: string
  /** Number of its folder, from 1; 0 = where the tree goes. */
  parent: number
  kind: EntryKind
  /** Permission bits. */
  mode: number
  /** Milliseconds since 1970. */
  mtimeMs: number
  /** Nanoseconds since that second began; 0 or absent: `mtimeMs` says all that is known. */
  mtimeNanos?: number
  /** Bytes. */
  size: number
  /** As in Offer. */
  allocatedBytes: number
  /** What a symbolic link says. */
  target: string
  /** Number of the file that a hard link is another name of. */
  sameAs: number
  /** Digest of the file, by which it is compared in place of its time; its length says the kind. Empty or absent: there is none. */
  digest?: Uint8Array
}

/** Things of the share that a getter wants; lists go on over several messages. */
export interface Wish {
  version: number
  /** Relative to what the server shares; a slash at the end means the contents of the folder. */
  paths: string[]
  /** Globs. */
  exclude: string[]
  include: string[]
  skipLinks: boolean
  /** Files are listed with digests of that kind; DIGEST_UNSPECIFIED: without. */
  checksum: DigestKind | 'DIGEST_UNSPECIFIED'
  /** As in Offer. */
  transfer: Uint8Array
  last: boolean
}

interface Entries {
  entries: TreeEntry[]
  last: boolean
  /** What was left out, in the last message. */
  skipped: number
}

export interface Wanted {
  /** A bit an entry, the lowest of a byte first. */
  bits: Uint8Array
  /** Number of the file that goes first; 0 = none. */
  first: number
  last: boolean
  /** What is to be deleted: how many in all, in the last message. */
  deletedFiles?: number
  deletedFolders?: number
  /** Paths of the first of them. Those of folders end with a slash. */
  deleted?: string[]
}

/** One message; `body` names the field that is present. */
export type TransferMessage =
  | { body: 'offer'; offer: Offer }
  | { body: 'ready'; ready: Ready }
  | { body: 'refuse'; refuse: Refusal }
  | { body: 'credit'; credit: { chunks: number } }
  | { body: 'commit'; commit: { digest: Uint8Array } }
  | { body: 'done'; done: { path: string } }
  | { body: 'fail'; fail: Refusal }
  | { body: 'ping'; ping: object }
  | { body: 'request'; request: Request }
  | { body: 'filled'; filled: Filled }
  | { body: 'again'; again: { chunk: number } }
  | { body: 'held'; held: object }
  | { body: 'tree'; tree: Tree }
  | { body: 'entries'; entries: Entries }
  | { body: 'wanted'; wanted: Wanted }
  | { body: 'wish'; wish: Wish }
  | { body: 'lost'; lost: LaneChunks }
  | { body: 'missing'; missing: LaneChunks }
  | { body?: undefined }

const codec = new MessageCodec<TransferMessage>(
  messageType('transfer.proto', 'weir.transfer.Message'),
  MESSAGE_BYTES_MAX,
  [
    'Offer.name',
    'Offer.directory',
    'Offer.nameInFolder',
    'Request.path',
    'Done.path',
    'Tree.directory',
    'Deletion.exclude',
    'Deletion.include',
    'Wanted.deleted',
    'Entry.name',
    'Entry.target',
    'Wish.paths',
    'Wish.exclude',
    'Wish.include',
  ],
)

/** Private data of a further connection. @param way WRITES_LANE or READS_LANE */
export function laneData(way: number, number: number, key: Uint8Array): Uint8Array {
  return Uint8Array.of(way, number, ...key)
}

/** Number and key, in hex, of a further connection; null: it is none. */
export function readLaneData(privateData: Uint8Array): { number: number; key: string } | null {
  const [way, number = 0] = privateData
  if (way !== WRITES_LANE && way !== READS_LANE) return null
  return { number, key: Buffer.from(privateData.subarray(2)).toString('hex') }
}

/** Throws WEIR_PROTOCOL if it comes out longer than MESSAGE_BYTES_MAX. */
export function encodeMessage(message: TransferMessage): Uint8Array {
  return codec.encode(message)
}

/** Throws WEIR_PROTOCOL. The bytes are copied first, so that the message outlives its receive buffer. */
export function decodeMessage(bytes: Uint8Array): TransferMessage {
  return codec.decode(new Uint8Array(bytes))
}
