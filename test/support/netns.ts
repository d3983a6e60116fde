/** Network namespaces and veth pairs for tests that need root; they skip elsewhere. */
import { execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import type { Test } from 'tap'
import { libcFault, loadLibc } from '../../lib/io/linux/libc.js'
import { turnOffloadsOff } from '../../switch-emu/lab/offloads.js'
import { Echo, type EchoResult } from './echo.js'
import { without } from './tools.js'

const CLONE_NEWNET = 0x40000000

/** Why namespaces cannot be made here, or false: for the `skip` of a test. */
export function noNamespaces(): string | false {
  const fault = libcFault()
  if (fault !== null) return fault
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = without('ip')
  if (missing) return missing
  const probe = `weirp${randomBytes(4).toString('hex')}`
  try {
    execFileSync('ip', ['netns', 'add', probe], { stdio: 'ignore' })
    execFileSync('ip', ['-n', probe, 'link', 'add', 'name', 'v0', 'type', 'veth', 'peer', 'name', 'v1'], {
      stdio: 'ignore',
    })
    return false
  } catch {
    return 'needs a kernel that allows network namespaces and veth'
  } finally {
    try {
      execFileSync('ip', ['netns', 'del', probe], { stdio: 'ignore' })
    } catch {
      // It was never made.
    }
  }
}

/** Namespaces of one test; its teardown removes them, and with them their interfaces. */
export class Namespaces {
  readonly #prefix = `weirt${randomBytes(4).toString('hex')}`
  readonly #names: string[] = []

  constructor(t: Pick<Test, 'teardown'>) {
    t.teardown(() => this.remove())
  }

  /** Makes a namespace; returns its name, which is unique on the machine. */
  add(name: string): string {
    const full = `${this.#prefix}-${name}`
    ip('netns', 'add', full)
    this.#names.push(full)
    ip('-n', full, 'link', 'set', 'lo', 'up')
    // Nothing is sent that no test asked for.
    for (const which of ['all', 'default']) {
      this.exec(full, 'sh', '-c', `echo 1 > /proc/sys/net/ipv6/conf/${which}/disable_ipv6`)
    }
    return full
  }

  /**
   * Joins two namespaces by a veth pair with both ends up, because frames before the kernel has noticed that
   * are dropped.
   *
   * @param offloads false: without the kernel's default offloads, so that frames are as on a wire
   */
  veth(a: VethEnd, b: VethEnd, mtu = 1500, offloads = false): void {
    ip('-n', a.ns, 'link', 'add', 'name', a.name, 'type', 'veth', 'peer', 'name', b.name, 'netns', b.ns)
    for (const { ns, name, mac, address } of [a, b]) {
      ip('-n', ns, 'link', 'set', name, 'mtu', String(mtu), ...(mac === undefined ? [] : ['address', mac]))
      if (!offloads) this.inside(ns, () => turnOffloadsOff([name]))
      if (address !== undefined) ip('-n', ns, 'addr', 'add', address, 'dev', name)
      ip('-n', ns, 'link', 'set', name, 'up')
    }
    for (const { ns, name } of [a, b]) untilUp(ns, name)
  }

  /** Runs a command in a namespace and returns what it printed. */
  exec(ns: string, command: string, ...args: string[]): string {
    return execFileSync('ip', ['netns', 'exec', ns, command, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 30_000,
    })
  }

  /** Sends echo requests from a namespace, until `count` of them have been answered. */
  async echo(
    ns: string,
    address: string,
    options: { count?: number; ttl?: number } = {},
  ): Promise<EchoResult> {
    const echo = this.inside(ns, () => new Echo(address, options.ttl))
    try {
      return await echo.run(options.count)
    } finally {
      echo.close()
    }
  }

  spawn(ns: string, args: string[], options: SpawnOptions) {
    return spawn('ip', ['netns', 'exec', ns, ...args], options)
  }

  /** Calls `make` with this thread in a namespace: sockets that it opens stay there. */
  inside<T>(ns: string, make: () => T): T {
    const libc = loadLibc()
    const home = openSync('/proc/thread-self/ns/net', 'r')
    const there = openSync(`/run/netns/${ns}`, 'r')
    try {
      if (libc.setns(there, CLONE_NEWNET) < 0) throw new Error(`setns: error ${libc.errno()}`)
      return make()
    } finally {
      libc.setns(home, CLONE_NEWNET)
      closeSync(there)
      closeSync(home)
    }
  }

  remove(): void {
    for (const name of this.#names.splice(0)) ip('netns', 'del', name)
  }
}

interface VethEnd {
  ns: string
  name: string
  mac?: string
  /** With the prefix's length: 10.0.0.1/8. */
  address?: string
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Fails after a minute. */
function untilUp(ns: string, name: string): void {
  const deadline = performance.now() + 60_000
  while (!execFileSync('ip', ['-n', ns, 'link', 'show', name], { encoding: 'utf8' }).includes('state UP'))
    if (performance.now() > deadline) throw new Error(`${name} in ${ns} is not up after a minute`)
}
