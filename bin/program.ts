import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { packageFile } from '../lib/package-file.js'
import { COMMANDS, type CommandName, commandOf } from './commands/names.js'
import { EXIT_CODES, reportUsage } from './failure.js'
import { styleHelp, termList } from './help-style.js'
import { refuseEmpty } from './refuse-empty.js'

/** A lab starts many processes, so each loads only its own command. */
const LOADERS: Record<CommandName | 'internal', () => Promise<Command>> = {
  daemon: async () => (await import('./commands/daemon.js')).daemonCommand(),
  send: async () => (await import('./commands/send.js')).sendCommand(),
  get: async () => (await import('./commands/get.js')).getCommand(),
  tunnel: async () => (await import('./commands/tunnel.js')).tunnelCommand(),
  status: async () => (await import('./commands/status.js')).statusCommand(),
  transfers: async () => (await import('./commands/transfers.js')).transfersCommand(),
  cancel: async () => (await import('./commands/cancel.js')).cancelCommand(),
  stop: async () => (await import('./commands/stop.js')).stopCommand(),
  service: async () => (await import('./commands/service.js')).serviceCommand(),
  key: async () => (await import('./commands/key.js')).keyCommand(),
  perf: async () => (await import('./commands/perf.js')).perfCommand(),
  ping: async () => (await import('./commands/ping.js')).pingCommand(),
  run: async () => (await import('./commands/run.js')).runCommand(),
  inof: async () => (await import('./commands/inof.js')).inofCommand(),
  lab: async () => (await import('./commands/lab.js')).labCommand(),
  cc: async () => (await import('./commands/cc.js')).ccCommand(),
  doctor: async () => (await import('./commands/doctor.js')).doctorCommand(),
  demo: async () => (await import('./commands/demo.js')).demoCommand(),
  completion: async () => (await import('./commands/completion.js')).completionCommand(wholeProgram),
  dump: async () => (await import('./commands/dump.js')).dumpCommand(),
  internal: async () => (await import('./commands/internal.js')).internalCommand(),
}

const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))

/** Returns the command line's description with all commands loaded. */
export async function wholeProgram(): Promise<Command> {
  const program = await makeProgram(['completion'])
  const others = Object.keys(COMMANDS).filter(name => name !== 'completion') as CommandName[]
  for (const name of others) program.addCommand(await LOADERS[name]())
  styleHelp(program)
  return program
}

/** Returns the command line's description, with the command loaded that `words` name. */
export async function makeProgram(words: readonly string[]): Promise<Command> {
  const program = new Command('weir')
    .usage('COMMAND [options]')
    .description('A RoCEv2-style transport over UDP paced by HPCC++, a software switch, and a bench')
    .version(version)
    .enablePositionalOptions()
    .addHelpText('after', ({ command }) => termList(command, 'Exit codes:', EXIT_CODES))
    .hook('preAction', (_program, command) => refuseEmpty(command))

  // "weir help run" and "weir -- run" need the command run.
  const asked = words.find(word => word !== 'help' && word !== '--') ?? ''
  if (Object.hasOwn(LOADERS, asked)) program.addCommand(await LOADERS[asked as CommandName]())
  else for (const name of Object.keys(COMMANDS)) program.addCommand(commandOf(name as CommandName))
  reportUsage(program)
  styleHelp(program)
  return program
}
