/**
 * Measures how many frames per second one switch forwards between two veth pairs, beside a Linux bridge in
 * its place and the generator alone. They alternate in rounds of one run, with 64-byte and 4 KiB frames.
 * Links have 100 Gbit/s and no delay, so that the emulation delays nothing.
 *
 * The generator has core 0 for itself. The switch process has core 1, where the receiving host's kernel also
 * discards the frames. The bridge runs within the generator's system calls, so its core carries everything.
 * The CPU time per frame of the switch process does not depend on how the cores are shared. Frames per second
 * on one core follow from it.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WeirError } from '../lib/errors.js'
import { macOf } from '../lib/nic/config.js'
import { median } from '../lib/scenario/result/fairness.js'
import { HostAddress } from '../lib/wire/net/address.js'
import { formatMac } from '../lib/wire/net/mac.js'
import { Namespaces, noNamespaces } from '../test/support/netns.js'
import { VethLab } from '../test/support/veth-lab.js'
import type { BlastResult } from './blaster.js'
import { stealSince, stealTicks } from './steal.js'
import type { NamedFigure } from './support/against.js'
import { wholeNumber } from './support/whole-number.js'

const BLASTER = fileURLToPath(new URL('./blaster.js', import.meta.url))
const MTU = 9000
const FRAME_BYTES = [64, 4096]
const FROM = '10.0.0.1'
const TO = '10.0.0.2'
const SCENARIO = `
name: forwarding
link: {rate: 100Gbps, delay: 0us}
hosts: [h1, h2]
switches: {s1: {}}
links: [h1--s1, h2--s1]
traffic: [{name: flow0, from: h1, to: h2, size: 1MB}]
`
/** Clock ticks of /proc/PID/stat in a second: the same on every Linux. */
const TICKS_PER_SECOND = 100
/** Time for frames in flight when the generator ends. */
const DRAIN_MS = 200

/** A path from a generator to a receiver. */
interface Candidate {
  name: string
  /** Namespaces. The interface is eth0 in both. */
  from: string
  to: string
  /** Process that forwards. 0 = the kernel. */
  pid: number
}

interface Round {
  framesPerSecond: number
  offeredPerSecond: number
  /** CPU time of the forwarding process per forwarded frame. 0 for the kernel. */
  switchNsPerFrame: number
  /** CPU time of the generator, including the kernel's within its calls, per sent frame. */
  generatorNsPerFrame: number
  steal: number | null
}

interface ForwardingResult {
  benchmark: 'forwarding'
  cores: number
  seconds: number
  pairs: number
  figures: ReturnType<typeof summarise>[]
  switchEvents: number
}

/** @param args `--seconds N` of each round (default 2), `--pairs N` (default 5) */
export async function run(args: string[]): Promise<ForwardingResult> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '2' },
      pairs: { type: 'string', default: '5' },
      json: { type: 'boolean' },
    },
  })
  const seconds = wholeNumber('--seconds', values.seconds)
  const pairs = wholeNumber('--pairs', values.pairs)
  const missing = noNamespaces()
  if (missing !== false) throw new WeirError('WEIR_UNSUPPORTED', `forwarding: ${missing}`)
  const teardowns: (() => unknown)[] = []
  const scope = { teardown: (undo: () => unknown) => void teardowns.unshift(undo) }
  try {
    return await measure(scope as never, seconds, pairs, values.json ? () => {} : print)
  } finally {
    for (const undo of teardowns) await undo()
  }
}

/** For `--against`: what a frame costs the switch process, and how many it forwards in a second. */
export function comparedFigures({ figures }: ForwardingResult): NamedFigure[] {
  return figures.flatMap(({ bytes, candidates }) => {
    const own = candidates.find(({ name }) => name === 'switch')!
    return [
      { name: `${bytes} B: ns of CPU a frame`, value: own.switchNsPerFrame },
      { name: `${bytes} B: frames a second`, value: own.framesPerSecond },
    ]
  })
}

async function measure(
  t: ConstructorParameters<typeof Namespaces>[0],
  seconds: number,
  pairs: number,
  show: typeof print,
): Promise<ForwardingResult> {
  const lab = await VethLab.up(t, SCENARIO, {
    mtu: MTU,
    ...(cpus().length > 1 && { prefix: ['taskset', '-c', '1'] }),
  })
  const [from, to] = ['h1', 'h2'].map(host => lab.hosts.get(host)!)
  // As with the bridge, no kernel has an address, so it discards the frames and answers nothing.
  for (const host of ['h1', 'h2']) lab.exec(host, 'ip', 'address', 'flush', 'dev', 'eth0')
  const candidates: Candidate[] = [
    { name: 'switch', from: from!, to: to!, pid: lab.pid },
    bridge(new Namespaces(t)),
    bare(new Namespaces(t)),
  ]
  const figures: ForwardingResult['figures'] = []
  for (const bytes of FRAME_BYTES) {
    const rounds = new Map<string, Round[]>(candidates.map(({ name }) => [name, []]))
    // The first round warms up.
    for (let pair = -1; pair < pairs; pair++) {
      for (const candidate of candidates) {
        const round = await forward(candidate, bytes, seconds)
        if (pair >= 0) rounds.get(candidate.name)!.push(round)
      }
    }
    const figure = summarise(bytes, rounds)
    show(figure)
    figures.push(figure)
  }
  const { report } = await lab.ask({ type: 'report' }, 'report')
  await lab.down()
  return {
    benchmark: 'forwarding',
    cores: cpus().length,
    seconds,
    pairs,
    figures,
    switchEvents: report.events,
  }
}

