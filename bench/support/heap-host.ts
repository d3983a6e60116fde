/**
 * One end of `bench heap`, in a process of its own: a NIC on a batch port, with the sender and receiver of
 * `weir perf`.
 */
import { GCProfiler, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { tuneGarbageCollection } from '../../lib/daemon/tune-gc.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { RECEIVER_ROOM_BYTES } from '../../lib/io/linux/batch-receiver.js'
import { HostLoop } from '../../lib/io/loop/host-loop.js'
import { BatchPort } from '../../lib/io/ports/batch-port.js'
import { pathMtuFor } from '../../lib/nic/flow/filled-payload.js'
import { Nic } from '../../lib/nic/nic.js'
import { systemRandom } from '../../lib/open-nic/random.js'
import { PerfRun } from '../../lib/perf/perf-run.js'
import { PerfServer } from '../../lib/perf/server.js'
import type { PerfSettings } from '../../lib/perf/settings.js'
import { HostAddress } from '../../lib/wire/net/address.js'

/** As a daemon's. */
const FRAMES = 4096
const NIC = { lineRateBps: 40e9, ackEveryPackets: 16, ackTimeoutNs: 268_435_456, slackNs: 1e6 }
const SPIN_NS = 200_000
const TICK_MS = 10

export interface HeapReading {
  /** Packets with payload: the sent ones, or the received ones if those are more. */
  packets: number
  /** After a forced collection. */
  heapUsedBytes: number
  /** What was allocated on V8's heap since the previous reading, and the cost of collecting it. */
  allocatedBytes: number
  collections: number
  collectionMs: number
  /** CPU time of the whole process until now. */
  cpuSeconds: number
}

export type HeapRequest =
  | { do: 'open'; address: string }
  /** Sends until the process ends. Answers when `mark` packets have passed. */
  | { do: 'send'; to: string; settings: PerfSettings; mark: number }
  | { do: 'await'; mark: number }
  | { do: 'read' }

export interface HeapReply {
  opened?: true
  reached?: true
  reading?: HeapReading
  failed?: string
}

class Host {
  readonly #nic: Nic
  readonly #loop: HostLoop
  readonly #profile = new HeapProfile()
  readonly #limits: { queueDepth: number; receiveBudgetBytes: number }
  #mark = Number.POSITIVE_INFINITY

  constructor(address: string) {
    const pool = new FramePool(FRAMES, undefined, RECEIVER_ROOM_BYTES)
    const port = new BatchPort({ pool, address })
    const { receiveBudgetBytes, sourcePorts, gathers } = port
    this.#nic = new Nic({
      ...NIC,
      address: HostAddress.parse(address),
      pool,
      random: systemRandom(),
      pathMtu: pathMtuFor(port.mtu),
      receiveBudgetBytes,
      sourcePorts,
      gathers,
    })
    this.#loop = new HostLoop({ node: this.#nic, port, spinNs: SPIN_NS })
    this.#limits = { queueDepth: this.#nic.settings.queueDepth, receiveBudgetBytes }
    const shared = { verbs: this.#nic, limits: this.#limits, cpuUs: () => 0, storage: true }
    new PerfServer({ ...shared, random: systemRandom() })
    this.#loop.start()
  }

  send(to: string, settings: PerfSettings): void {
    const loop = this.#loop
    const run = new PerfRun(loop.now(), {
      verbs: this.#nic,
      limits: this.#limits,
      cpuUs: () => 0,
      storage: true,
      remote: HostAddress.parse(to),
      settings,
      clock: () => loop.now(),
    })
    setInterval(() => {
      run.onTick(loop.now())
      loop.wake()
      if (run.error !== null) reply({ failed: run.error.message })
      if (this.#packets < this.#mark) return
      this.#mark = Number.POSITIVE_INFINITY
      reply({ reached: true })
    }, TICK_MS)
  }

  /** Answers when `mark` packets have passed. */
  await(mark: number): void {
    this.#mark = mark
  }

  read(): HeapReading {
    const profile = this.#profile.end()
    collect()
    const heapUsedBytes = process.memoryUsage().heapUsed
    const { user, system } = process.cpuUsage()
    const packets = this.#packets
    this.#profile.begin()
    return { packets, heapUsedBytes, ...profile, cpuSeconds: (user + system) / 1e6 }
  }

  get #packets(): number {
    const { tx, rx } = this.#nic.counters
    return Math.max(tx.dataFrames, rx.frames)
  }
}

/** Measures allocation: the heap's growth between collections, as V8 reports it at each of them. */
class HeapProfile {
  #profiler: GCProfiler | null = null
  #usedBytes = 0

  begin(): void {
    this.#profiler = new GCProfiler()
    this.#usedBytes = process.memoryUsage().heapUsed
    this.#profiler.start()
  }

  end(): Pick<HeapReading, 'allocatedBytes' | 'collections' | 'collectionMs'> {
    let used = this.#usedBytes
    let allocatedBytes = 0
    let microseconds = 0
    const now = process.memoryUsage().heapUsed
    const collections = this.#profiler?.stop().statistics ?? []
    for (const { beforeGC, afterGC, cost } of collections) {
      allocatedBytes += beforeGC.heapStatistics.usedHeapSize - used
      used = afterGC.heapStatistics.usedHeapSize
      microseconds += cost
    }
    allocatedBytes += now - used
    return { allocatedBytes, collections: collections.length, collectionMs: microseconds / 1000 }
  }
}

tuneGarbageCollection()
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

let host: Host | null = null

process.on('message', (request: HeapRequest) => {
  try {
    if (request.do === 'open') {
      host = new Host(request.address)
      reply({ opened: true })
    } else if (request.do === 'send') {
      host!.await(request.mark)
      host!.send(request.to, request.settings)
    } else if (request.do === 'await') host!.await(request.mark)
    else reply({ reading: host!.read() })
  } catch (error) {
    reply({ failed: error instanceof Error ? error.message : String(error) })
  }
})

function reply(message: HeapReply): void {
  process.send!(message)
}
