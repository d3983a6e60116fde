/**
 * Speed of the virtual network: packets x hops per CPU-second. A packet x hop is one frame, data or
 * acknowledgement, that one switch port sends. Event-driven simulators call it a switch enqueue. CPU time is
 * this process's, because other work on the machine affects it less than wall time.
 */
import { parseArgs } from 'node:util'
import { packageFile } from '../lib/package-file.js'
import { loadScenario } from '../lib/scenario/read/load-scenario.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'

const ROUNDS = 5
const DEFAULT_SCENARIO = 'dumbbell-100g'

interface SimSpeed {
  scenario: string
  /** Packet hops of one run. */
  packetHops: number
  events: number
  /** Per CPU-second: median, lowest and highest of all rounds but the first. */
  packetHopsPerCpuSecond: { median: number; min: number; max: number }
  eventsPerCpuSecond: number
}

/** Arguments: a scenario, by its file or the name of one of bench/scenarios. */
export async function run(args: string[]): Promise<SimSpeed> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: 'boolean' } },
  })
  const [name = DEFAULT_SCENARIO] = positionals
  const file = name.endsWith('.yaml') ? name : packageFile('bench', 'scenarios', `${name}.yaml`)
  const scenario = loadScenario(file)
  const speeds: number[] = []
  let packetHops = 0
  let events = 0
  // The compiler warms up in the first round.
  for (let round = 0; round <= ROUNDS; round++) {
    const before = process.cpuUsage()
    const virtual = new VirtualRun(scenario)
    const result = virtual.run()
    const used = process.cpuUsage(before)
    packetHops = virtual.packetHops
    events = result.events
    const seconds = (used.user + used.system) / 1e6
    if (round > 0) speeds.push(packetHops / seconds)
  }
  speeds.sort((a, b) => a - b)
  const median = speeds[ROUNDS >> 1]!
  const speed = {
    scenario: scenario.name,
    packetHops,
    events,
    packetHopsPerCpuSecond: { median, min: speeds[0]!, max: speeds[ROUNDS - 1]! },
    eventsPerCpuSecond: (median * events) / packetHops,
  }
  if (!values.json) process.stdout.write(printed(speed))
  return speed
}

function printed(speed: SimSpeed): string {
  const { median, min, max } = speed.packetHopsPerCpuSecond
  const k = (value: number) => `${(value / 1000).toFixed(0)} k`
  return (
    `${speed.scenario}: ${k(median)} packets x hops per CPU-second (${k(min)} to ${k(max)} over ${ROUNDS} rounds), ` +
    `${k(speed.eventsPerCpuSecond)} events; ${k(speed.packetHops)} packets x hops a round\n`
  )
}
