#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { packageFile } from '../lib/scenario/package-file.js'
import { daemonCommand } from './commands/daemon.js'
import { demoCommand } from './commands/demo.js'
import { doctorCommand } from './commands/doctor.js'
import { dumpCommand } from './commands/dump.js'
import { getCommand } from './commands/get.js'
import { internalCommand } from './commands/internal.js'
import { labCommand } from './commands/lab.js'
import { perfCommand } from './commands/perf.js'
import { runCommand } from './commands/run.js'
import { sendCommand } from './commands/send.js'
import { EXIT_CODES, report } from './failure.js'

const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))

const program = new Command('weir')
  .description('A RoCEv2-style transport over UDP paced by HPCC++, a software switch, and a bench')
  .version(version)
  .enablePositionalOptions()
  .addHelpText('after', EXIT_CODES)
  .showHelpAfterError('(weir --help lists the commands)')
  .addCommand(daemonCommand())
  .addCommand(sendCommand())
  .addCommand(getCommand())
  .addCommand(perfCommand())
  .addCommand(runCommand())
  .addCommand(labCommand())
  .addCommand(doctorCommand())
  .addCommand(demoCommand())
  .addCommand(dumpCommand())
  .addCommand(internalCommand(), { hidden: true })

try {
  await program.parseAsync()
} catch (error) {
  report(error)
}
