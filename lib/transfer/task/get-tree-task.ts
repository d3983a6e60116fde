/** Files and folders of another host that are to be fetched over one connection: each attempt asks for the list again. */
import type { HostAddress } from '../../wire/net/address.js'
import { downloadPlace } from '../file/download-folder.js'
import type { TreeStore } from '../file/tree-store.js'
import { TreeGetMover } from '../mover/tree-get-mover.js'
import { digestFor } from '../protocol/digest.js'
import { directoryComponents } from '../protocol/names.js'
import { type Wishes, wishMessages } from '../protocol/wishes.js'
import type { ActiveSession } from '../session/active-session.js'
import { newTreeGetSession, type TreeGetSessionConfig } from '../session/new-session.js'
import type { Task } from './active-transfer.js'
import type { Here } from './get-task.js'
import { peerName, resolveHost } from './resolve.js'
import { type Common, mayDelete, type TreeTaskOptions } from './task-options.js'

export interface GetTreeOptions extends TreeTaskOptions {
  /** Relative to what the host shares; as in Wish of proto/transfer.proto. */
  paths: readonly string[]
  /** Absolute path of the folder that they go to. */
  directory: string
}

export class GetTreeTask implements Task {
  readonly remote: HostAddress
  readonly #config: TreeGetSessionConfig
  /** What the last attempt compared that has left parts of files. */
  #store: TreeStore | null = null

  /** Throws WEIR_NO_FILE, WEIR_UNREACHABLE, WEIR_REJECTED or WEIR_BAD_ARGUMENT. */
  static async open(options: GetTreeOptions, common: Common, here: Here): Promise<GetTreeTask> {
    const { paths, host, port = 0, overwrite = false, dryRun = false, directory } = options
    const deleteMost = options.delete ? mayDelete(options) : null
    const { skipLinks = false, exclude = [], include = [] } = options
    const { kind: digestKind } = digestFor(options.digest)
    const globs = { exclude: [...exclude], include: [...include] }
    const checksum = options.checksum ? digestKind : null
    const wishes: Wishes = { paths: [...paths], ...globs, skipLinks, checksum }
    wishMessages(wishes, common.transfer)
    for (const path of paths) directoryComponents(path, 'the share')
    const remote = await resolveHost(host, common.verbs.address)
    const { arrivals, chunkBytes, slots } = here
    const place = await downloadPlace(directory, arrivals)
    const name = paths.length === 1 ? paths[0]! : `${paths.length} files and folders`
    const where = { remote, udpPort: port || undefined, peer: peerName(host, port) }
    const streams = options.streams || 1
    const how = { overwrite, dryRun, deleteMost, chunkBytes, slots, streams }
    const what = { place, wishes, name, digestKind, ...how }
    return new GetTreeTask({ ...common, ...where, ...what })
  }

  private constructor(config: TreeGetSessionConfig) {
    this.remote = config.remote
    this.#config = config
  }

  async attempt(last: ActiveSession | null): Promise<ActiveSession> {
    this.#note(last)
    return newTreeGetSession({ ...this.#config, patient: last !== null })
  }

  /** The last attempt may have failed before it opened what an earlier one has left. */
  async abandon(last: ActiveSession): Promise<void> {
    this.#note(last)
    // Somebody else fetches a file by now, or it cannot be removed. Both do no harm.
    await this.#store?.abandon().catch(() => {})
  }

  #note(last: ActiveSession | null): void {
    if (last?.mover instanceof TreeGetMover && last.mover.store?.hasKept) this.#store = last.mover.store
  }

  async close(): Promise<void> {}
}
