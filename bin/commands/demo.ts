import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { whyNotRead } from '../../lib/file-reason.js'
import type { CommandOption } from '../../lib/options/option.js'
import { packageFile } from '../../lib/package-file.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { loadScenario } from '../../lib/scenario/read/load-scenario.js'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { checkResultFile, writeResult } from '../../lib/scenario/result/write-result.js'
import { columnsMost } from '../../lib/text-width.js'
import { formatBytes, formatRate } from '../../lib/units/units.js'
import { VethLab } from '../../switch-emu/lab/veth-lab.js'
import { checkVeth } from '../../switch-emu/lab/veth-support.js'
import { OverlayLab } from '../../switch-emu/overlay/lab.js'
import { type FileTransfer, sendFiles } from '../../switch-emu/real-time/send-files.js'
import { demoDisplay } from './demo-display.js'
import { folded } from './fit.js'
import { commandOf } from './names.js'
import { addValueOptions, valuesOf } from './value-options.js'

/** When the second sender joins, after the first. */
const JOIN_MS = 2000
const BOTTLENECK = 's1:s2'

const OPTIONS = [
  {
    name: 'json',
    kind: 'text',
    default: join(tmpdir(), `weir-demo-${process.getuid?.() ?? 'user'}.json`),
    doc: 'write the result there',
    command: { flag: '--json <file>' },
  },
  {
    name: 'on',
    kind: 'choice',
    choices: ['auto', 'overlay', 'veth'],
    default: 'auto',
    doc: 'what carries the packets; auto: veth where the machine allows it, else overlay',
    command: { flag: '--on <place>' },
  },
] as const satisfies readonly CommandOption[]

/** `weir demo [FILE]`: what `npm start` shows. */
export function demoCommand(): Command {
  const command = commandOf('demo').argument('[file]', 'file to send', process.execPath)
  return addValueOptions(command, OPTIONS).action(async (file: string, flags: object) => {
    const values = valuesOf(OPTIONS, flags)
    const json = values.json!
    checkResultFile(json)
    const result = await demo(resolve(file), values.on!)
    writeResult(json, result)
    process.stdout.write(`\n${printTables(result, columnsMost(process.stdout))}\nJSON: ${json}\n`)
    if (!result.flows.every(flow => flow.digestEqual)) {
      throw new WeirError('WEIR_DIGEST_MISMATCH', 'a file arrived with another digest than the one sent')
    }
  })
}

type Place = 'auto' | 'overlay' | 'veth'

async function demo(path: string, place: Place): Promise<RunResult> {
  const scenario = loadScenario(packageFile('bench', 'scenarios', 'dumbbell.yaml'))
  const transfers: FileTransfer[] = [
    { from: 'h1', to: 'h3', path, name: 'from-h1', startMs: 0 },
    { from: 'h2', to: 'h3', path, name: 'from-h2', startMs: JOIN_MS },
  ]
  const size = await sizeOf(path)
  const { on, why } = choose(place)
  introduce(scenario, path, size, why)
  const display = demoDisplay({
    transfers,
    sizes: transfers.map(() => size),
    bottleneck: BOTTLENECK,
    queueBytesFull: scenario.switches[0]!.ecn?.[0]?.kminBytes ?? 100_000,
  })
  try {
    return await sendFiles(on === 'veth' ? VethLab.up : OverlayLab.up, scenario, transfers, {
      onView: view => display.show(view),
    })
  } finally {
    display.close()
  }
}

/** Chooses where the frames travel, and says why. */
function choose(place: Place): { on: 'overlay' | 'veth'; why: string } {
  const overlay = 'Links are VXLAN over UDP on loopback'
  const veth = 'Links are veth pairs between network namespaces'
  if (place === 'overlay') return { on: 'overlay', why: `${overlay}.` }
  if (place === 'veth') return { on: 'veth', why: `${veth}.` }
  try {
    checkVeth()
    return { on: 'veth', why: `${veth}: this machine allows it.` }
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    return { on: 'overlay', why: `${overlay}.\nveth does not work here: ${error.message}` }
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (cause) {
    throw new WeirError('WEIR_NO_FILE', `${path} cannot be read: ${whyNotRead(cause)}`, { cause })
  }
}

function introduce(scenario: Scenario, path: string, size: number, why: string): void {
  const rate = formatRate(scenario.links[0]!.rateBps)
  const lines = [
    'h1 ──┐',
    '     s1 ── s2 ── h3',
    'h2 ──┘',
    '',
    `Every link has ${rate}. HPCC++ paces the senders from in-band telemetry.`,
    `h1 sends ${path} (${formatBytes(size)}) to h3; h2 joins after ${JOIN_MS / 1000} s with a copy.`,
    'Each host runs a daemon of its own; one process runs both switches.',
    why,
    '',
  ]
  process.stdout.write(`${folded(lines.join('\n'), process.stdout)}\n`)
}
