/**
 * Measures what a packet allocates in steady state, with two NICs on batch ports over loopback, each in a
 * process of its own: the heap of both ends after a forced collection, at 1 million packets and at 10
 * million, and what V8 allocated and collected in between.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WeirError } from '../lib/errors.js'
import { libcFault } from '../lib/io/linux/libc.js'
import type { PerfSettings } from '../lib/perf/settings.js'
import { loopbackAddress } from '../test/support/loopback.js'
import type { NamedFigure } from './support/against.js'
import type { HeapReading, HeapReply, HeapRequest } from './support/heap-host.js'
import { wholeNumber } from './support/whole-number.js'

const ACTIVE = loopbackAddress()
const PASSIVE = loopbackAddress()
/** The first reading is after this part of all packets. */
const FIRST_SHARE = 10

const CASES: Record<string, Pick<PerfSettings, 'op' | 'size' | 'pathMtu'>> = {
  'WRITE of 1 MB, path MTU 256': { op: 'WRITE', size: 1_000_000, pathMtu: 256 },
  'WRITE of 1 MB, path MTU 4096': { op: 'WRITE', size: 1_000_000, pathMtu: 4096 },
  'SEND of 64 bytes': { op: 'SEND', size: 64, pathMtu: 4096 },
  'READ of 1 MB, path MTU 256': { op: 'READ', size: 1_000_000, pathMtu: 256 },
}

const STREAM = {
  mode: 'STREAM',
  qps: 2,
  depth: 64,
  iterations: 1e12,
  durationNs: 0,
  warmupNs: 0,
  bidirectional: false,
  busyPoll: false,
} as const

interface HeapEnd {
  /** Heap that V8 used at the first and the last reading. */
  heapUsedBytes: [number, number]
  growthBytes: number
  /** Between the two readings. */
  allocatedBytesPerPacket: number
  collections: number
  collectionMs: number
  cpuNsPerPacket: number
}

export interface HeapCase {
  name: string
  /**
   * At the first and the last reading: packets with payload that the active end has sent, or received in case
   * of READs.
   */
  packets: [number, number]
  /** Between them. */
  seconds: number
  active: HeapEnd
  passive: HeapEnd
}

interface HeapResult {
  benchmark: 'heap'
  cases: HeapCase[]
}

/** Arguments: `--packets 10000000`, and a part of the names of the cases to run. */
export async function run(args: string[]): Promise<HeapResult> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      packets: { type: 'string', default: '10000000' },
      json: { type: 'boolean', default: false },
    },
  })
  const packets = wholeNumber('--packets', values.packets, FIRST_SHARE)
  const fault = libcFault()
  if (fault !== null) throw new WeirError('WEIR_UNSUPPORTED', `heap: ${fault}`)
  const cases: HeapCase[] = []
  const chosen = Object.entries(CASES).filter(([name]) => positionals.every(part => name.includes(part)))
  if (chosen.length === 0) {
    const names = Object.keys(CASES).join('; ')
    throw new WeirError('WEIR_BAD_ARGUMENT', `no case has "${positionals.join(' ')}" in its name: ${names}`)
  }
  for (const [name, settings] of chosen) {
    const done = await measure(name, { ...STREAM, ...settings }, packets)
    if (!values.json) process.stdout.write(printed(done))
    cases.push(done)
  }
  return { benchmark: 'heap', cases }
}

/** For `--against`: what a packet costs each end. */
export function comparedFigures({ cases }: HeapResult): NamedFigure[] {
  return cases.flatMap(({ name, active, passive }) =>
    Object.entries({ active, passive }).flatMap(([end, figures]) => [
      { name: `${name}, ${end}: bytes a packet`, value: figures.allocatedBytesPerPacket },
      { name: `${name}, ${end}: ns of CPU a packet`, value: figures.cpuNsPerPacket },
    ]),
  )
}

async function measure(name: string, settings: PerfSettings, packets: number): Promise<HeapCase> {
  const ends = [new End(), new End()] as const
  const [active, passive] = ends
  const readBoth = () => Promise.all(ends.map(end => end.ask({ do: 'read' }, 'reading')))
  try {
    await active.ask({ do: 'open', address: ACTIVE }, 'opened')
    await passive.ask({ do: 'open', address: PASSIVE }, 'opened')
    const first = Math.floor(packets / FIRST_SHARE)
    await active.ask({ do: 'send', to: PASSIVE, settings, mark: first }, 'reached')
    const before = await readBoth()
    const started = performance.now()
    await active.ask({ do: 'await', mark: packets }, 'reached')
    const after = await readBoth()
    return {
      name,
      packets: [before[0]!.packets, after[0]!.packets],
      seconds: (performance.now() - started) / 1000,
      active: figures(before[0]!, after[0]!),
      passive: figures(before[1]!, after[1]!),
    }
  } finally {
    for (const end of ends) end.kill()
  }
}

function figures(before: HeapReading, after: HeapReading): HeapEnd {
  const packets = after.packets - before.packets
  return {
    heapUsedBytes: [before.heapUsedBytes, after.heapUsedBytes],
    growthBytes: after.heapUsedBytes - before.heapUsedBytes,
    allocatedBytesPerPacket: after.allocatedBytes / packets,
    collections: after.collections,
    collectionMs: after.collectionMs,
    cpuNsPerPacket: ((after.cpuSeconds - before.cpuSeconds) * 1e9) / packets,
  }
}

function printed({ name, packets, seconds, active, passive }: HeapCase): string {
  const line = (end: string, { heapUsedBytes, ...more }: HeapEnd) => {
    const [least, most] = heapUsedBytes.map(bytes => (bytes / 1e6).toFixed(2))
    const heap = `heap ${least} MB, then ${most} MB (${(more.growthBytes / 1e6).toFixed(2)} more)`
    const collections = `${more.collections} collections, ${more.collectionMs.toFixed(0)} ms`
    const each = `${more.allocatedBytesPerPacket.toFixed(1)} bytes and ${more.cpuNsPerPacket.toFixed(0)} ns of CPU a packet`
    return `  ${end.padEnd(8)} ${heap}; ${each}; ${collections}\n`
  }
  const head = `${name}: at ${packets[0]} and at ${packets[1]} packets, ${seconds.toFixed(0)} s apart\n`
  return head + line('active', active) + line('passive', passive)
}

/** A process of `support/heap-host.ts`. */
class End {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('./support/heap-host.js', import.meta.url)))

  /** Sends a request and waits for its answer of that kind. */
  async ask<T extends keyof HeapReply>(request: HeapRequest, answer: T): Promise<NonNullable<HeapReply[T]>> {
    this.#child.send(request)
    const [reply] = (await Promise.race([once(this.#child, 'message'), this.#ended()])) as [HeapReply]
    if (reply.failed !== undefined) throw new WeirError('WEIR_BAD_STATE', `heap: ${reply.failed}`)
    return reply[answer]!
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #ended(): Promise<[HeapReply]> {
    const [code, signal] = await once(this.#child, 'exit')
    return [{ failed: `a process of it ended by itself (${signal ?? code})` }]
  }
}
