/**
 * Two hosts, a router and a third host, each a network namespace, joined by veth pairs of MTU 1500. The
 * router's link to the third host is the bottleneck, which `tbf` shapes. Everything is removed, however this
 * process ends.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WeirError } from '../../lib/errors.js'
import { type Place, WeirDaemon } from '../support/weir-daemon.js'
import type { NetworkPath, PathCounts, Sender } from './path.js'

const MTU = 1500
/** Names are PREFIX, the process's id, and the host. */
const PREFIX = 'weirnet'
const HOSTS = ['a', 'b', 'c'] as const
const ROUTER = 'r'
const BOTTLENECK = 'to-c'

/** Settings of tc-tbf(8). */
export interface Shaping {
  rateMbps: number
  /** Bytes that may leave at once. */
  burstBytes: number
  /** Bytes that may wait. */
  limitBytes: number
}

/**
 * Throws WEIR_UNSUPPORTED without root, `ip` or `tc`.
 *
 * @param shaping null: the links are as fast as the machine
 * @param daemon more options of `weir daemon`
 */
export async function shapedPath(shaping: Shaping | null, daemon: readonly string[]): Promise<NetworkPath> {
  const removeNetwork = makeNetwork(shaping)
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  const daemons: WeirDaemon[] = []
  const close = async () => {
    await Promise.all(daemons.map(one => one.stop()))
    rmSync(folder, { recursive: true, force: true })
    removeNetwork()
  }
  try {
    for (const [i, host] of HOSTS.entries())
      daemons.push(await WeirDaemon.start(folder, host, place(i), daemon))
  } catch (error) {
    await close()
    throw error
  }
  const sender = (i: number): Sender => ({ ...place(i), client: daemons[i]!.client })
  return { senders: [sender(0), sender(1)], receiver: place(2), counts: async () => counts(), close }
}

function place(i: number): Place {
  return { address: `10.96.${i}.1`, within: ['ip', 'netns', 'exec', nameOf(HOSTS[i]!)] }
}

/** Returns a function that removes it. */
function makeNetwork(shaping: Shaping | null): () => void {
  if (process.getuid?.() !== 0) throw new WeirError('WEIR_UNSUPPORTED', 'network namespaces need root here')
  removeStale()
  const names = [...HOSTS, ROUTER].map(nameOf)
  const removeAll = () => {
    process.removeListener('exit', removeAll)
    for (const name of names) remove(name)
  }
  process.once('exit', removeAll)
  try {
    for (const name of names) {
      run('ip', 'netns', 'add', name)
      run('ip', '-n', name, 'link', 'set', 'lo', 'up')
    }
    for (const [i, host] of HOSTS.entries()) attach(host, i)
    within(ROUTER, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward')
    if (shaping !== null) shape(shaping)
    return removeAll
  } catch (error) {
    removeAll()
    throw error
  }
}

/** A host's link to the router. */
function attach(host: string, i: number): void {
  const [own, router] = [nameOf(host), nameOf(ROUTER)]
  const peer = `to-${host}`
  run('ip', '-n', own, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', peer, 'netns', router)
  run('ip', '-n', own, 'addr', 'add', `10.96.${i}.1/24`, 'dev', 'eth0')
  run('ip', '-n', router, 'addr', 'add', `10.96.${i}.254/24`, 'dev', peer)
  for (const [ns, device] of [
    [own, 'eth0'],
    [router, peer],
  ] as const) {
    run('ip', '-n', ns, 'link', 'set', device, 'mtu', String(MTU), 'up')
  }
  run('ip', '-n', own, 'route', 'add', 'default', 'via', `10.96.${i}.254`)
}

/**
 * Runs are split into packets before they enter the router, as on a wire. A queue of runs is no queue of
 * packets.
 */
function shape({ rateMbps, burstBytes, limitBytes }: Shaping): void {
  const offloads = fileURLToPath(new URL('./turn-offloads-off.js', import.meta.url))
  for (const host of HOSTS) within(host, process.execPath, offloads, 'eth0')
  within(ROUTER, process.execPath, offloads, ...HOSTS.map(host => `to-${host}`))
  const words = ['rate', `${rateMbps}mbit`, 'burst', String(burstBytes), 'limit', String(limitBytes)]
  run('tc', '-n', nameOf(ROUTER), 'qdisc', 'add', 'dev', BOTTLENECK, 'root', 'tbf', ...words)
}

function counts(): PathCounts {
  const shown = run('tc', '-n', nameOf(ROUTER), '-s', '-j', 'qdisc', 'show', 'dev', BOTTLENECK)
  const [qdisc] = JSON.parse(shown) as { bytes: number; drops: number }[]
  return { sentBytes: qdisc!.bytes, droppedByQueue: qdisc!.drops, droppedAtRandom: 0 }
}

/** Namespaces of processes that have ended. */
function removeStale(): void {
  let names: string[] = []
  try {
    names = readdirSync('/run/netns')
  } catch {
    // There was none.
  }
  for (const name of names) {
    const pid = new RegExp(`^${PREFIX}(\\d+)[a-z]$`).exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) remove(name)
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function remove(name: string): void {
  try {
    run('ip', 'netns', 'del', name)
  } catch {
    // It was never made.
  }
}

function nameOf(host: string): string {
  return `${PREFIX}${process.pid}${host}`
}

function within(host: string, ...words: string[]): void {
  run('ip', 'netns', 'exec', nameOf(host), ...words)
}

/** Throws WEIR_UNSUPPORTED with the program's message. */
function run(program: string, ...args: string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new WeirError('WEIR_UNSUPPORTED', `${program} ${args.join(' ')}: ${stderr?.trim() || message}`)
  }
}
