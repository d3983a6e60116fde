/** `weir inof`: which hosts are in a lab, their zones, which can be set, the BGP sessions of its switches, and what has changed. */
import { Argument, type Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import {
  type InofResult,
  inofChanges,
  inofHosts,
  inofPeers,
  inofZones,
} from '../../lib/scenario/result/inof-result.js'
import { tableText } from '../../lib/scenario/result/table.js'
import { columnsMost } from '../../lib/text-width.js'
import { findLab } from '../../switch-emu/lab/lab-state.js'
import { askKeeper, setZone } from '../../switch-emu/lab/lab-status.js'
import { birdConfig } from '../../switch-emu/network/bird-config.js'
import { commandOf } from './names.js'
import { readScenario } from './read-scenario.js'

/** What can be shown, and how it is printed. */
const SHOWN = {
  hosts: ({ hosts }: InofResult) => inofHosts(hosts),
  zones: ({ zones }: InofResult) => inofZones(zones),
  peers: ({ peers }: InofResult) => inofPeers(peers),
  changes: ({ changes }: InofResult) => inofChanges(changes),
} as const

type Shown = keyof typeof SHOWN

export function inofCommand(): Command {
  const command = commandOf('inof')
  command
    .command('show')
    .description(
      'print the hosts of a lab, its zones, the BGP sessions of its switches and reflectors, or which hosts have arrived, departed and failed',
    )
    .addArgument(new Argument('<what>', 'what to print').choices(Object.keys(SHOWN)))
    .argument('<lab>', 'file or name')
    .option('--json', 'print JSON, as in the results of weir run')
    .action(async (what: Shown, lab: string, { json }: { json?: boolean }) => {
      const inof = await inofOf(lab)
      const text = json
        ? `${JSON.stringify(inof[what], null, 2)}\n`
        : tableText(SHOWN[what](inof), columnsMost(process.stdout))
      process.stdout.write(text)
    })
  command
    .command('zone')
    .description('set which hosts of a lab are in a zone, at its reflectors; switches and hosts hear of it')
    .argument('<lab>', 'file or name')
    .argument('<zone>', 'its number; 0 is the default zone')
    .argument('[host...]', 'its members, names and ranges; default: none')
    .action(async (lab: string, zone: string, hosts: string[]) => {
      const members = await setZone(findLab(lab), /^\d+$/.test(zone) ? Number(zone) : Number.NaN, hosts)
      process.stdout.write(`zone ${zone}: ${members.join(' ') || 'no members of its own'}\n`)
    })
  command
    .command('bird')
    .description('print the configuration of BIRD as a reflector of a scenario with inof.external')
    .argument('<scenario>', 'scenario file (YAML), - for standard input')
    .argument('<reflector>', 'its number, from 1 on')
    .action(async (file: string, reflector: string) => {
      process.stdout.write(await birdOf(file, reflector))
    })
  return command
}

async function birdOf(file: string, reflector: string): Promise<string> {
  const scenario = await readScenario(file)
  const { inof } = scenario
  if (!inof?.external) {
    const text = `${file} has reflectors of its own, or no iNOF: write inof: { external: true }`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const index = Number(reflector) - 1
  if (!/^\d+$/.test(reflector) || index < 0 || index >= inof.reflectors) {
    const text = `${file} has the reflectors 1 to ${inof.reflectors}, and none with the number ${reflector}`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  return birdConfig(scenario, index)
}

async function inofOf(lab: string): Promise<InofResult> {
  const state = findLab(lab)
  const ports = (await askKeeper(state))?.switch ?? null
  if (ports === null)
    throw new WeirError(
      'WEIR_BAD_STATE',
      `lab ${state.name} does not answer; see "weir lab status ${state.name}"`,
    )
  if (ports.inof === undefined) {
    const text = `the hosts of lab ${state.name} do not announce themselves; add inof: {} to ${state.file}, and bring the lab up again`
    throw new WeirError('WEIR_BAD_STATE', text)
  }
  return ports.inof
}
