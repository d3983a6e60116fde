import { Argument, type Command } from 'commander'
import { commandOf } from './names.js'

/** Shells, and who writes the script for each. */
const SHELLS = ['bash', 'zsh', 'fish'] as const

/** `weir completion` */
export function completionCommand(): Command {
  return commandOf('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      // Both load every command, which the command line otherwise avoids.
      const { completionScript } = await import('./completion-scripts.js')
      const { wholeProgram } = await import('../program.js')
      process.stdout.write(completionScript(shell, await wholeProgram()))
    })
}
