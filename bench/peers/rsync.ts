/**
 * rsync to its daemon: whole files (`-W`), into the file itself (`--inplace`), no compression. Both
 * ends hash the file, as they always do. It syncs nothing, which costs Weir nothing in tmpfs.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Measured } from '../support/rounds.js'
import { isInstalled, Program } from '../support/run-program.js'
import type { TwoHosts } from '../support/two-hosts.js'

const PORT = '8873'
const SEND_MS_MAX = 600_000
/** Time for the daemon to notice that its process for the connection has ended. */
const REAP_MS = 100
const POLL_MS = 2
/** Clock ticks of /proc/PID/stat in a second: the same on every Linux. */
const TICKS_PER_SECOND = 100

/** rsync whose standard input is a socket serves that one. */
const NO_SOCKET = ['sh', '-c', 'exec "$@" < /dev/null', 'sh']

export const RSYNC_MISSING = isInstalled('rsync') ? null : 'rsync is not installed'

export class RsyncDaemon {
  readonly #hosts: TwoHosts
  readonly #daemon: Program

  /** @param folder for what it receives and for its settings; it is there */
  static async start(hosts: TwoHosts, folder: string): Promise<RsyncDaemon> {
    const config = join(folder, 'rsyncd.conf')
    const asRoot = process.getuid?.() === 0 ? 'uid = root\ngid = root\n' : ''
    writeFileSync(
      config,
      `use chroot = no\n${asRoot}log file = /dev/null\n[inbox]\npath = ${folder}\nread only = no\n`,
    )
    const { address, within } = hosts.b
    const words = [
      ...NO_SOCKET,
      'rsync',
      '--daemon',
      '--no-detach',
      '--config',
      config,
      '--address',
      address,
      '--port',
      PORT,
    ]
    const rsync = new RsyncDaemon(hosts, new Program([...within, ...words]))
    for (let tries = 0; tries < 200; tries++) {
      const list = new Program([...hosts.a.within, 'rsync', `rsync://${address}:${PORT}/`])
      const answers = await list.output(SEND_MS_MAX).then(
        text => text.includes('inbox'),
        () => false,
      )
      if (answers) return rsync
      await sleep(20)
    }
    await rsync.stop()
    throw new Error('the rsync daemon does not answer')
  }

  private constructor(hosts: TwoHosts, daemon: Program) {
    this.#hosts = hosts
    this.#daemon = daemon
  }

  /**
   * Sends a file; its copy has the same name.
   *
   * @param copy where it arrives
   * @param onProgress gets the bytes that are there
   */
  async send(file: string, copy: string, onProgress: (bytes: number) => void): Promise<Measured> {
    const bytes = statSync(file).size
    const before = this.#childrenSeconds()
    const poll = setInterval(() => onProgress(sizeOf(copy)), POLL_MS)
    const { a, b } = this.#hosts
    const words = ['rsync', '-W', '--inplace', file, `rsync://${b.address}:${PORT}/inbox/`]
    const start = performance.now()
    try {
      const text = await new Program([...a.within, ...TIMED, ...words]).output(SEND_MS_MAX)
      const seconds = (performance.now() - start) / 1000
      await sleep(REAP_MS)
      const perGB = (cpuSeconds: number) => (cpuSeconds * 1e9) / bytes
      const cpu = { client: perGB(timesOf(text)), server: perGB(this.#childrenSeconds() - before) }
      return { value: (bytes * 8) / seconds, cpu }
    } finally {
      clearInterval(poll)
    }
  }

  async stop(): Promise<void> {
    await this.#daemon.end()
  }

  /** CPU time of the processes for connections that have ended. */
  #childrenSeconds(): number {
    const fields = readFileSync(`/proc/${this.#daemon.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
  }
}

/** A shell that runs a program, and prints its CPU time in the last line. */
const TIMED = ['sh', '-c', '"$@" || exit; times', 'sh']

/** User and system time of a shell's children: its line is "0m1.230s 0m0.450s". */
function timesOf(text: string): number {
  const words = text.trim().split('\n').at(-1)!.split(' ')
  return words.reduce((sum, word) => {
    const [minutes, seconds] = word.split('m')
    return sum + 60 * Number(minutes) + Number.parseFloat(seconds!)
  }, 0)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
