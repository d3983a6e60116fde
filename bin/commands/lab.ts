import { Command, Option } from 'commander'
import { IO_NAMES } from '../../lib/daemon/io-names.js'
import { WeirError } from '../../lib/errors.js'
import { execInLab } from '../../switch-emu/lab/lab-exec.js'
import { allLabs, findLab, lookUpLab } from '../../switch-emu/lab/lab-state.js'
import { askKeeper, labStatus, stateOf } from '../../switch-emu/lab/lab-status.js'
import { takeDown } from '../../switch-emu/lab/take-down.js'
import { DEFAULT_IO, VethLab } from '../../switch-emu/lab/veth-lab.js'
import { withLab } from '../../switch-emu/real-time/lab.js'
import { printLabs, printStatus, printUp } from './lab-display.js'
import { commandOf } from './names.js'

/** `weir lab …` */
export function labCommand(): Command {
  return commandOf('lab')
    .enablePositionalOptions()
    .addHelpText(
      'after',
      '\nLAB is the file that a lab came from or its name.\nNeeds Linux: "weir doctor" says whether it works here.',
    )
    .addCommand(upCommand())
    .addCommand(downCommand())
    .addCommand(statusCommand())
    .addCommand(execCommand())
    .addCommand(listCommand())
}

function upCommand(): Command {
  return new Command('up')
    .description('bring a lab up; it stays until "weir lab down"')
    .argument('<file>', 'scenario file (YAML); its traffic is left alone')
    .option('--name <name>', 'by which the lab is known (default: the name that the file gives)')
    .addOption(new Option('--io <name>', 'how the daemons send').choices(IO_NAMES).default(DEFAULT_IO))
    .option('--foreground', 'stay, and take the lab down at Ctrl-C')
    .action(async (file: string, options: { name?: string; io: string; foreground?: boolean }) => {
      // The schema takes half of the time in which other commands of a lab start.
      const { loadScenario } = await import('../../lib/scenario/load-scenario.js')
      const scenario = loadScenario(file)
      const { io, name = scenario.name } = options
      const up: typeof VethLab.up = (scenario, more, signal) =>
        VethLab.up(scenario, { ...more, name, io }, signal)
      const state = await withLab(up, scenario, async (lab, signal) => {
        if (options.foreground) {
          process.stdout.write(printUp(lab.state))
          await stay(signal)
        }
        await lab.release()
        return lab.state
      })
      process.stdout.write(printUp(state))
    })
}

function downCommand(): Command {
  return new Command('down')
    .description('take a lab down: every process in it, its namespaces, its interfaces; fine when it is down')
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
        await takeDown(state)
        process.stdout.write(`lab ${state.name} is down\n`)
      }
    })
}

function statusCommand(): Command {
  return new Command('status')
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
    .description('run a command on a host of a lab (or on a switch, to look at its ports)')
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

function listCommand(): Command {
  return new Command('list').description('all labs of this user').action(async () => {
    const labs = await Promise.all(
      allLabs().map(async state => ({ ...state, state: stateOf(state, await askKeeper(state)) })),
    )
    process.stdout.write(printLabs(labs))
  })
}

/** Keeps the process until a signal or a failure ends it from elsewhere: a promise alone does not. */
async function stay(signal: AbortSignal): Promise<never> {
  const clock = setInterval(() => {}, 1 << 30)
  signal.addEventListener('abort', () => clearInterval(clock), { once: true })
  return await new Promise<never>(() => {})
}
