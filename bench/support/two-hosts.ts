/**
 * Two hosts to measure between: as root, network namespaces joined by a veth pair with all offloads, or two
 * addresses in one namespace; otherwise two addresses of loopback. Everything is removed, however the process ends. If it is
 * killed, the next run removes the rest.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { WeirError } from '../../lib/errors.js'
import { loopbackAddress } from '../../test/support/loopback.js'
import type { Place } from './weir-daemon.js'

const VETH_MTU = 9000
/** Names are PREFIX, the process's id, and the host. */
const PREFIX = 'weirbench'
const ADDRESSES = ['10.97.0.1', '10.97.0.2'] as const
const LOOPBACK = ['127.0.0.1', '127.0.0.2'] as const

const CARRIER_TRIES = 100
const CARRIER_WAIT_MS = 20

export interface TwoHosts {
  kind: 'veth' | 'loopback'
  /** What a reader must know about the figures. */
  note: string
  a: Place
  b: Place
  close(): void
}

/** @param mtu of the veth pair */
export function makeTwoHosts(mtu = VETH_MTU): TwoHosts {
  if (process.getuid?.() !== 0)
    return onLoopback('no root: on loopback, which is no link and has other costs')
  return inNamespaces(['a', 'b'], 'no namespaces here', ([a, b]) => {
    ip('-n', a!, 'link', 'add', 'name', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', b!)
    for (const [i, name] of [a!, b!].entries()) {
      ip('-n', name, 'addr', 'add', `${ADDRESSES[i]}/24`, 'dev', 'eth0')
      ip('-n', name, 'link', 'set', 'lo', 'up')
      ip('-n', name, 'link', 'set', 'eth0', 'mtu', String(mtu), 'up')
    }
    for (const name of [a!, b!]) waitForCarrier(name)
    const [first, second] = [a!, b!].map((name, i) => place(ADDRESSES[i]!, name))
    const note = `two namespaces, a veth pair of MTU ${mtu}`
    return { kind: 'veth', note, a: first!, b: second! }
  })
}

/** Two addresses of loopback: as root in a namespace of their own, where nothing else is sent. */
export function oneNamespace(): TwoHosts {
  if (process.getuid?.() !== 0) return onLoopback('on loopback')
  return inNamespaces(['lo'], '', ([name]) => {
    ip('-n', name!, 'link', 'set', 'lo', 'up')
    const [a, b] = LOOPBACK.map(address => place(address, name!))
    return { kind: 'loopback', note: 'on loopback of a namespace', a: a!, b: b! }
  })
}

function place(address: string, name: string): Place {
  return { address, within: ['ip', 'netns', 'exec', name] }
}

/**
 * Makes namespaces and what `join` puts between them. On loopback where there are none.
 *
 * @param hosts last parts of their names
 */
function inNamespaces(
  hosts: readonly string[],
  why: string,
  join: (names: readonly string[]) => Omit<TwoHosts, 'close'>,
): TwoHosts {
  removeStale()
  const names = hosts.map(host => `${PREFIX}${process.pid}${host}`)
  const close = () => {
    process.removeListener('exit', close)
    for (const name of names) remove(name)
  }
  process.once('exit', close)
  endOnSignals()
  try {
    for (const name of names) ip('netns', 'add', name)
    return { ...join(names), close }
  } catch (error) {
    close()
    const reason = why === '' ? '' : `${why} (${(error as Error).message.split('\n')[0]}): `
    return onLoopback(`${reason}on loopback`)
  }
}

/**
 * The kernel reports a carrier some time after the link is up. Before that Node does not list the interface.
 */
function waitForCarrier(name: string): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  for (let tries = 0; tries < CARRIER_TRIES; tries++) {
    const shown = execFileSync('ip', ['-n', name, 'link', 'show', 'eth0'], { encoding: 'utf8' })
    if (shown.includes('state UP')) return
    Atomics.wait(sleeper, 0, 0, CARRIER_WAIT_MS)
  }
  throw new WeirError('WEIR_BAD_STATE', `the veth pair has no carrier in namespace ${name}`)
}

function onLoopback(note: string): TwoHosts {
  const [a, b] = [loopbackAddress(), loopbackAddress()].map(address => ({ address, within: [] }))
  return { kind: 'loopback', note, a: a!, b: b!, close: () => {} }
}

/** Makes Ctrl-C end the process in order. By default it would not run handlers of 'exit'. */
function endOnSignals(): void {
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ] as const) {
    process.once(signal, () => process.exit(128 + number))
  }
}

/** Namespaces of processes that have ended. */
function removeStale(): void {
  if (!existsSync('/run/netns')) return
  for (const name of readdirSync('/run/netns')) {
    const pid = new RegExp(`^${PREFIX}(\\d+)(?:a|b|lo)$`).exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) remove(name)
  }
}

function remove(name: string): void {
  try {
    ip('netns', 'del', name)
  } catch {
    // It was never made.
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
