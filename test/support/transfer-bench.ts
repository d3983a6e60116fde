/** Whole transfers over fake Verbs, with real files, in both directions. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ConnectionHandler } from '../../lib/nic/types.js'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { DownloadFolder } from '../../lib/transfer/file/download-folder.js'
import type { FileSink, FileStore } from '../../lib/transfer/file/file.js'
import { openSource } from '../../lib/transfer/file/file-source.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import { NOTHING_SHARED, Share } from '../../lib/transfer/file/share.js'
import { RingPool } from '../../lib/transfer/mover/ring-pool.js'
import { ringBytesOf } from '../../lib/transfer/protocol/chunk-plan.js'
import { createDigest } from '../../lib/transfer/protocol/digest.js'
import { type DigestKind, GET_PRIVATE_DATA, TRANSFER_PORT } from '../../lib/transfer/protocol/messages.js'
import type { ActiveSession, TransferOutcome } from '../../lib/transfer/session/active-session.js'
import {
  newGetSession,
  newReceiveSession,
  newSendSession,
  newServeSession,
} from '../../lib/transfer/session/new-session.js'
import type { PassiveOutcome, PassiveSession } from '../../lib/transfer/session/passive-session.js'
import { type FakeVerbs, fakePair, realTime } from './fake-verbs.js'

export const CHUNK = 4096
export const SLOTS = 4

/** What a test asks of a transfer. */
interface Asked {
  as?: string
  overwrite?: boolean
  /** Default true. */
  start?: boolean
}

interface BenchOptions {
  /** Chunks of the receiving end, which decides their length. */
  chunkBytes?: number
  /** Wraps the store of files. */
  store?: (store: FileStore) => FileStore
  digest?: DigestKind
  /** False: the end that has the files shares none. */
  shares?: boolean
}

/** One end has files in `outbox`, which it sends or serves. At the other end they arrive in `inboxPath`. */
export class TransferBench {
  readonly outbox: string
  readonly inboxPath: string
  /** The end that has the files. */
  readonly source: FakeVerbs
  /** The end that they go to. */
  readonly sink: FakeVerbs
  readonly sourceRings = new RingPool(ringBytesOf(CHUNK, SLOTS), 2)
  readonly sinkRings: RingPool
  /** Sessions of the other ends, oldest first. */
  readonly passive: PassiveSession[] = []
  readonly options: BenchOptions
  readonly test: Test
  inbox!: FileStore
  downloads!: FileStore

  constructor(test: Test, options: BenchOptions = {}) {
    this.test = test
    const folder = test.testdir({ out: {}, in: {} })
    this.outbox = join(folder, 'out')
    this.inboxPath = join(folder, 'in')
    ;[this.source, this.sink] = fakePair()
    this.options = options
    this.sinkRings = new RingPool(ringBytesOf(options.chunkBytes ?? CHUNK, SLOTS), 2)
  }

  async start(): Promise<this> {
    const { store: wrap = store => store, chunkBytes = CHUNK, shares = true } = this.options
    const arrivals = new Arrivals()
    this.inbox = wrap(await Inbox.at(this.inboxPath, arrivals))
    this.downloads = wrap(await DownloadFolder.at(this.inboxPath, arrivals))
    const files = shares ? await Share.at(this.outbox) : NOTHING_SHARED
    const receive = { time: realTime, rings: this.sinkRings, store: this.inbox, slots: SLOTS, chunkBytes }
    this.#listen(this.sink, new Uint8Array(), verbs => newReceiveSession({ ...receive, verbs }))
    const serve = { time: realTime, rings: this.sourceRings, files }
    this.#listen(this.source, GET_PRIVATE_DATA, verbs => newServeSession({ ...serve, verbs }))
    return this
  }

  #listen(verbs: FakeVerbs, privateData: Uint8Array, make: (verbs: FakeVerbs) => PassiveSession): void {
    verbs.listen(TRANSFER_PORT, {
      accept: (_now, request): ConnectionHandler => {
        this.test.same(request.privateData, privateData, 'the connection says what it is for')
        const session = make(verbs)
        this.passive.push(session)
        return session
      },
    })
  }

  async file(name: string, bytes: number): Promise<Buffer> {
    const content = Buffer.alloc(bytes)
    for (let i = 0; i < bytes; i++) content[i] = (i * 131 + (i >> 8) * 17) & 0xff
    await writeFile(join(this.outbox, name), content)
    return content
  }

  async send(name: string, more: Asked & { directory?: string } = {}) {
    const file = await openSource(join(this.outbox, name))
    this.test.teardown(() => file.close())
    const session = newSendSession({
      verbs: this.source,
      time: realTime,
      rings: this.sourceRings,
      remote: this.sink.address,
      peer: 'h2',
      source: file,
      digest: createDigest(this.options.digest ?? 'XXH64'),
      name: more.as ?? name,
      directory: more.directory ?? '',
      overwrite: more.overwrite ?? false,
    })
    if (more.start ?? true) session.start()
    return session
  }

  async get(path: string, more: Asked = {}) {
    const session = newGetSession({
      slots: SLOTS,
      verbs: this.sink,
      time: realTime,
      rings: this.sinkRings,
      remote: this.source.address,
      peer: 'h1',
      store: this.downloads,
      path,
      name: more.as ?? path.split('/').at(-1)!,
      digestKind: this.options.digest ?? 'XXH64',
      overwrite: more.overwrite ?? false,
      chunkBytes: this.options.chunkBytes ?? CHUNK,
    })
    if (more.start ?? true) session.start()
    return session
  }

  /** By either way. */
  async begin(way: Way, name: string, more: Asked = {}): Promise<ActiveSession> {
    return way === 'send' ? await this.send(name, more) : await this.get(name, more)
  }

  async run(way: Way, name: string, more: { overwrite?: boolean } = {}): Promise<TransferOutcome> {
    return await (await this.begin(way, name, more)).outcome
  }

  /** How the last transfer ended at the other end. */
  async passiveOutcome(): Promise<PassiveOutcome> {
    return await this.passive.at(-1)!.outcome
  }

  async delivered(name: string): Promise<Buffer> {
    return await readFile(join(this.inboxPath, name))
  }

  /** Checks that both ends have returned everything. */
  async checkReleased(test: Test): Promise<void> {
    for (const session of this.passive) await session.outcome
    test.equal(this.source.memory.size, 0, 'source: no region left')
    test.equal(this.sink.memory.size, 0, 'sink: no region left')
    test.equal(this.sourceRings.inUse + this.sinkRings.inUse, 0, 'no ring left in use')
    test.equal(this.source.open + this.sink.open, 0, 'no connection left')
  }
}

export const WAYS = ['send', 'get'] as const
export type Way = (typeof WAYS)[number]

/** Only a file with holes can be larger than a disk. Without holes it needs room for all of it. */
export const asIfDense = (inner: FileStore): FileStore => ({
  open: (offer, user) => inner.open({ ...offer, allocatedBytes: 0 }, user),
})

/** A disk that takes `bytesMax` bytes of each file. */
export function fullDisk(store: FileStore, bytesMax: number): FileStore {
  return {
    open: async (offer, user): Promise<FileSink> => {
      const sink = await store.open(offer, user)
      const write = sink.write.bind(sink)
      sink.write = async (bytes, position) => {
        if (position >= bytesMax) throw Object.assign(new Error('write: no space'), { code: 'ENOSPC' })
        await write(bytes, position)
      }
      return sink
    },
  }
}
