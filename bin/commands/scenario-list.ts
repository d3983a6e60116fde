import type { Command } from 'commander'
import { bundledScenarios } from '../../lib/scenario/bundled-scenarios.js'

/** Gives a command that takes a scenario the option `--list`, which prints those that come with the package, like `--help`. */
export function withScenarioList(command: Command): Command {
  return command
    .option('--list', 'list the scenarios that come with weir: each can be named instead of a file')
    .on('option:list', () => {
      process.stdout.write(`${scenarioList()}\n`)
      process.exit()
    })
}

function scenarioList(): string {
  const all = bundledScenarios()
  const width = Math.max(...all.map(({ name }) => name.length))
  return all.map(({ name, about }) => `${name.padEnd(width)}  ${about}`).join('\n')
}
