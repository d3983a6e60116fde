/** A file of this machine that is to be sent: the same open file in all attempts. */
import { basename } from 'node:path'
import type { HostAddress } from '../../wire/net/address.js'
import type { FileSource } from '../file/file.js'
import { openSource } from '../file/file-source.js'
import { PipeSource } from '../file/pipe-source.js'
import { digestFor } from '../protocol/digest.js'
import { checkName } from '../protocol/names.js'
import type { ActiveSession, ActiveSessionConfig } from '../session/active-session.js'
import { newSendSession } from '../session/new-session.js'
import type { Task } from './active-transfer.js'
import { openPipe } from './open-pipe.js'
import { peerName, resolveHost } from './resolve.js'
import type { Common, TaskOptions } from './task-options.js'

export interface SendOptions extends TaskOptions {
  /** Absolute path. '' with `pipe`. */
  path: string
  /** Unix socket of a client that writes what is sent: see pipe-source.ts. Default '': there is a file. */
  pipe?: string
  /** Folder in the receiver's inbox. Default '': the inbox itself. */
  directory?: string
  /** Name there. Default: the file's. */
  name?: string
  /** Name within the folder `name`, if there is one. Default '': that is an error. */
  nameInFolder?: string
}

export class SendTask implements Task {
  readonly remote: HostAddress
  readonly #config: ActiveSessionConfig & Common
  readonly #options: SendOptions
  readonly #source: FileSource

  /** Throws WEIR_NO_FILE, WEIR_UNREACHABLE or WEIR_BAD_ARGUMENT. */
  static async open(options: SendOptions, common: Common, signal: AbortSignal): Promise<SendTask> {
    digestFor(options.digest)
    const { host, port = 0, path, name = '', pipe = '' } = options
    const remote = await resolveHost(host, common.verbs.address)
    const config = { ...common, remote, udpPort: port || undefined, peer: peerName(host, port) }
    if (pipe === '') return new SendTask(options, config, await openSource(path))
    checkName(name)
    return new SendTask(options, config, new PipeSource(name, await openPipe(pipe, options, signal)))
  }

  private constructor(options: SendOptions, config: ActiveSessionConfig & Common, source: FileSource) {
    this.remote = config.remote
    this.#config = config
    this.#options = options
    this.#source = source
  }

  async attempt(last: ActiveSession | null): Promise<ActiveSession> {
    const { path, name = '', directory = '', nameInFolder = '', overwrite = false } = this.#options
    const digest = digestFor(this.#options.digest)
    const streams = this.#options.streams || 1
    const file = { source: this.#source, name: name || basename(path), directory, nameInFolder, overwrite }
    return newSendSession({ ...this.#config, patient: last !== null, ...file, digest, streams })
  }

  /** It lies at the receiver. */
  async abandon(): Promise<void> {}

  async close(): Promise<void> {
    await this.#source.close()
  }
}
