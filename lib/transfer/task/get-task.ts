/** A file of another host that is to be fetched: the file that the first attempt was offered, and no other. */
import { basename, join } from 'node:path'
import { stat } from '../../fs-by-text.js'
import type { HostAddress } from '../../wire/net/address.js'
import type { Arrivals } from '../file/arrivals.js'
import { DownloadFolder } from '../file/download-folder.js'
import type { FileStore } from '../file/file.js'
import { PipeStore } from '../file/pipe-sink.js'
import { GetMover } from '../mover/get-mover.js'
import { digestFor } from '../protocol/digest.js'
import type { Offer } from '../protocol/messages.js'
import { checkName } from '../protocol/names.js'
import type { ActiveSession } from '../session/active-session.js'
import { type GetSessionConfig, newGetSession } from '../session/new-session.js'
import type { Task } from './active-transfer.js'
import { openPipe } from './open-pipe.js'
import { peerName, resolveHost } from './resolve.js'
import type { Common, TaskOptions } from './task-options.js'

export interface GetOptions extends TaskOptions {
  /** Relative to what the host shares. */
  path: string
  /** Absolute path of the folder that the file goes to. */
  directory: string
  /** Name there. Default: the file's. */
  name?: string
  /** Name within the folder `name` of `directory`, if there is one. Default '': that is an error. */
  nameInFolder?: string
  /** Unix socket of a client that reads the file, in place of `directory`. Default '': the file is written there. */
  pipe?: string
}

/** Where the file goes. */
interface Destination {
  store: FileStore
  /** Name of the file there. */
  name: string
  /** Nothing of it is needed any more. */
  close(): void
}

export interface Here {
  arrivals: Arrivals
  chunkBytes: number
  /** Chunks under way, at most. */
  slots: number
}

export class GetTask implements Task {
  readonly remote: HostAddress
  readonly #config: GetSessionConfig
  readonly #destination: Destination
  #offered: Offer | null = null

  /** Throws WEIR_NO_FILE, WEIR_UNREACHABLE, WEIR_REJECTED or WEIR_BAD_ARGUMENT. */
  static async open(options: GetOptions, common: Common, here: Here, signal: AbortSignal): Promise<GetTask> {
    const { path, host, port = 0, overwrite = false } = options
    const { kind: digestKind } = digestFor(options.digest)
    const remote = await resolveHost(host, common.verbs.address)
    const destination = options.pipe
      ? await pipeOf(options, options.pipe, signal)
      : await folderOf(options, here)
    const { store, name } = destination
    const { chunkBytes, slots } = here
    const where = { remote, udpPort: port || undefined, peer: peerName(host, port) }
    const streams = options.streams || 1
    const what = { store, path, name, digestKind, overwrite, chunkBytes, slots, streams }
    return new GetTask({ ...common, ...where, ...what }, destination)
  }

  private constructor(config: GetSessionConfig, destination: Destination) {
    this.remote = config.remote
    this.#config = config
    this.#destination = destination
  }

  async attempt(last: ActiveSession | null): Promise<ActiveSession> {
    this.#note(last)
    return newGetSession({ ...this.#config, patient: last !== null, offered: this.#offered })
  }

  /** The last attempt may have failed before it opened what an earlier one has left. */
  async abandon(last: ActiveSession): Promise<void> {
    this.#note(last)
    if (!this.#offered) return
    try {
      await (await this.#config.store.open(this.#offered)).discard()
    } catch {
      // Somebody else fetches the file by now, or it cannot be removed. Both do no harm.
    }
  }

  async close(): Promise<void> {
    this.#destination.close()
  }

  /** All attempts are to bring what the first one was offered. */
  #note(last: ActiveSession | null): void {
    if (last?.mover instanceof GetMover) this.#offered ??= last.mover.offer
  }
}

async function folderOf(options: GetOptions, { arrivals }: Here): Promise<Destination> {
  const { directory, name } = await placed(options)
  checkName(name)
  return { store: await DownloadFolder.at(directory, arrivals), name, close: () => {} }
}

async function pipeOf(options: GetOptions, path: string, signal: AbortSignal): Promise<Destination> {
  const socket = await openPipe(path, options, signal)
  return { store: new PipeStore(socket), name: basename(options.path), close: () => socket.destroy() }
}

/** As with cp: if the name is that of a folder, the file goes into that folder. */
async function placed(options: GetOptions): Promise<{ directory: string; name: string }> {
  const { directory, path, nameInFolder = '' } = options
  const name = options.name || basename(path)
  if (nameInFolder === '') return { directory, name }
  checkName(name)
  const folder = join(directory, name)
  const there = await stat(folder).catch(() => null)
  return there?.isDirectory() ? { directory: folder, name: nameInFolder } : { directory, name }
}
