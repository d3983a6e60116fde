/**
 * Measures the CPU time of an idle daemon for each port that works here: alone, and with connections on which
 * nothing is sent. All daemons idle at the same time, each in a process of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { closeNic, type OpenedNic, openNic } from '../lib/daemon/open-nic.js'
import { WeirError } from '../lib/errors.js'
import { libcFault } from '../lib/io/linux/libc.js'
import { rawFault } from '../lib/io/ports/raw-port.js'
import { TRAFFIC_PORT } from '../lib/traffic/traffic-sink.js'
import { HostAddress } from '../lib/wire/net/address.js'
import { loopbackAddress } from '../test/support/loopback.js'
import { WeirDaemon } from './support/weir-daemon.js'
import { wholeNumber } from './support/whole-number.js'

const CONNECTOR = loopbackAddress()
const CONNECTIONS = 100
/** Time for activity after the start: compiling, garbage collection. */
const SETTLE_MS = 5000
const CONNECT_MS_MAX = 20_000

interface IdleDaemon {
  io: string
  connections: number
  daemon: WeirDaemon
}

interface IdleFigure {
  io: string
  connections: number
  cpuSeconds: number
  /** Share of one core. */
  share: number
}

interface IdleResult {
  benchmark: 'idle'
  seconds: number
  figures: IdleFigure[]
  skipped: { name: string; why: string }[]
}

/** Arguments: `--seconds 60` to measure, `--connections 100` of the daemons that have some. */
export async function run(args: string[]): Promise<IdleResult> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '60' },
      connections: { type: 'string', default: String(CONNECTIONS) },
      json: { type: 'boolean', default: false },
    },
  })
  const seconds = wholeNumber('--seconds', values.seconds, 1, 86_400)
  const connections = wholeNumber('--connections', values.connections, 1, 1000)
  const faults: [string, string | null][] = [
    ['batch', libcFault()],
    ['dgram', null],
    ['raw', rawFault()],
  ]
  const folder = mkdtempSync(join(tmpdir(), 'weir-idle-'))
  const idle: IdleDaemon[] = []
  let connector: OpenedNic | null = null
  try {
    const onStopped = (error: unknown) => {
      throw error
    }
    connector = await openNic({ address: CONNECTOR, io: 'dgram' }, { onStopped })
    for (const [io, fault] of faults) {
      if (fault !== null) continue
      for (const some of [0, connections]) {
        const address = loopbackAddress()
        const name = `${io}-${some}`
        const daemon = await WeirDaemon.start(folder, name, { address, within: [] }, ['--io', io])
        idle.push({ io, connections: some, daemon })
        await connect(connector, address, some)
      }
    }
    await sleep(SETTLE_MS)
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

/** Makes connections to that daemon on which nothing is sent. Throws WEIR_BAD_STATE. */
async function connect({ nic, loop }: OpenedNic, address: string, count: number): Promise<void> {
  let established = 0
  const handler = { onEstablished: () => established++, onCompletion: () => {}, onClosed: () => {} }
  for (let i = 0; i < count; i++) {
    nic.connect(loop.now(), HostAddress.parse(address), TRAFFIC_PORT, handler)
  }
  loop.wake()
  for (const end = Date.now() + CONNECT_MS_MAX; established < count; await sleep(20)) {
    if (Date.now() < end) continue
    throw new WeirError(
      'WEIR_BAD_STATE',
      `idle: ${established} of ${count} connections to ${address} were made`,
    )
  }
}

async function measure(idle: readonly IdleDaemon[], seconds: number): Promise<IdleFigure[]> {
  const start = performance.now()
  const before = idle.map(({ daemon }) => daemon.cpuSeconds())
  await sleep(seconds * 1000)
  const tookSeconds = (performance.now() - start) / 1000
  return idle.map(({ io, connections, daemon }, i) => {
    const cpuSeconds = daemon.cpuSeconds() - before[i]!
    return { io, connections, cpuSeconds, share: cpuSeconds / tookSeconds }
  })
}

function printed({ seconds, figures, skipped }: IdleResult): string {
  const lines = figures.map(({ io, connections, cpuSeconds, share }) => {
    const what = `${io}, ${connections} connections`
    return `  ${what.padEnd(24)} ${cpuSeconds.toFixed(2).padStart(6)} s  ${(100 * share).toFixed(2).padStart(6)} % of a core`
  })
  const left = skipped.map(({ name, why }) => `left out: ${name}: ${why}`)
  return `${[`CPU time of idle daemons in ${seconds} s`, ...lines, ...left].join('\n')}\n`
}
