/** The guests: Linux with rdma_rxe in QEMU, and the network between them and this host. The scripts of guests/ do the work. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { repositoryRoot } from '../support/fixtures.js'
import type { Conditions } from './case.js'

const SCRIPTS = join(repositoryRoot, 'test', 'interop', 'guests')

/** Addresses of this host and of guest A, by family. */
export const HERE = { 4: '10.99.0.254', 6: 'fd00:99::254' } as const
export const GUEST = { 4: '10.99.0.1', 6: 'fd00:99::1' } as const
export type Family = keyof typeof HERE

const LOSS = 'numgen random mod 100 \\< 2'

export interface Ran {
  ok: boolean
  text: string
}

/** A program that runs. */
interface Started {
  /** It has said that it listens, or has ended. */
  listening: Promise<void>
  ended: Promise<Ran>
  /** As Ctrl-C. */
  stop: () => void
}

/** What a program says last of its start. */
const LISTENS = /listening|\bready\b/

/** Where the guests live: `RXE_HOME` and `RXE_NS` of their scripts, with defaults of their own. */
export class Guests {
  readonly #env: NodeJS.ProcessEnv
  /** Scripts and programs that run, each the first of a process group. */
  readonly #running = new Set<ChildProcess>()
  #isEnding = false

  constructor(env: NodeJS.ProcessEnv = process.env) {
    const home = env.RXE_HOME ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'rxe-guests')
    this.#env = { ...env, RXE_HOME: home, RXE_NS: env.RXE_NS ?? 'weir-interop' }
  }

  get home(): string {
    return this.#env.RXE_HOME!
  }

  /** Why there can be no guests here; null: there can. */
  fault(): string | null {
    if (process.platform !== 'linux' || process.arch !== 'x64') return 'needs Linux on x86-64'
    if (process.getuid?.() !== 0) return 'needs root: namespaces and taps'
    try {
      accessSync('/dev/net/tun', constants.R_OK)
    } catch {
      return 'needs /dev/net/tun'
    }
    if (existsSync(join(this.home, 'packages'))) return null
    for (const tool of ['apt-get', 'dpkg-deb', 'perl', 'bash']) {
      if (spawnSync(tool, ['--version']).error)
        return `needs ${tool}: the guests are made of Debian's packages`
    }
    return null
  }

  /** Fetches and builds what is not there yet. */
  async setUp(): Promise<Ran> {
    return await this.#script(900, 'setup.sh')
  }

  async up(): Promise<Ran> {
    const started = await this.#script(240, 'up.sh', '4200')
    return started.ok ? await this.addIpv6() : started
  }

  /** The scripts leave IPv6 off, to keep captures quiet. */
  async addIpv6(): Promise<Ran> {
    const on =
      'for k in all eth0 br0; do f=/proc/sys/net/ipv6/conf/$k/disable_ipv6; [ ! -e $f ] || echo 0 >$f; done'
    const here = `${on}; ip -6 addr replace ${HERE[6]}/64 dev br0 nodad`
    const added = await this.#script(20, 'net.sh', 'exec', 'sh', '-c', here)
    if (!added.ok) return added
    return await this.inGuest(`${on}; /usr/bin/ip -6 addr replace ${GUEST[6]}/64 dev eth0 nodad`)
  }

  async down(): Promise<void> {
    await this.#run(60, join(SCRIPTS, 'down.sh'), []).ended
  }

  /** Ends what runs here beside the guests. From now on nothing but `down` does anything. */
  endAll(): void {
    this.#isEnding = true
    for (const child of this.#running) kill(child, 'SIGKILL')
  }

  /** Runs a command in guest A. */
  async inGuest(command: string, seconds = 60): Promise<Ran> {
    return await this.#script(seconds + 10, 'gx', 'A', command, String(seconds))
  }

  /** They are up and take commands. */
  async answer(): Promise<boolean> {
    return (await this.inGuest('true', 10)).ok
  }

  async setConditions({ pathMtu, lossy }: Conditions): Promise<void> {
    await this.#setMtu(pathMtu)
    await this.#lose(lossy)
  }

  /** The path MTU of either end follows from the MTU of its interface. */
  async #setMtu(pathMtu: 1024 | 4096): Promise<void> {
    const mtu = pathMtu === 4096 ? '4200' : '1500'
    await this.#script(20, 'net.sh', 'exec', 'ip', 'link', 'set', 'br0', 'mtu', mtu)
    await this.inGuest(`/usr/bin/ip link set eth0 mtu ${mtu}`)
  }

  /** 2 % of the packets are lost, both ways. */
  async #lose(on: boolean): Promise<Ran> {
    await this.#script(20, 'loss.sh', ...(on ? ['tapA', LOSS.replace('\\', '')] : ['off']))
    const off = 'nft delete table netdev loss 2>/dev/null'
    if (!on) return await this.inGuest(`${off}; true`)
    const chain = '{ type filter hook ingress device eth0 priority 0; policy accept; }'
    return await this.inGuest(
      `modprobe nf_tables; modprobe nft_numgen; ${off}; nft add table netdev loss && nft add chain netdev loss in '${chain}' && nft add rule netdev loss in udp dport 4791 ${LOSS} counter drop`,
    )
  }

  /** Starts a program of the tests in the network of the guests. */
  weir(seconds: number, module: string, ...args: string[]): Started {
    return this.#start(seconds, join(repositoryRoot, 'dist', 'test', 'interop', module), args)
  }

  /** Starts the command `weir` in the network of the guests. */
  command(seconds: number, ...args: string[]): Started {
    return this.#start(seconds, join(repositoryRoot, 'dist', 'bin', 'weir.js'), args)
  }

  #start(seconds: number, path: string, args: readonly string[]): Started {
    return this.#run(seconds, join(SCRIPTS, 'net.sh'), ['exec', process.execPath, path, ...args])
  }

  async #script(seconds: number, name: string, ...args: string[]): Promise<Ran> {
    if (this.#isEnding) return { ok: false, text: 'the matrix is being ended' }
    return await this.#run(seconds, join(SCRIPTS, name), args).ended
  }

  /** A process group of its own, so that what it has started ends with it, and so that Ctrl-C is heard here alone. */
  #run(seconds: number, path: string, args: readonly string[]): Started {
    const child = spawn(path, args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    this.#running.add(child)
    let text = ''
    const timer = setTimeout(() => {
      text += `\n${basename(path)} ${args.join(' ')}: ended, as it has run for ${seconds} s\n`
      kill(child, 'SIGKILL')
    }, seconds * 1000)
    let listens = () => {}
    const listening = new Promise<void>(resolve => {
      listens = resolve
    })
    const take = (bytes: Buffer) => {
      text += bytes
      if (LISTENS.test(text)) listens()
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    const ended = new Promise<Ran>(resolve => {
      const end = (ok: boolean) => {
        clearTimeout(timer)
        this.#running.delete(child)
        listens()
        resolve({ ok, text })
      }
      child.once('error', error => {
        text += error.message
        end(false)
      })
      child.once('close', code => end(code === 0))
    })
    return { listening, ended, stop: () => kill(child, 'SIGINT') }
  }
}

function kill({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
