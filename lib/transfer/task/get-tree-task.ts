/** Files and folders of another host that are to be fetched over one connection: each attempt asks for the list again. */
import type { HostAddress } from '../../wire/net/address.js'
import { downloadPlace } from '../file/download-folder.js'
import { digestFor } from '../protocol/digest.js'
import { directoryComponents } from '../protocol/names.js'
import { type Wishes, wishMessages } from '../protocol/wishes.js'
import type { ActiveSession } from '../session/active-session.js'
import { newTreeGetSession, type TreeGetSessionConfig } from '../session/new-session.js'
import type { Task } from './active-transfer.js'
import type { Here } from './get-task.js'
import { peerName, resolveHost } from './resolve.js'
import type { Common, TreeTaskOptions } from './task-options.js'

export interface GetTreeOptions extends TreeTaskOptions {
  /** Relative to what the host shares; as in Wish of proto/transfer.proto. */
  paths: readonly string[]
  /** Absolute path of the folder that they go to. */
  directory: string
}

export class GetTreeTask implements Task {
  readonly remote: HostAddress
  readonly #config: TreeGetSessionConfig

  /** Throws WEIR_NO_FILE, WEIR_UNREACHABLE, WEIR_REJECTED or WEIR_BAD_ARGUMENT. */
  static async open(options: GetTreeOptions, common: Common, here: Here): Promise<GetTreeTask> {
    const { paths, host, port = 0, overwrite = false, dryRun = false, directory } = options
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
    const what = { place, wishes, name, digestKind, overwrite, dryRun, chunkBytes, slots }
    return new GetTreeTask({ ...common, ...where, ...what })
  }

  private constructor(config: TreeGetSessionConfig) {
    this.remote = config.remote
    this.#config = config
  }

  async attempt(last: ActiveSession | null): Promise<ActiveSession> {
    return newTreeGetSession({ ...this.#config, patient: last !== null })
  }

  /** What an attempt has left unfinished is found by the next transfer of the same file. */
  async abandon(): Promise<void> {}

  async close(): Promise<void> {}
}
