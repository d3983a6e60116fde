import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { CapturedPacket, CaptureReader } from '../../lib/capture/capture-reader.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { noLabs, Place } from '../lab/support.js'

export type Where = RunResult['on']

/** Where a scenario runs in real time, and why that is not possible here, or false. */
export const REAL_TIME: readonly { on: Where; skip: string | false }[] = [
  { on: 'overlay', skip: false },
  { on: 'veth', skip: noLabs() },
]

export const SEED = 5

/**
 * What `weir run --on … --json` writes. The run must leave nothing behind.
 * @param place where it runs; captures of the switch ports are in `captures` there. Default: one of its own, without captures
 */
export async function runOn(t: Test, yaml: string, on: Where, place?: Place): Promise<RunResult> {
  const captures = place === undefined ? [] : ['--pcap', join(place.folder, 'captures'), '--snaplen', '128']
  return await runAt(t, yaml, on, place ?? new Place(t), captures)
}

async function runAt(t: Test, yaml: string, on: Where, place: Place, more: string[]): Promise<RunResult> {
  const json = join(place.folder, 'result.json')
  const file = place.file('scenario.yaml', yaml)
  const words = ['run', file, '--on', on, '--seed', `${SEED}`, '--json', json, ...more]
  const ended = await place.weir(words)
  t.equal(ended.code, 0, ended.stderr)
  t.same([place.processes(), place.leftFiles()], [[], []], 'nothing is left')
  return JSON.parse(readFileSync(json, 'utf8')) as RunResult
}

/** How long the frames of `from` took to the next switch, by the captures at both ends of a link that loses nothing, ns. */
export function wayNs(place: Place, from: string, to: string, isFrom: (host: number) => boolean): number[] {
  const timesOf = (file: string): number[] => {
    const reader = CaptureReader.open(join(place.folder, 'captures', file))
    const packet = new CapturedPacket()
    const times: number[] = []
    while (reader.next(packet)) {
      // The last byte of the IPv4 source: hosts have the addresses 10.0.0.1, 10.0.0.2 …
      if (isFrom(packet.buffer[packet.at + 29]!)) times.push(packet.seconds * 1e9 + packet.nanos)
    }
    reader.close()
    return times
  }
  const [sent, received] = [timesOf(`${from}--${to}.pcapng`), timesOf(`${to}--${from}.pcapng`)]
  return received.map((at, i) => at - sent[i]!)
}

/** What does not depend on time: the flows, and their outcomes. */
export function completions({ flows }: RunResult): object[] {
  return flows.map(({ name, from, to, bytes, ackedBytes, startNs, idealFctNs, fctNs }) => ({
    name,
    from,
    to,
    bytes,
    ackedBytes,
    startNs,
    idealFctNs,
    completed: fctNs !== null,
  }))
}

/** The ports by their names, with their properties. */
export function portsOf({ ports }: RunResult): object[] {
  return ports.map(({ switch: sw, port, name, peer, rateBps }) => ({ sw, port, name, peer, rateBps }))
}

/** Names and types of all members of a result, at any depth. For arrays, those of the first element. */
export function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shape(value[0])]
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, shape(inner)]),
  )
}

/**
 * Without members that only some runs have: a summary, if flows overlap for long enough, and samples of
 * daemons' windows.
 */
export function comparable(result: RunResult): Omit<RunResult, 'summary' | 'series'> & { series: string[] } {
  const { summary: _summary, series, ...rest } = result
  return {
    ...rest,
    series: Object.keys(series)
      .filter(name => !name.startsWith('inflight'))
      .sort(),
  }
}
