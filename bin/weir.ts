#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { packageFile } from '../lib/scenario/package-file.js'
import { heedClosedPipes } from './closed-pipe.js'
import { EXIT_CODES, report } from './failure.js'

/** A lab starts many processes: each loads its own command alone. In the order of the help. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  daemon: async () => (await import('./commands/daemon.js')).daemonCommand(),
  send: async () => (await import('./commands/send.js')).sendCommand(),
  get: async () => (await import('./commands/get.js')).getCommand(),
  perf: async () => (await import('./commands/perf.js')).perfCommand(),
  run: async () => (await import('./commands/run.js')).runCommand(),
  lab: async () => (await import('./commands/lab.js')).labCommand(),
  doctor: async () => (await import('./commands/doctor.js')).doctorCommand(),
  demo: async () => (await import('./commands/demo.js')).demoCommand(),
  dump: async () => (await import('./commands/dump.js')).dumpCommand(),
  internal: async () => (await import('./commands/internal.js')).internalCommand(),
}

const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))

const program = new Command('weir')
  .description('A RoCEv2-style transport over UDP paced by HPCC++, a software switch, and a bench')
  .version(version)
  .enablePositionalOptions()
  .addHelpText('after', EXIT_CODES)
  .showHelpAfterError('(weir --help lists the commands)')

const asked = process.argv[2] ?? ''
for (const name of Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS)) {
  program.addCommand(await COMMANDS[name]!(), { hidden: name === 'internal' })
}

heedClosedPipes(report)
try {
  await program.parseAsync()
} catch (error) {
  report(error)
}
