/** Two hosts on the virtual network, one of which measures the other. */
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import { PerfRun } from '../../lib/perf/perf-run.js'
import { PerfServer } from '../../lib/perf/server.js'
import type { PerfSettings } from '../../lib/perf/settings.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'

export const RATE_BPS = 10e9
/** Delay of the link, one way. */
export const DELAY_NS = 2000

interface WorldOptions {
  storage?: boolean
  loss?: number
  nic?: Partial<NicConfig>
  seed?: number
  cpuUs?: () => number
}

export const SETTINGS: PerfSettings = {
  op: 'WRITE',
  mode: 'STREAM',
  size: 65_536,
  qps: 1,
  depth: 16,
  iterations: 100,
  durationNs: 0,
  warmupNs: 0,
  bidirectional: false,
  busyPoll: false,
  pathMtu: 0,
}

export function makeWorld(options: WorldOptions = {}) {
  const { storage = true, loss = 0 } = options
  const pool = storage ? new FramePool(8000) : new FramePool(8000, HEADER_SLOT_BYTES)
  const network = new Network({ pool, startNs: 1000 })
  const random = new Random(options.seed ?? 1)
  const nics = ['10.0.0.1', '10.0.0.2'].map((address, i) => {
    const source = random.fork(`nic ${i}`)
    return new Nic({
      address: HostAddress.parse(address),
      pool,
      random: () => source.u32(),
      lineRateBps: RATE_BPS,
      icrc: storage ? 'whole' : 'off',
      ackTimeoutNs: MILLISECOND,
      ...options.nic,
    })
  }) as [Nic, Nic]
  const ids = nics.map(nic => network.addNode(nic))
  const fault = random.fork('faults')
  const faults = () => new LinkFaults({ loss }, () => fault.next())
  network.connect(ids[0]!, 0, ids[1]!, 0, DELAY_NS, { ab: faults(), ba: faults() })
  const limits = { queueDepth: nics[0].settings.queueDepth }
  const cpuUs = options.cpuUs ?? (() => 0)
  const tokens = random.fork('tokens')
  const serve = () => new PerfServer({ verbs: nics[1], limits, random: () => tokens.u32(), cpuUs, storage })
  const kick = () => {
    for (const id of ids) network.kick(id)
  }
  const begin = (settings: Partial<PerfSettings> = {}) => {
    const run = new PerfRun(network.now, {
      verbs: nics[0],
      limits,
      remote: nics[1].address,
      settings: { ...SETTINGS, ...settings },
      clock: () => network.now,
      cpuUs,
      storage,
    })
    kick()
    return run
  }
  /** Runs on, including ticks, until `holds`, or for `limitNs`. */
  const until = (holds: () => boolean, run: PerfRun | null, limitNs = 60 * SECOND) => {
    const end = network.now + limitNs
    while (!holds() && network.now < end) {
      network.runUntil(network.now + MILLISECOND)
      run?.onTick(network.now)
      kick()
    }
    return holds()
  }
  return { pool, network, nics, ids, serve, begin, kick, until }
}
