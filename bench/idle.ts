/**
 * Measures the CPU time and memory of an idle daemon for each port that works here: alone, and with connections on which nothing
 * is sent. All daemons idle at the same time, each in a process of its own; with `--against` those of another checkout too.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { WeirError } from '../lib/errors.js'
import { libcFault } from '../lib/io/linux/libc.js'
import { rawFault } from '../lib/io/ports/raw-port.js'
import { CONNECTIONS as CONNECTIONS_OPTION } from '../lib/nic/nic-options.js'
import { closeNic, type OpenedNic, openNic } from '../lib/open-nic/open-nic.js'
import { TRAFFIC_PORT } from '../lib/traffic/traffic-sink.js'
import { HostAddress } from '../lib/wire/net/address.js'
import { loopbackAddress } from '../test/support/loopback.js'
import { type Checkout, checkouts, nameIn } from './support/checkouts.js'
import { oneOf } from './support/one-of.js'
import { table } from './support/table.js'
import { WeirDaemon } from './support/weir-daemon.js'
import { wholeNumber } from './support/whole-number.js'

const CONNECTOR = loopbackAddress()
const CONNECTIONS = 100
/** Asked for at a time: a connection manager queues so many datagrams. */
const BATCH = 100
/** A daemon takes so many by default. */
const CONNECTIONS_USUAL = CONNECTIONS_OPTION.default
/** Time for activity after the start: compiling, and V8 collects garbage some more times, which takes as long as its heap is large. */
const SETTLE_MS = 5000
const SETTLE_MS_PER_CONNECTION = 1
/** New connections measure T, which takes long where the machine is busy. */
const SETTLE_MS_MAX = 180_000
/** Time without a new connection. */
const CONNECT_MS_MAX = 20_000

interface IdleDaemon {
  io: string
  connections: number
  daemon: WeirDaemon
  /** What one more connection cost this daemon, the first of all excepted. */
  connectMs: number
  /** Before the first connection. */
  startRssBytes: number
}

interface IdleFigure {
  io: string
  connections: number
  cpuSeconds: number
  /** Share of one core. */
  share: number
  /** Resident memory at the end, and what a connection added to it. */
  rssBytes: number
  bytesPerConnection: number
  /** CPU time of the daemon for making one connection. */
  connectMs: number
}

interface IdleResult {
  benchmark: 'idle'
  seconds: number
  figures: IdleFigure[]
  skipped: { name: string; why: string }[]
}

