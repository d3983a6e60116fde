import { Argument, type Command } from 'commander'
import { commandOf } from './names.js'

/** Shells, and who writes the script for each. */
const SHELLS = ['bash', 'zsh', 'fish'] as const

/**
 * `weir completion`
 * @param wholeProgram loads every command, which the command line otherwise avoids
 */
export function completionCommand(wholeProgram: () => Promise<Command>): Command {
  return commandOf('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { completionScript } = await import('./completion-scripts.js')
      process.stdout.write(completionScript(shell, await wholeProgram()))
    })
}
