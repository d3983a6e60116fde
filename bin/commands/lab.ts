import { resolve } from 'node:path'
import { Argument, Command } from 'commander'
import { PCAP_SIZE, SNAPLEN } from '../../lib/capture/capture-options.js'
import { WeirError } from '../../lib/errors.js'
import { PRIORITY } from '../../lib/nic/nic-options.js'
import { IO_NAMES } from '../../lib/open-nic/io-names.js'
import type { CommandOption, SettingsOf } from '../../lib/options/option.js'
import type { CapturePlace } from '../../switch-emu/captures/port-captures.js'
import { execInLab } from '../../switch-emu/lab/lab-exec.js'
import { allLabs, findLab, lookUpLab, receivedFiles } from '../../switch-emu/lab/lab-state.js'
import { askKeeper, labStatus, stateOf, turnPfcOn } from '../../switch-emu/lab/lab-status.js'
import { takeDown } from '../../switch-emu/lab/take-down.js'
import { DEFAULT_IO, VethLab } from '../../switch-emu/lab/veth-lab.js'
import { withLab } from '../../switch-emu/real-time/lab.js'
import { waiting } from '../progress/waiting.js'
import { printDown, printLabs, printStatus, printUp } from './lab-display.js'
import { setCommand } from './lab-set.js'
import { commandOf } from './names.js'
import { withScenarioList } from './scenario-list.js'
import { addValueOptions, valuesOf } from './value-options.js'

const UP_OPTIONS = [
  {
    name: 'name',
    kind: 'text',
    doc: 'name of the lab',
    command: { flag: '--name <name>', usual: 'the name in the file' },
  },
  {
    name: 'io',
    kind: 'choice',
    choices: IO_NAMES,
    default: DEFAULT_IO,
    doc: 'how the daemons send and receive',
    command: { flag: '--io <name>' },
  },
  {
    name: 'inbox',
    kind: 'text',
    doc: 'keep what hosts receive: h1 receives in DIR/h1',
    command: { flag: '--inbox <dir>', usual: 'removed with the lab' },
  },
  {
    name: 'pcap',
    kind: 'text',
    doc: 'capture every switch port there: s1--h1.pcapng is the port of s1 towards h1',
    command: { flag: '--pcap <dir>' },
  },
  SNAPLEN,
  PCAP_SIZE,
] as const satisfies readonly CommandOption[]

const PFC_OPTIONS = [
  {
    ...PRIORITY,
    doc: 'of this priority',
    command: { flag: '--priority <number>', usual: 'of all' },
  },
] as const satisfies readonly CommandOption[]

/** `weir lab …` */
export function labCommand(): Command {
  return commandOf('lab')
    .enablePositionalOptions()
    .addHelpText('after', `\nLAB is the file or the name of a lab.\nLabs need Linux: see "weir doctor".`)
    .addCommand(upCommand())
    .addCommand(downCommand())
    .addCommand(statusCommand())
    .addCommand(execCommand())
    .addCommand(pfcCommand())
    .addCommand(setCommand())
    .addCommand(listCommand())
}

function upCommand(): Command {
  const command = withScenarioList(new Command('up'))
    .usage('[options] SCENARIO')
    .description('start a lab; it stays until "weir lab down"')
    .argument(
      '<scenario>',
      'scenario file (YAML), - for standard input, or a name of --list; its traffic is not used',
    )
  return addValueOptions(command, UP_OPTIONS)
    .option('--foreground', 'stay, and stop the lab at Ctrl-C')
    .action(async (file: string, flags: { foreground?: boolean }) => {
      const options = valuesOf(UP_OPTIONS, flags)
      // The schema takes half of the time in which other commands of a lab start.
      const { readScenario } = await import('./read-scenario.js')
      const scenario = await readScenario(file)
      const { io, inbox, name = scenario.name } = options
      const captures = capturesOf(options)
      const up: typeof VethLab.up = (scenario, more, signal) =>
        VethLab.up(scenario, { ...more, name, io, inbox, captures }, signal)
      const { hosts, switches } = scenario
      const stopWaiting = waiting(`lab ${name} comes up: ${hosts.length} hosts, ${switches.length} switches`)
      const work = async (lab: VethLab, signal: AbortSignal) => {
        stopWaiting()
        // The times of events and routes of the scenario count from here.
        await lab.begin()
        if (flags.foreground) {
          process.stdout.write(printUp(lab.state))
          await stay(signal)
        }
        await lab.release()
        return lab.state
      }
      const state = await withLab(up, scenario, work).finally(stopWaiting)
      process.stdout.write(printUp(state))
    })
}