/** Arguments: `--seconds 60` to measure, `--connections 100` of the daemons that have some, `--io NAME` alone, `--against DIR`. */
export async function run(args: string[]): Promise<IdleResult> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '60' },
      connections: { type: 'string', default: String(CONNECTIONS) },
      io: { type: 'string' },
      against: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const seconds = wholeNumber('--seconds', values.seconds, 1, 86_400)
  const connections = wholeNumber('--connections', values.connections, 1, CONNECTIONS_OPTION.max)
  const both = checkouts(values.against)
  const all: [string, string | null][] = [
    ['batch', libcFault()],
    ['dgram', null],
    ['raw', rawFault()],
  ]
  const only = oneOf('--io', values.io, ...all.map(([io]) => io))
  const faults = all.filter(([io]) => io === (only ?? io))
  const folder = mkdtempSync(join(tmpdir(), 'weir-idle-'))
  const idle: IdleDaemon[] = []
  let connector: OpenedNic | null = null
  try {
    const onStopped = (error: unknown) => {
      throw error
    }
    const many = Math.min(CONNECTIONS_OPTION.max, all.length * both.length * connections)
    connector = await openNic(
      {
        address: CONNECTOR,
        io: libcFault() === null ? 'batch' : 'dgram',
        connections: Math.max(CONNECTIONS_USUAL, many),
      },
      { onStopped },
    )
    for (const [io, fault] of faults) {
      if (fault !== null) continue
      for (const checkout of both)
        for (const some of [0, connections])
          idle.push(await startDaemon({ folder, checkout, io, connections: some, connector }))
    }
    await settle(connector)
    await sleep(SETTLE_MS_PER_CONNECTION * connections)
    const result: IdleResult = {
      benchmark: 'idle',
      seconds,
      figures: await measure(idle, seconds),
      skipped: faults.flatMap(([name, why]) => (why === null ? [] : [{ name, why }])),
    }
    if (!values.json) process.stdout.write(printed(result))
    return result
  } finally {
    await Promise.all(idle.map(({ daemon }) => daemon.stop()))
    if (connector !== null) await closeNic(connector)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Waits until all connections have measured T. Idle ones still ask now and then whether the peer is there. Throws WEIR_BAD_STATE. */
async function settle({ nic }: OpenedNic): Promise<void> {
  const end = Date.now() + SETTLE_MS_MAX
  do {
    await sleep(SETTLE_MS)
    if (nic.table.flows.every(flow => flow === null || flow.sender.baseRttProbe === null)) return
  } while (Date.now() < end)
  throw new WeirError('WEIR_BAD_STATE', `idle: T is still measured after ${SETTLE_MS_MAX / 1000} s`)
}

interface Start {
  folder: string
  checkout: Checkout
  io: string
  connections: number
  connector: OpenedNic
}

/** Starts a daemon, and makes connections to it on which nothing is sent. */
async function startDaemon({ folder, checkout, io, connections, connector }: Start): Promise<IdleDaemon> {
  const address = loopbackAddress()
  const more = connections > CONNECTIONS_USUAL ? ['--connections', String(connections)] : []
  const place = { address, within: [] }
  const name = `${checkout.name}-${io}-${connections}`
  const daemon = await WeirDaemon.start(folder, name, place, ['--io', io, ...more], checkout)
  const startRssBytes = daemon.rssBytes()
  const udpPort = daemon.udpPort
  // The first one loads what all need.
  if (connections > 0) await connect(connector, address, udpPort, 1)
  const before = daemon.cpuSeconds()
  await connect(connector, address, udpPort, connections - 1)
  const connectMs = (1000 * (daemon.cpuSeconds() - before)) / (connections - 1)
  return { io: nameIn(checkout, io), connections, daemon, connectMs, startRssBytes }
}

/** Throws WEIR_BAD_STATE when no further connection is made. */
async function connect(
  { nic, loop }: OpenedNic,
  address: string,
  udpPort: number,
  count: number,
): Promise<void> {
  const remote = HostAddress.parse(address)
  let established = 0
  let heardMs = Date.now()
  const onEstablished = () => {
    established++
    heardMs = Date.now()
  }
  const handler = { onEstablished, onCompletion: () => {}, onClosed: () => {} }
  for (let asked = 0; established < count; await sleep(2)) {
    for (; asked < Math.min(count, established + BATCH); asked++) {
      nic.connect(loop.now(), remote, TRAFFIC_PORT, handler, { udpPort })
    }
    loop.wake()
    if (Date.now() < heardMs + CONNECT_MS_MAX) continue
    const text = `idle: ${established} of ${count} connections to ${address} were made`
    throw new WeirError('WEIR_BAD_STATE', text)
  }
}

async function measure(idle: readonly IdleDaemon[], seconds: number): Promise<IdleFigure[]> {
  const start = performance.now()
  const before = idle.map(({ daemon }) => daemon.cpuSeconds())
  await sleep(seconds * 1000)
  const tookSeconds = (performance.now() - start) / 1000
  return idle.map(({ io, connections, daemon, connectMs, startRssBytes }, i) => {
    const cpuSeconds = daemon.cpuSeconds() - before[i]!
    const rssBytes = daemon.rssBytes()
    const bytesPerConnection = (rssBytes - startRssBytes) / connections
    return {
      io,
      connections,
      cpuSeconds,
      share: cpuSeconds / tookSeconds,
      rssBytes,
      bytesPerConnection,
      connectMs,
    }
  })
}

function printed({ seconds, figures, skipped }: IdleResult): string {
  const rows = figures.map(
    ({ io, connections, cpuSeconds, share, rssBytes, bytesPerConnection, connectMs }) => {
      const each =
        connections < 2 ? ['-', '-'] : [`${(bytesPerConnection / 1000).toFixed(1)} KB`, connectMs.toFixed(2)]
      const mb = `${(rssBytes / 1e6).toFixed(0)} MB`
      return [io, String(connections), cpuSeconds.toFixed(2), `${(100 * share).toFixed(2)} %`, mb, ...each]
    },
  )
  const head = ['io', 'connections', 'CPU s', 'of a core', 'resident', 'a connection', 'ms to make one']
  const left = skipped.map(({ name, why }) => `left out: ${name}: ${why}`)
  return `${[`idle daemons in ${seconds} s`, table(head, rows, 1), ...left].join('\n')}\n`
}
