/**
 * One scenario on veth in a mode of HPCC++: what must be as in virtual time however late the machine is, and
 * what must be so only if it is not late.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { Place } from './support.js'

interface Mode {
  name: string
  /** Lines of the scenario; what is not given is HPCC++ with wide records in every packet. */
  cc?: string
  format?: string
  telemetry?: string
  s1?: string
  transport?: string
}

/** W_init, bytes: 10 Mbit/s over T. */
const W_INIT = (10e6 * 0.14) / 8
/** If flows take longer than in virtual time by more than this factor, the machine delayed the run. */
const IN_TIME = 1.03
/** A switch in a mode answers directly from this queue on. */
const DIRECT_THRESHOLD = 20_000
export const DIRECT = `telemetry: {direct: {threshold: ${DIRECT_THRESHOLD}B, interval: 20ms}}`
/** Greatest deviation of the windows of such a run from those in virtual time. */
const DEVIATION_MAX = 0.5

const FLOWS = { a: 1_500_000, b: 500_000 }

function scenario({
  name,
  cc = 'hpcc',
  format = 'wide',
  telemetry = '',
  s1 = '',
  transport = '',
}: Mode): string {
  return `
name: ${name}
link: {rate: 10Mbps, delay: 20ms}
hosts: [h1, h2, h3]
switches: {s1: {${s1}}, s2: {}}
links: [h1--s1, h2--s1, s1--s2, s2--h3]
cc: {name: ${cc}, maxStage: 0, wAi: 2KB}
int: {format: ${format}, hops: 5}
telemetry: {${telemetry}}
baseRtt: 140ms
transport: {pathMtu: 1024, ackTimeout: 4s, ackEvery: 4${transport}}
traffic:
  - {name: a, from: h1, to: h3, size: ${FLOWS.a}B}
  - {name: b, from: h2, to: h3, size: ${FLOWS.b}B, start: 600ms}
watch: {queues: [s1:s2], every: 10ms}
`
}

/** Mean of both windows together while both flows run, bytes; NaN if a late machine ran them one after the other. */
function windows(result: RunResult): number {
  const [a, b] = result.flows
  const from = b!.startNs + b!.fctNs! / 2
  const to = Math.min(a!.startNs + a!.fctNs!, b!.startNs + b!.fctNs!)
  const mean = (name: string) => {
    const { timesNs, values } = result.series[`window/${name}`]!
    const inside = values.filter((_, i) => timesNs[i]! >= from && timesNs[i]! <= to)
    return inside.reduce((sum, value) => sum + value, 0) / inside.length
  }
  return mean('a') + mean('b')
}

/** Runs the modes beside each other, each on a network of its own. */
export async function checkModes(t: Test, modes: readonly Mode[]): Promise<void> {
  await Promise.all(modes.map(mode => check(t, mode)))
}

async function check(t: Test, mode: Mode): Promise<void> {
  const text = scenario(mode)
  const virtual = new VirtualRun(parseScenario(text, `${mode.name}.yaml`)).run()
  const place = new Place(t)
  const json = join(place.folder, `${mode.name}.json`)
  const file = place.file(`${mode.name}.yaml`, text)
  const ended = await place.weir(['run', file, '--on', 'veth', '--json', json])
  t.equal(ended.code, 0, `${mode.name}: ${ended.stderr}`)
  const veth = JSON.parse(readFileSync(json, 'utf8')) as RunResult
  const late = Math.max(...veth.flows.map(({ fctNs }, i) => fctNs! / virtual.flows[i]!.fctNs!))
  const inTime = late < IN_TIME
  for (const { flows, ports, feedback, series } of [virtual, veth]) {
    for (const { name, ackedBytes } of flows) {
      t.equal(ackedBytes, FLOWS[name as keyof typeof FLOWS], `${mode.name}: every byte of ${name}`)
    }
    const { refused, implausible } = feedback!
    t.equal(refused, 0, `${mode.name}: all feedback is authentic`)
    for (const port of ports) t.equal(port.drops, 0)
    if (mode.s1 !== undefined) {
      const { directResponses } = ports.find(port => port.name === 's1:s2')!
      const queue = Math.max(...series['queue/s1:s2']!.values)
      const what = `${mode.name}: ${directResponses} direct responses, queue of ${queue} bytes`
      // Hosts that hardly run do not congest the switch, so it sends no responses.
      if (queue >= 2 * DIRECT_THRESHOLD || feedback === virtual.feedback) t.ok(directResponses! > 0, what)
      else t.comment(what)
    }
    const repeated = flows.reduce((sum, flow) => sum + flow.retransmittedBytes, 0)
    // A host that does not run for a while takes late packets for lost, and stamps that arrive all at once
    // for ones that are ahead.
    if (inTime || feedback === virtual.feedback) {
      t.equal(repeated, 0, `${mode.name}: none twice`)
      t.equal(implausible, 0, `${mode.name}: all feedback is believed`)
    } else t.comment(`${mode.name}: ${repeated} bytes twice, ${implausible} hops not believed`)
  }
  const [real, wanted] = [windows(veth), windows(virtual)]
  for (const name of Object.keys(FLOWS)) {
    const greatest = Math.max(...veth.series[`window/${name}`]!.values)
    t.ok(greatest <= W_INIT, `${mode.name}: ${name} never beyond line rate x T: ${greatest}`)
  }
  if (inTime)
    t.ok(Math.abs(real / wanted - 1) < DEVIATION_MAX, `${mode.name}: windows ${real}, virtual ${wanted}`)
  else t.comment(`${mode.name}: flows took ${late} of their time: windows ${real}, virtual ${wanted}`)
}
