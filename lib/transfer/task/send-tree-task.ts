/** Files and folders of this machine that are to be sent over one connection: the same list in all attempts. */
import { basename } from 'node:path'
import type { HostAddress } from '../../wire/net/address.js'
import { LocalTree, type TreeRoot } from '../file/local-tree.js'
import { pathFilter } from '../file/path-filter.js'
import { digestFor } from '../protocol/digest.js'
import type { ActiveSession, ActiveSessionConfig } from '../session/active-session.js'
import { newTreeSendSession } from '../session/new-session.js'
import type { Task } from './active-transfer.js'
import { peerName, resolveHost } from './resolve.js'
import type { Common, TreeTaskOptions } from './task-options.js'

export interface SendTreeOptions extends TreeTaskOptions {
  roots: readonly TreeRoot[]
  /** Folder in the receiver's inbox. Default '': the inbox itself. */
  directory?: string
}

export class SendTreeTask implements Task {
  readonly remote: HostAddress
  readonly #config: ActiveSessionConfig & Common
  readonly #options: SendTreeOptions
  readonly #tree: LocalTree

  /** Throws WEIR_NO_FILE, WEIR_UNREACHABLE, WEIR_REJECTED, WEIR_BAD_ARGUMENT, and WEIR_CANCELLED after `signal`. */
  static async open(options: SendTreeOptions, common: Common, signal: AbortSignal): Promise<SendTreeTask> {
    const { kind } = digestFor(options.digest)
    const checksum = options.checksum ? kind : null
    const { host, port = 0, roots, skipLinks: skipsLinks = false, exclude = [], include = [] } = options
    const admits = pathFilter(exclude, include)
    const remote = await resolveHost(host, common.verbs.address)
    const config = { ...common, remote, udpPort: port || undefined, peer: peerName(host, port) }
    const tree = await LocalTree.walk(roots, { skipsLinks, admits, signal, checksum })
    return new SendTreeTask(options, config, tree)
  }

  private constructor(options: SendTreeOptions, config: ActiveSessionConfig & Common, tree: LocalTree) {
    this.remote = config.remote
    this.#config = config
    this.#options = options
    this.#tree = tree
  }

  async attempt(last: ActiveSession | null): Promise<ActiveSession> {
    const { roots, directory = '', overwrite = false, dryRun = false } = this.#options
    const digest = digestFor(this.#options.digest)
    const name = roots.length === 1 ? basename(roots[0]!.path) : `${roots.length} files and folders`
    const what = { tree: this.#tree, name, directory, overwrite, dryRun, digest }
    return newTreeSendSession({ ...this.#config, patient: last !== null, ...what })
  }

  /** It lies at the receiver. */
  async abandon(): Promise<void> {}

  async close(): Promise<void> {}
}
