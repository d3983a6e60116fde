/**
 * A process of `bench -- sim`: runs a scenario a few times with the engine of one checkout, and prints what each run took.
 * Arguments: folder of the checkout, which is built; scenario file; runs.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What a run of a scenario took. */
export interface SimRun {
  cpuSeconds: number
  /** Frames that switch ports sent. */
  packetHops: number
  events: number
  /** Most memory of the process since its start, bytes. */
  residentBytesMax: number
}

/** The part of the engine that every checkout has had; its reader, which older ones have apart; and what `weir run` calls before a run. */
interface Engine extends Partial<Loader> {
  tuneGarbageCollection?(): void
  VirtualRun: new (scenario: unknown) => { run(): { events: number }; readonly packetHops: number }
}

interface Loader {
  loadScenario(file: string): unknown
}

const [checkout, file, runs] = process.argv.slice(2)
const compiled = (path: string) => join(resolve(checkout!), 'dist', path)
const from = (path: string) => import(pathToFileURL(compiled(path)).href)
// The engine is one file, as `weir run` loads it. Without esbuild, and in older checkouts, it is many.
const bundled = 'weir/virtual-run.js'
const engine = (await from(
  existsSync(compiled(bundled)) ? bundled : 'switch-emu/virtual/virtual-run.js',
)) as Engine
const { VirtualRun } = engine
const { loadScenario } =
  engine.loadScenario === undefined
    ? ((await from('lib/scenario/read/load-scenario.js')) as Loader)
    : (engine as Loader)

engine.tuneGarbageCollection?.()
const taken: SimRun[] = []
for (let n = 0; n < Number(runs); n++) {
  const before = process.cpuUsage()
  const virtual = new VirtualRun(loadScenario(file!))
  const { events } = virtual.run()
  const { user, system } = process.cpuUsage(before)
  const residentBytesMax = process.resourceUsage().maxRSS * 1024
  taken.push({ cpuSeconds: (user + system) / 1e6, packetHops: virtual.packetHops, events, residentBytesMax })
}
process.stdout.write(`${JSON.stringify(taken)}\n`)
