/** Daemons and commands as processes of their own, on loopback addresses that no other test uses. */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { connectDaemon, type TransferInfo } from '../../lib/client/daemon-client.js'
import { weirProgram } from '../../lib/package-file.js'
import { loopbackAddress } from './loopback.js'

const WEIR = weirProgram()

/** A folder that is removed at the end; its path is short, as a socket's has to be. */
export async function scratch(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'weir-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A process whose output is kept. */
export class Run {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  stdout = ''
  stderr = ''
  #isOver = false

  /**
   * @param within a command line that runs another one elsewhere
   * @param weir the program
   */
  constructor(
    t: Test,
    args: readonly string[],
    cwd?: string,
    within: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
    weir: string = WEIR,
  ) {
    const [program, ...words] = [...within, process.execPath, weir, ...args]
    // What this machine and this user have set for their daemons is none of the test's.
    const hasOwn = args.includes('--config') || env.XDG_CONFIG_HOME !== undefined
    if (args[0] === 'daemon' && !hasOwn) words.push('--no-config')
    this.child = spawn(program!, words, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child.stdout!.on('data', piece => {
      this.stdout += piece
    })
    this.child.stderr!.on('data', piece => {
      this.stderr += piece
    })
    this.ended = new Promise(resolve => {
      this.child.once('close', (code, signal) => {
        this.#isOver = true
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr })
      })
    })
    t.teardown(() => this.child.kill('SIGKILL'))
  }

  /** Resolves when `holds` does; rejects when the process ends first. */
  async until(holds: () => boolean, what: string): Promise<void> {
    while (!holds()) {
      this.mustRun(what)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  /** Throws if the process has ended. */
  mustRun(what: string): void {
    if (this.#isOver) throw new Error(`ended before ${what}: ${this.stderr}`)
  }
}

/** Where a daemon runs. */
export interface Place {
  address: string
  /** A command line that runs it there. */
  within?: readonly string[]
}

export class DaemonProcess extends Run {
  readonly place: Place
  readonly address: string
  readonly inbox: string
  /** Folder that `--share` may name. */
  readonly share: string
  readonly socket: string

  private constructor(
    t: Test,
    place: Place,
    folder: string,
    more: readonly string[],
    env?: NodeJS.ProcessEnv,
    weir?: string,
  ) {
    const inbox = join(folder, 'inbox')
    const socket = join(folder, 's')
    const where = ['--address', place.address, '--inbox', inbox, '--socket', socket]
    if (!more.includes('--key-file') && !more.includes('--identity')) where.push('--insecure')
    super(t, ['daemon', ...where, ...more], undefined, place.within, env, weir)
    this.place = place
    this.address = place.address
    this.inbox = inbox
    this.share = join(folder, 'share')
    this.socket = socket
  }

  /** Starts one and waits until it serves. `like` starts it again in the place of another. */
  static async start(t: Test, more: readonly string[] = [], like?: DaemonProcess): Promise<DaemonProcess> {
    const folder = like ? join(like.socket, '..') : await scratch(t)
    return await DaemonProcess.#startIn(t, folder, like?.place ?? { address: loopbackAddress() }, more)
  }

  /** Starts one with more environment variables; `weir` is another program than the bundled one. */
  static async startWith(t: Test, env: NodeJS.ProcessEnv, weir?: string): Promise<DaemonProcess> {
    return await DaemonProcess.#startIn(t, await scratch(t), { address: loopbackAddress() }, [], env, weir)
  }

  /** Starts one that shares its folder `share`. */
  static async startSharing(t: Test, more: readonly string[] = [], place?: Place): Promise<DaemonProcess> {
    const folder = await scratch(t)
    await mkdir(join(folder, 'share'))
    const flags = ['--share', join(folder, 'share'), ...more]
    return await DaemonProcess.#startIn(t, folder, place ?? { address: loopbackAddress() }, flags)
  }

  static async #startIn(
    t: Test,
    folder: string,
    place: Place,
    more: readonly string[],
    env?: NodeJS.ProcessEnv,
    weir?: string,
  ): Promise<DaemonProcess> {
    const daemon = new DaemonProcess(t, place, folder, more, env, weir)
    await daemon.until(() => daemon.stderr.includes('"ready"'), 'it was ready')
    return daemon
  }

  get served(): boolean {
    return existsSync(this.socket)
  }
}

/** `weir send` through the daemon `from`. */
export function send(t: Test, from: DaemonProcess, args: readonly string[], cwd?: string): Run {
  return new Run(t, ['send', '--socket', from.socket, ...args], cwd)
}

/** `weir get` through the daemon `by`. */
export function get(t: Test, by: DaemonProcess, args: readonly string[], cwd?: string): Run {
  return new Run(t, ['get', '--socket', by.socket, ...args], cwd)
}

/** Waits until a transfer of that direction has moved this many bytes at `daemon`. */
export async function untilMoved(
  run: Run,
  daemon: DaemonProcess,
  direction: TransferInfo['direction'],
  bytes: number,
): Promise<void> {
  const client = await connectDaemon(daemon.socket)
  for (let moved = 0; moved < bytes; ) {
    const transfer = (await client.transfers()).find(transfer => transfer.direction === direction)
    moved = transfer?.progress?.bytes ?? 0
    if (moved < bytes) run.mustRun(`${direction} had moved ${bytes} bytes`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  client.close()
}

/** Waits until no transfer runs at `daemon`. */
export async function untilIdle(daemon: DaemonProcess): Promise<void> {
  const client = await connectDaemon(daemon.socket)
  while ((await client.transfers()).length > 0) await new Promise(resolve => setTimeout(resolve, 10))
  client.close()
}