async function forward(candidate: Candidate, bytes: number, seconds: number): Promise<Round> {
  const steal = stealTicks()
  const before = received(candidate.to)
  const ticks = ticksOf(candidate.pid)
  const command = ['netns', 'exec', candidate.from, ...(cpus().length > 1 ? ['taskset', '-c', '0'] : [])]
  const text = execFileSync(
    'ip',
    [...command, process.execPath, BLASTER, 'eth0', String(bytes), String(seconds * 1000), FROM, TO],
    { encoding: 'utf8' },
  )
  const blast = JSON.parse(text) as BlastResult
  await new Promise(resolve => setTimeout(resolve, DRAIN_MS))
  const frames = received(candidate.to) - before
  const cpuSeconds = (ticksOf(candidate.pid) - ticks) / TICKS_PER_SECOND
  return {
    framesPerSecond: frames / blast.seconds,
    offeredPerSecond: blast.frames / blast.seconds,
    switchNsPerFrame: frames > 0 ? (cpuSeconds * 1e9) / frames : 0,
    generatorNsPerFrame: (blast.cpuSeconds * 1e9) / blast.frames,
    steal: stealSince(steal),
  }
}

/** Two hosts on a bridge of the kernel. */
function bridge(namespaces: Namespaces): Candidate {
  const middle = namespaces.add('br')
  namespaces.exec(middle, 'ip', 'link', 'add', 'name', 'br0', 'type', 'bridge')
  namespaces.exec(middle, 'ip', 'link', 'set', 'br0', 'mtu', String(MTU), 'up')
  const [from, to] = [FROM, TO].map((address, i) => {
    const ns = namespaces.add(`h${i}`)
    namespaces.veth({ ns, name: 'eth0', mac: macText(address) }, { ns: middle, name: `p${i}` }, MTU)
    namespaces.exec(middle, 'ip', 'link', 'set', `p${i}`, 'master', 'br0')
    return ns
  })
  return { name: 'bridge', from: from!, to: to!, pid: 0 }
}

/** Two hosts on one veth pair: the limit of what the generator can send and the receiver discard. */
function bare(namespaces: Namespaces): Candidate {
  const [from, to] = [namespaces.add('a'), namespaces.add('b')]
  const ends = [FROM, TO].map((address, i) => ({ ns: [from, to][i]!, name: 'eth0', mac: macText(address) }))
  namespaces.veth(ends[0]!, ends[1]!, MTU)
  return { name: 'generator', from, to, pid: 0 }
}

function macText(address: string): string {
  return formatMac(macOf(HostAddress.parse(address)))
}

/** Frames that have arrived at a host's interface. */
function received(ns: string): number {
  const text = execFileSync('ip', ['-n', ns, '-s', '-j', 'link', 'show', 'dev', 'eth0'], { encoding: 'utf8' })
  return (JSON.parse(text) as { stats64: { rx: { packets: number } } }[])[0]!.stats64.rx.packets
}

/** CPU time of all threads of a process, clock ticks. */
function ticksOf(pid: number): number {
  if (pid === 0) return 0
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

function summarise(bytes: number, rounds: ReadonlyMap<string, Round[]>) {
  const candidates = [...rounds].map(([name, list]) => ({
    name,
    framesPerSecond: Math.round(median(list.map(round => round.framesPerSecond))),
    least: Math.round(Math.min(...list.map(round => round.framesPerSecond))),
    most: Math.round(Math.max(...list.map(round => round.framesPerSecond))),
    offeredPerSecond: Math.round(median(list.map(round => round.offeredPerSecond))),
    switchNsPerFrame: Math.round(median(list.map(round => round.switchNsPerFrame))),
    generatorNsPerFrame: Math.round(median(list.map(round => round.generatorNsPerFrame))),
    steal: Math.max(...list.map(round => round.steal ?? 0)),
  }))
  const [own, bridged] = [rounds.get('switch')!, rounds.get('bridge')!]
  const ratio = median(own.map((round, i) => round.framesPerSecond / bridged[i]!.framesPerSecond))
  const ns = candidates.find(({ name }) => name === 'switch')!.switchNsPerFrame
  return {
    bytes,
    ratioToBridge: ratio,
    framesPerSecondOfOneCore: ns > 0 ? Math.round(1e9 / ns) : 0,
    candidates,
  }
}

function print(figure: ReturnType<typeof summarise>): void {
  for (const c of figure.candidates) {
    const cost = c.switchNsPerFrame > 0 ? `, switch process ${c.switchNsPerFrame} ns CPU a frame` : ''
    console.log(
      `${String(figure.bytes).padStart(5)} B  ${c.name.padEnd(9)}  ${(c.framesPerSecond / 1e3).toFixed(0).padStart(5)} k frames/s ` +
        `(${(c.least / 1e3).toFixed(0)} to ${(c.most / 1e3).toFixed(0)}), offered ${(c.offeredPerSecond / 1e3).toFixed(0)} k` +
        `, generator ${c.generatorNsPerFrame} ns CPU a frame${cost}, steal ${(c.steal * 100).toFixed(1)} %`,
    )
  }
  console.log(
    `${String(figure.bytes).padStart(5)} B  switch / bridge = ${figure.ratioToBridge.toFixed(2)}; ` +
      `one core's worth of the switch process: ${(figure.framesPerSecondOfOneCore / 1e3).toFixed(0)} k frames/s`,
  )
}