/** A lab may stand for months: its captures are bounded, and a full disk must not stop its switches. */
function capturesOf({
  pcap,
  snaplenBytes,
  pcapSizeBytes,
}: Partial<SettingsOf<typeof UP_OPTIONS>>): CapturePlace | undefined {
  if (pcap === undefined) return undefined
  return { folder: resolve(pcap), snapBytes: snaplenBytes, bytesMax: pcapSizeBytes, mayStop: true }
}

function downCommand(): Command {
  return new Command('down')
    .usage('[options] [LAB]')
    .description('stop a lab: its processes, namespaces and interfaces; succeeds also if it is down')
    .argument('[lab]', 'file or name')
    .option('--all', 'all labs of this user')
    .action(async (lab: string | undefined, { all }: { all?: boolean }) => {
      if ((lab === undefined) !== (all === true)) {
        throw new WeirError('WEIR_BAD_ARGUMENT', 'name one lab, or give --all')
      }
      const states = lab === undefined ? allLabs() : [lookUpLab(lab)].filter(state => state !== null)
      if (states.length === 0)
        process.stdout.write(`${lab === undefined ? 'no lab' : `no lab ${lab}`} is up\n`)
      for (const state of states) {
        const received = receivedFiles(state)
        await takeDown(state)
        process.stdout.write(printDown(state, received))
      }
    })
}

function statusCommand(): Command {
  return new Command('status')
    .usage('[options] [LAB]')
    .description('hosts, daemons and ports of a lab')
    .argument('[lab]', 'file or name; default: all labs')
    .option('--json', 'print it as JSON: an array of labs')
    .action(async (lab: string | undefined, { json }: { json?: boolean }) => {
      const states = lab === undefined ? allLabs() : [findLab(lab)]
      const found = await Promise.all(states.map(labStatus))
      process.stdout.write(
        json ? `${JSON.stringify(found, null, 2)}\n` : found.map(printStatus).join('\n') || 'no lab is up\n',
      )
    })
}

function execCommand(): Command {
  return new Command('exec')
    .description('run a command on a host of a lab, or on a switch to see its ports')
    .usage('LAB NODE -- COMMAND…')
    .argument('<lab>', 'file or name')
    .argument('<node>', 'a host or a switch of the lab')
    .argument('<command...>', 'program and arguments')
    .passThroughOptions()
    .action(async (lab: string, node: string, command: string[]) => {
      const words = command[0] === '--' ? command.slice(1) : command
      process.exitCode = await execInLab(findLab(lab), node, words)
    })
}

function pfcCommand(): Command {
  const command = new Command('pfc')
    .usage('[options] LAB PORT on')
    .description('turn PFC of a port on again, where the limit of its watchdog has turned it off')
    .argument('<lab>', 'file or name')
    .argument('<port>', 'a switch and its neighbour, as s1:s2 (s1:s2#1 of parallel links, s1:0 by number)')
    .addArgument(new Argument('<state>', 'on').choices(['on']))
  return addValueOptions(command, PFC_OPTIONS).action(
    async (lab: string, port: string, _state: 'on', flags: object) => {
      const { priority } = valuesOf(PFC_OPTIONS, flags)
      const restored = await turnPfcOn(findLab(lab), port, priority)
      const lines = restored.map(one => `PFC of ${one.port} is on again for priority ${one.priority}`)
      process.stdout.write(`${lines.join('\n') || `PFC of ${port} was on already`}\n`)
    },
  )
}

function listCommand(): Command {
  return new Command('list').description('all labs of this user').action(async () => {
    const labs = await Promise.all(
      allLabs().map(async state => ({ ...state, state: stateOf(state, await askKeeper(state)) })),
    )
    process.stdout.write(printLabs(labs))
  })
}

/** Keeps the process alive until a signal or a failure ends it. A promise alone does not. */
async function stay(signal: AbortSignal): Promise<never> {
  const clock = setInterval(() => {}, 1 << 30)
  signal.addEventListener('abort', () => clearInterval(clock), { once: true })
  return await new Promise<never>(() => {})
}
