/** Labs as a user has them: by commands, in folders of their own, apart from other labs. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { weirProgram } from '../../lib/package-file.js'
import { checkVeth } from '../../switch-emu/lab/veth-support.js'
import { CommandLines } from '../support/command-lines.js'
import type { EchoResult } from '../support/echo.js'
import type { CommandEnd } from '../support/end-mark.js'
import { readOrEmpty } from '../support/processes.js'

const WEIR = weirProgram()
const ECHO = fileURLToPath(new URL('../support/echo.js', import.meta.url))
const NOBODY = 65_534

/** Two hosts, one switch; 1 ms from one to the other. */
export const SMALL = `
name: small
link: { rate: 200Mbps, delay: 500us }
hosts: [h1, h2]
switches: [s1]
links: [h1--s1, h2--s1]
transport: { pathMtu: 4096 }
`

/** Why labs cannot be had here, or false: for the option `skip` of a test. */
export function noLabs(): string | false {
  try {
    checkVeth()
    return false
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * Why an ordinary user's labs cannot be tried, or false. A test that does not run as root is an ordinary
 * user's.
 */
export function noUserLabs(): string | false {
  if (process.getuid?.() !== 0) return noLabs()
  const [program, ...args] = [
    ...AS_NOBODY,
    'unshare',
    '--user',
    '--map-root-user',
    '--net',
    '--mount',
    'true',
  ]
  const tried = spawnSync(program!, args, { encoding: 'utf8' })
  if (tried.status !== 0) return `as nobody: ${tried.stderr || tried.error?.message}`
  const reads = spawnSync('setpriv', [...AS_NOBODY.slice(1), process.execPath, WEIR, '--version'])
  return reads.status === 0 ? noLabs() : 'nobody may not read this checkout'
}

const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']

interface Output {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** Folders for labs, and commands that use them. Everything in them is ended and removed with the test. */
export class Place {
  readonly folder: string
  readonly #as: readonly string[]
  readonly #lines: CommandLines

  /** @param asNobody commands run as an ordinary user when the test itself is root */
  constructor(t: Test, asNobody = false) {
    this.folder = mkdtempSync(join(tmpdir(), 'weir-'))
    mkdirSync(join(this.folder, 'run'), { mode: 0o700 })
    mkdirSync(join(this.folder, 'tmp'), { mode: 0o700 })
    this.#as = asNobody && process.getuid?.() === 0 ? AS_NOBODY : []
    if (this.#as.length > 0) {
      for (const one of [this.folder, join(this.folder, 'run'), join(this.folder, 'tmp')])
        chownSync(one, NOBODY, NOBODY)
    }
    this.#lines = new CommandLines(
      t,
      this.environment(),
      this.#as.length > 0 ? { uid: NOBODY, gid: NOBODY } : {},
    )
    t.teardown(async () => {
      if (this.leftFiles().length > 0) await this.process(['lab', 'down', '--all'])
      for (const pid of this.processes()) process.kill(pid, 'SIGKILL')
      rmSync(this.folder, { recursive: true, force: true })
    })
  }

  /** Writes a file, and returns its path. */
  file(name: string, content: string | Uint8Array): string {
    const path = join(this.folder, name)
    writeFileSync(path, content)
    return path
  }

  /** @param within a command line that runs another one; @param path of programs, instead of the usual one */
  start(args: readonly string[], within: readonly string[] = [], path?: string) {
    const [program, ...words] = [...this.#as, ...within, process.execPath, WEIR, ...args]
    return spawn(program!, words, {
      env: { ...this.environment(), ...(path === undefined ? {} : { PATH: path }) },
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  /**
   * Runs `weir` to its end, one command after the other in one process. Otherwise each command would cost a
   * start, as long as a lab lives.
   */
  async weir(args: readonly string[]): Promise<CommandEnd> {
    return await this.#lines.run(args, this.folder)
  }

  /** Runs `weir` to its end, in a process of its own. */
  async process(args: readonly string[], within?: readonly string[], path?: string): Promise<Output> {
    const child = this.start(args, within, path)
    const [stdout, stderr, [code, signal]] = await Promise.all([
      child.stdout.setEncoding('utf8').toArray(),
      child.stderr.setEncoding('utf8').toArray(),
      once(child, 'close'),
    ])
    return { code, signal, stdout: stdout.join(''), stderr: stderr.join('') }
  }

  /** Runs a command on a host of a lab. */
  async exec(lab: string, node: string, command: readonly string[]): Promise<CommandEnd> {
    return await this.weir(['lab', 'exec', lab, node, '--', ...command])
  }

  /** Sends echo requests from one host of a lab to another, by its name. */
  async echo(lab: string, from: string, to: string, count = 1): Promise<EchoResult> {
    const { code, stdout, stderr } = await this.exec(lab, from, [process.execPath, ECHO, to, String(count)])
    if (code !== 0) throw new Error(`no echo from ${from} to ${to}: ${stderr}`)
    return JSON.parse(stdout)
  }

  /** Pids of all processes whose environment or arguments mention this place. */
  processes(): number[] {
    return readdirSync('/proc')
      .map(Number)
      .filter(pid => Number.isInteger(pid) && pid !== process.pid && pid !== this.#lines.pid)
      .filter(pid =>
        ['environ', 'cmdline'].some(file => readOrEmpty(`/proc/${pid}/${file}`).includes(this.folder)),
      )
  }

  /** Files and folders that labs made and did not remove. */
  leftFiles(): string[] {
    return ['run', 'tmp'].flatMap(name => readdirSync(join(this.folder, name)))
  }

  /** Puts labs, inboxes and temporary files into this place. */
  environment(): NodeJS.ProcessEnv {
    const { WEIR_LABS: _labs, ...env } = process.env
    return {
      ...env,
      XDG_RUNTIME_DIR: join(this.folder, 'run'),
      TMPDIR: join(this.folder, 'tmp'),
      HOME: this.folder,
    }
  }
}

/** Names of this machine's interfaces and named namespaces, which a lab must not change. */
export function networkOfMachine(): { interfaces: string[]; namespaces: string[] } {
  const links = JSON.parse(execFileSync('ip', ['-json', 'link'], { encoding: 'utf8' })) as {
    ifname: string
  }[]
  const names = execFileSync('ip', ['netns'], { encoding: 'utf8' }).split('\n')
  return { interfaces: links.map(({ ifname }) => ifname), namespaces: names.map(name => name.split(' ')[0]!) }
}

/** Resolves when the condition holds. A test that waits for ever is ended by its own limit. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 20))
}
