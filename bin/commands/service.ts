import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { packageFile, weirProgram } from '../../lib/package-file.js'
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
  const here = { program: [process.execPath, weirProgram()], documents: documents() }
  process.stdout.write(user ? userUnit(here, group) : systemUnit(here, group))
}

/** The manual page first, which systemctl help shows, where man finds it. */
function documents(): string[] {
  const page = 'weir-daemon'
  const isInstalled = spawnSync('man', ['-w', '1', page], { stdio: 'ignore' }).status === 0
  const manual = isInstalled ? [`man:${page}(1)`] : []
  return [...manual, pathToFileURL(packageFile('docs', 'service.md')).href]
}
