/** Hosts within the test's process, each with its NIC on a thread of its own; with WEIR_IO=raw on this one. */
import type { Test } from 'tap'
import {
  Access,
  Completion,
  Host,
  type HostConnection,
  type HostOptions,
  type MemoryRegion,
} from '../../lib/index.js'
import { workStatusName } from '../../lib/qp/queues/work-status.js'
import { loopbackAddress } from '../support/loopback.js'

export const PORT = 7471
export const ALL = Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC
export async function open(t: Test, more: Partial<HostOptions> = {}): Promise<Host> {
  const io = process.env.WEIR_IO ? { io: process.env.WEIR_IO } : {}
  const host = await Host.open({ address: loopbackAddress(), ...io, ...more })
  t.teardown(() => host.close())
  return host
}

interface Pair {
  a: Host
  b: Host
  /** a's end, which connected, and b's. */
  ab: HostConnection
  ba: HostConnection
}

export async function connected(t: Test, more: Partial<HostOptions> = {}): Promise<Pair> {
  return await connectedBetween(await Promise.all([open(t, more), open(t, more)]))
}

/** Another connection from the one to the other. */
export async function connectedBetween([a, b]: readonly [Host, Host]): Promise<Pair> {
  const listener = await b.listen(PORT)
  const [ab, ba] = await Promise.all([a.connect(b.about.address, PORT), listener.accept()])
  await listener.close()
  return { a, b, ab, ba }
}

/** Registered memory, and its bytes. */
export async function memory(
  host: Host,
  bytes: number,
  access = ALL,
): Promise<{ region: MemoryRegion; bytes: Buffer }> {
  const shared = new SharedArrayBuffer(bytes)
  return { region: await host.register(shared, access), bytes: Buffer.from(shared) }
}

/** The next completion, in short: `7 SUCCESS 100`. */
export async function next(connection: HostConnection): Promise<string> {
  const completion = new Completion()
  if (!(await connection.next(completion))) return 'closed'
  return brief(completion)
}

export function brief(completion: Completion): string {
  const { id, status, byteLength, hasImmediate, immediate } = completion
  return `${id} ${workStatusName(status)} ${byteLength}${hasImmediate ? ` ${immediate.toString(16)}` : ''}`
}
