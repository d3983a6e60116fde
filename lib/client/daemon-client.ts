/** The API of a running daemon: what the commands use, for programs too. */
import { resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { checkInstance, checkObject, checkText, knownOptions, optionNames } from '../arguments.js'
import { ANSWER_WITHIN_MS, ControlClient, type RequestOptions } from '../control/client.js'
import {
  type ConnectionInfo,
  type PerfReply,
  type PerfRequest,
  type Progress,
  requestFields,
  type StatusReply,
  type TrafficReply,
  type TrafficRequest,
  type TransferInfo,
  type TransferReply,
  type TreeTotals,
  type TunnelFigures,
  type TunnelInfo,
  type TunnelRequest,
} from '../control/messages.js'
import { socketPathOfClient } from '../control/socket-path.js'
import type { WeirError } from '../errors.js'
import { ClientPipe } from './pipe.js'
import { ClientTransfer, type TransferHooks } from './transfer.js'

export type {
  ConnectionInfo,
  PerfReply,
  PerfRequest,
  Progress,
  StatusReply,
  TrafficReply,
  TrafficRequest,
  TransferHooks,
  TransferInfo,
  TransferReply,
  TreeTotals,
  TunnelFigures,
  TunnelInfo,
  TunnelRequest,
}
export { ClientTransfer }

/** Options of `send` and `get`. */
export interface TransferOptions {
  /** Name of the file where it goes. Default: its own. */
  name?: string
  /**
   * If there is a folder `name`, the file goes into it, by this name; where a path is as cp has it, `name` is its last part and this the
   * file's own name. Default '': such a folder is an error.
   */
  nameInFolder?: string
  /** Replaces a file of that name. Default false: it is an error. */
  overwrite?: boolean
  /** UDP port of RoCEv2 at the host, 1 to 65534. Default: that of the daemon on this machine, as a rule 4791. */
  port?: number
  /** 'xxh64' (default) or 'sha256'. */
  digest?: string
  /**
   * A lost connection is made again, and the transfer goes on where it stopped: so many attempts in a row that bring nothing, 0 to
   * 1000. Default 0: the loss is the end.
   */
  retries?: number
  /** Connections that carry one file, 1 to 16: each takes the next chunk as it becomes free. Default 1. */
  streams?: number
  /** Called a few times a second. */
  onProgress?: (progress: Progress) => void
  /** Cancels the transfer at both ends. */
  signal?: AbortSignal
}

/** Options of `send`. */
interface SendFileOptions extends TransferOptions {
  /** Folder in the receiver's inbox. Default: the inbox itself. */
  directory?: string
}

/** Options of `getStream`. */
type StreamOptions = Omit<TransferOptions, 'name' | 'nameInFolder' | 'overwrite' | 'retries'>

/** Options of `sendStream`. */
interface SendStreamOptions extends StreamOptions {
  /** Folder in the receiver's inbox. Default: the inbox itself. */
  directory?: string
  /** Replaces a file of that name. Default false: it is an error. */
  overwrite?: boolean
}

/** Options of `sendTree`. */
interface SendTreeOptions extends Omit<SendFileOptions, 'name' | 'nameInFolder'> {
  /** Leaves symbolic links out that lead out of the tree. Default false: they are an error. */
  skipLinks?: boolean
  /**
   * Globs of what is left out, and of what is not after all; with `include` alone only files that it matches are sent. One without slash is
   * for names at any depth, one with a slash for paths from the root on. Default: none.
   */
  exclude?: string[]
  include?: string[]
  /** Compares files by their digests and not by times. Default false. */
  checksum?: boolean
  /** Moves nothing and changes nothing: `tree` of the reply says what would move. Default false. */
  dryRun?: boolean
  /**
   * Deletes, in the folders that move, what the source does not have, after all else has succeeded. What globs leave out stays. Default false.
   */
  delete?: boolean
  /** Files and folders that `delete` may delete: more is WEIR_REJECTED before anything changes. Default 0, which is for dry runs. */
  deleteMost?: number
}

/** Options of `get`. */
interface GetFileOptions extends TransferOptions {
  /** Folder that the file goes to; the daemon writes there. Default: this process's. */
  directory?: string
}

/** Options of `getTree`. */
interface GetTreeOptions extends Omit<SendTreeOptions, 'directory'> {
  /** Folder that they go to; the daemon makes it if it is missing. Default: this process's. */
  directory?: string
}

const STREAM = { port: true, digest: true, streams: true, onProgress: true, signal: true } as const
const TREE = {
  ...STREAM,
  overwrite: true,
  retries: true,
  directory: true,
  skipLinks: true,
  exclude: true,
  include: true,
  checksum: true,
  dryRun: true,
  delete: true,
  deleteMost: true,
} as const
const FILE = {
  ...STREAM,
  name: true,
  nameInFolder: true,
  overwrite: true,
  retries: true,
  directory: true,
} as const

/** What the calls read of their options. */
const NAMES = {
  send: optionNames<SendFileOptions>(FILE),
  get: optionNames<GetFileOptions>(FILE),
  sendTree: optionNames<SendTreeOptions>(TREE),
  getTree: optionNames<GetTreeOptions>(TREE),
  sendStream: optionNames<SendStreamOptions>({ ...STREAM, directory: true, overwrite: true }),
  getStream: optionNames<StreamOptions>(STREAM),
  request: optionNames<RequestOptions>({ onProgress: true, signal: true, withinMs: true }),
} as const

/** Throws WEIR_DAEMON_UNREACHABLE when the daemon takes longer. */
const AT_ONCE = { withinMs: ANSWER_WITHIN_MS }

/** A connection to the daemon on this machine; made by `connectDaemon`. */
export class DaemonClient {
  readonly #control: ControlClient

  constructor(control: ControlClient) {
    this.#control = control
  }

  /** What the daemon is and what it has done since its start. */
  async status(): Promise<StatusReply> {
    return await this.#control.request({ status: {} }, 'status', AT_ONCE)
  }

  /**
   * Has the daemon send a file; resolves when the receiver has it on disk and its digest is the same.
   *
   * @param path the daemon reads it; a relative one starts from this process's folder
   * @param host name or address of the receiver
   * Throws WEIR_NO_FILE for a file that cannot be read, WEIR_UNREACHABLE when nobody answers, WEIR_REJECTED when the receiver
   * refuses, WEIR_FILE_EXISTS, WEIR_NO_SPACE, WEIR_CONNECTION_LOST when `retries` are used up, WEIR_DIGEST_MISMATCH,
   * WEIR_CANCELLED after `signal`.
   */
  async send(path: string, host: string, options: SendFileOptions = {}): Promise<TransferReply> {
    checkText('send', 'path', path)
    const { onProgress, signal, ...rest } = checkedTransfer('send', host, options)
    const send = { path: resolve(path), host, ...rest }
    return await this.#control.request({ send }, 'transfer', { onProgress, signal })
  }

  /**
   * Has the daemon send files and folders over one connection. Files that the receiver has with the same size and time do not move.
   *
   * @param roots what is sent, and its name in the receiver's folder; without a name the contents of the folder go there
   * Throws as `send` does.
   */
  async sendTree(
    roots: readonly { path: string; name?: string }[],
    host: string,
    options: SendTreeOptions = {},
  ): Promise<TransferReply> {
    const { onProgress, signal, ...rest } = checkedTransfer('sendTree', host, options)
    checkInstance('sendTree', 'roots', Array, roots)
    for (const root of roots) {
      checkObject('sendTree', 'each of roots', root)
      checkText('sendTree', 'path of each of roots', root.path)
    }
    const named = roots.map(({ path, name = '' }) => ({ path: resolve(path), name }))
    return await this.#control.request({ sendTree: { roots: named, host, ...rest } }, 'transfer', {
      onProgress,
      signal,
    })
  }

  /**
   * Has the daemon get a file of a host that shares it. Resolves when it is on disk and its digest is the same.
   *
   * @param host name or address @param path relative to the folder that is shared there
   * Throws as `send` does; WEIR_REJECTED when the host does not share the file.
   */
  async get(host: string, path: string, options: GetFileOptions = {}): Promise<TransferReply> {
    checkText('get', 'path', path)
    const { onProgress, signal, directory = '.', ...rest } = checkedTransfer('get', host, options)
    checkText('get', 'directory', directory)
    const get = { host, path, directory: resolve(directory), ...rest }
    return await this.#control.request({ get }, 'transfer', { onProgress, signal })
  }

  /**
   * Has the daemon get files and folders of a host that shares them, over one connection. What is here with the same size and time does not
   * move.
   *
   * @param paths relative to the folder that is shared there; one that ends with a slash means the contents of the folder, and where no
   * such thing is there, `*`, `?` and `[]` match names
   * Throws as `get` does.
   */
  async getTree(
    host: string,
    paths: readonly string[],
    options: GetTreeOptions = {},
  ): Promise<TransferReply> {
    const { onProgress, signal, directory = '.', ...rest } = checkedTransfer('getTree', host, options)
    checkText('getTree', 'directory', directory)
    checkInstance('getTree', 'paths', Array, paths)
    const getTree = { host, paths: [...paths], directory: resolve(directory), ...rest }
    return await this.#control.request({ getTree }, 'transfer', { onProgress, signal })
  }

  /**
   * Has the daemon send what a stream brings, whose size nobody knows before its end. Resolves when the receiver has it on disk under its name
   * and its digest is the same. Nothing is there by that name before, and nothing stays if the stream fails.
   *
   * @param name of the file at the receiver
   * Throws as `send` does; WEIR_NO_FILE when the stream fails. A lost connection is the end: the stream cannot be read again.
   */
  async sendStream(
    from: Readable,
    host: string,
    name: string,
    options: SendStreamOptions = {},
  ): Promise<TransferReply> {
    checkInstance('sendStream', 'from', Readable, from)
    checkText('sendStream', 'name', name)
    const { onProgress, signal, ...rest } = checkedTransfer('sendStream', host, options)
    return await this.#piped(
      signal,
      pipe => pipe.take(from),
      async (path, ended) => {
        const send = { host, name, pipe: path, ...rest }
        return await this.#control.request({ send }, 'transfer', { onProgress, signal: ended })
      },
    )
  }

  /**
   * Has the daemon get a file of a host that shares it, and writes it to a stream. Each MiB comes when its digest is right, so there may be bytes
   * where this throws in the end. Resolves when all are written.
   *
   * Throws as `get` does, and what the stream says when it fails.
   */
  async getStream(
    host: string,
    path: string,
    into: Writable,
    options: StreamOptions = {},
  ): Promise<TransferReply> {
    checkText('getStream', 'path', path)
    checkInstance('getStream', 'into', Writable, into)
    const { onProgress, signal, ...rest } = checkedTransfer('getStream', host, options)
    return await this.#piped(
      signal,
      pipe => pipe.give(into),
      async (own, ended) => {
        const get = { host, path, pipe: own, ...rest }
        return await this.#control.request({ get }, 'transfer', { onProgress, signal: ended })
      },
    )
  }

  /**
   * Starts a transfer as an object, with events, a loop over its progress, and `cancel`.
   *
   * @param begin calls a method of this client, as in `hooks => client.send('data.csv', '10.0.0.2', { ...hooks, overwrite: true })`
   */
  start(begin: (hooks: TransferHooks) => Promise<TransferReply>): ClientTransfer {
    checkInstance('start', 'begin', Function, begin)
    return new ClientTransfer(begin)
  }

  /** A transfer whose bytes cross a pipe. What fails first ends both, and is thrown. */
  async #piped(
    signal: AbortSignal | undefined,
    move: (pipe: ClientPipe) => Promise<void>,
    request: (path: string, ended: AbortSignal) => Promise<TransferReply>,
  ): Promise<TransferReply> {
    const pipe = await ClientPipe.open()
    const ended = new AbortController()
    const onAbort = () => ended.abort()
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted) onAbort()
    let failure: { error: unknown } | null = null
    const moved = move(pipe).catch(error => {
      failure ??= { error }
      ended.abort()
    })
    try {
      const reply = await request(pipe.path, ended.signal)
      await moved
      if (failure === null) return reply
    } catch (error) {
      // The daemon's end of the pipe falls with the transfer: then the transfer says why.
      const isOwn = failure !== null && (error as WeirError).code === 'WEIR_CANCELLED' && !signal?.aborted
      if (!isOwn) throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      await pipe.close()
    }
    throw (failure as unknown as { error: unknown }).error
  }

  /** Laboratory use: a flow from memory. */
  async traffic(flow: Partial<TrafficRequest>, options: RequestOptions = {}): Promise<TrafficReply> {
    const traffic = knownOptions('traffic', requestFields('traffic'), flow)
    return await this.#control.request({ traffic }, 'traffic', waiting('traffic', options))
  }

  /**
   * Has the daemon measure the path to another one, for as long as it takes. Throws WEIR_UNREACHABLE when nobody answers,
   * WEIR_REJECTED when the other daemon does not let itself be measured, WEIR_BAD_ARGUMENT for a setting out of range.
   */
  async perf(request: Partial<PerfRequest>, options: RequestOptions = {}): Promise<PerfReply> {
    const perf = knownOptions('perf', requestFields('perf'), request)
    return await this.#control.request({ perf }, 'perf', waiting('perf', options))
  }

  /**
   * Has the daemon listen for TCP connections and carry each to another daemon, which dials, until `signal`: then it throws WEIR_CANCELLED.
   * `onProgress` says where it listens, and how it stands. Throws WEIR_BAD_ARGUMENT for an address that cannot be bound, WEIR_FULL when the
   * daemon has 16 tunnels.
   */
  async tunnel(request: Partial<TunnelRequest>, options: RequestOptions = {}): Promise<void> {
    const tunnel = knownOptions('tunnel', requestFields('tunnel'), request)
    await this.#control.request({ tunnel }, 'tunnel', waiting('tunnel', options))
  }

  /** Transfers that are under way, whoever asked for them, in both directions. */
  async transfers(): Promise<TransferInfo[]> {
    return (await this.#control.request({ listTransfers: {} }, 'listTransfers', AT_ONCE)).transfers
  }

  /** Cancels any transfer of the daemon, and waits up to 2 s for its end; false if there is none of that id. */
  async cancel(transferId: string): Promise<boolean> {
    return (await this.#control.request({ cancel: { transferId } }, 'cancel', AT_ONCE)).found
  }

  /** Has the daemon end. `closed` says when it has. */
  async stop(): Promise<void> {
    await this.#control.request({ stop: {} }, 'stop', AT_ONCE)
  }

  /** Resolves when this connection has ended; after `stop`, when the daemon has closed its ports and its control socket. */
  get closed(): Promise<void> {
    return this.#control.closed
  }

  /** Ends the connection: what has not finished is cancelled. */
  close(): void {
    this.#control.close()
  }

  /** So that `using` ends it. */
  [Symbol.dispose](): void {
    this.close()
  }
}

function checkedTransfer<Options extends TransferOptions>(
  what: keyof typeof NAMES,
  host: string,
  options: Options,
): Options {
  checkText(what, 'host', host)
  return withSignal(what, knownOptions(what, NAMES[what], options))
}

function waiting(what: string, options: RequestOptions): RequestOptions {
  return withSignal(what, knownOptions(what, NAMES.request, options))
}

function withSignal<Options extends { signal?: AbortSignal }>(what: string, options: Options): Options {
  if (options.signal !== undefined) checkInstance(what, 'signal', AbortSignal, options.signal)
  return options
}

/**
 * Connects to the daemon on this machine.
 * @param socketPath of its control socket. Default: `$WEIR_SOCKET`, else where `weir daemon` puts it, else that of the system's service
 * Throws WEIR_DAEMON_UNREACHABLE when there is none.
 */
export async function connectDaemon(socketPath: string = socketPathOfClient()): Promise<DaemonClient> {
  checkText('connectDaemon', 'socketPath', socketPath)
  return new DaemonClient(await ControlClient.connect(socketPath))
}
