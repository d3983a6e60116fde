import { Command } from 'commander'
import { weirProgram } from '../../lib/package-file.js'
import { commandOf } from './names.js'
import { systemUnit, userUnit } from './service-unit.js'

interface PrintFlags {
  user?: boolean
  group?: string
}

/** `weir service` */
export function serviceCommand(): Command {
  const print = new Command('print')
    .usage('[options]')
    .description('print a unit of systemd to standard output')
    .option('--user', "one for this user's own systemd, which sends and gets this user's files")
    .option(
      '--group <name>',
      'group whose members may use the control socket (default: root and the service alone)',
    )
    .action(runPrint)
  return commandOf('service').addCommand(print)
}

function runPrint({ user, group }: PrintFlags): void {
  const program = [process.execPath, weirProgram()]
  process.stdout.write(user ? userUnit(program, group) : systemUnit(program, group))
}
