/** Files and folders of this machine that are to be sent over one connection: the same list in all attempts, the first of which may begin before it is whole. */
import { basename } from 'node:path'
import { bytesOf } from '../../byte-text.js'
import { WeirError } from '../../errors.js'
import type { HostAddress } from '../../wire/net/address.js'
import { LocalTree, type TreeRoot } from '../file/local-tree.js'
import { foreignPathFilter, pathFilter } from '../file/path-filter.js'
import { digestFor } from '../protocol/digest.js'
import type { Deletion } from '../protocol/messages.js'
import type { ActiveSession, ActiveSessionConfig } from '../session/active-session.js'
import { newTreeSendSession } from '../session/new-session.js'
import type { Task } from './active-transfer.js'
import { peerName, resolveHost } from './resolve.js'
import { type Common, mayDelete, type TreeTaskOptions } from './task-options.js'

/** They fit a message. */
const GLOBS_BYTES_MAX = 3000

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
  readonly #deletion: Deletion | null

  /** Throws WEIR_NO_FILE, WEIR_UNREACHABLE, WEIR_REJECTED, WEIR_BAD_ARGUMENT, and WEIR_CANCELLED after `signal`. */
  static async open(options: SendTreeOptions, common: Common, signal: AbortSignal): Promise<SendTreeTask> {
    const { kind } = digestFor(options.digest)
    const checksum = options.checksum ? kind : null
    const { host, port = 0, roots, skipLinks: skipsLinks = false, exclude = [], include = [] } = options
    // What is left out by a glob is to stay at the other end: both have to understand it alike.
    const admits = options.delete ? foreignPathFilter(exclude, include) : pathFilter(exclude, include)
    const deletion = options.delete ? deletionOf(options) : null
    const remote = await resolveHost(host, common.verbs.address)
    const config = { ...common, remote, udpPort: port || undefined, peer: peerName(host, port) }
    const tree = await LocalTree.begin(roots, { skipsLinks, admits, signal, checksum })
    return new SendTreeTask(options, config, tree, deletion)
  }

  private constructor(
    options: SendTreeOptions,
    config: ActiveSessionConfig & Common,
    tree: LocalTree,
    deletion: Deletion | null,
  ) {
    this.#deletion = deletion
    this.remote = config.remote
    this.#config = config
    this.#options = options
    this.#tree = tree
  }

  async attempt(last: ActiveSession | null): Promise<ActiveSession> {
    const { roots, directory = '', overwrite = false, dryRun = false } = this.#options
    const digest = digestFor(this.#options.digest)
    const name = roots.length === 1 ? basename(roots[0]!.path) : `${roots.length} files and folders`
    const deletion = this.#deletion
    const streams = this.#options.streams || 1
    const what = { tree: this.#tree, name, directory, overwrite, dryRun, digest, deletion, streams }
    return newTreeSendSession({ ...this.#config, patient: last !== null, ...what })
  }

  /** It lies at the receiver. */
  async abandon(): Promise<void> {}

  async close(): Promise<void> {
    this.#tree.stop()
  }
}

/** Throws WEIR_BAD_ARGUMENT for globs that do not fit a message. */
function deletionOf(options: SendTreeOptions): Deletion {
  const { roots, exclude = [], include = [] } = options
  const most = mayDelete(options)
  const bytes = [...exclude, ...include].reduce((sum, glob) => sum + bytesOf(glob).length, 0)
  if (bytes > GLOBS_BYTES_MAX)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `where something is deleted, all globs have ${GLOBS_BYTES_MAX} bytes at most`,
    )
  const inRoot = roots.some(({ name }) => name === '')
  const hasNamed = roots.some(({ name }) => name !== '')
  return { inRoot, hasNamed, most, exclude: [...exclude], include: [...include] }
}
