import type { Command } from 'commander'
import { bundledScenarios } from '../../lib/scenario/read/bundled-scenarios.js'
import { fold } from '../../lib/scenario/result/fold.js'
import { columnsMost } from '../../lib/text-width.js'

/** Adds the option `--list`, which prints the scenarios of the package, and exits like `--help`. */
export function withScenarioList(command: Command): Command {
  return command
    .option('--list', 'list the scenarios that come with weir: each can be named instead of a file')
    .on('option:list', () => {
      process.stdout.write(`${scenarioList(columnsMost(process.stdout))}\n`)
      process.exit()
    })
}

/** @param columns of the terminal; if there are too few, each description is below its name */
export function scenarioList(columns: number): string {
  const all = bundledScenarios()
  const width = Math.max(...all.map(({ name }) => name.length))
  const isBeside = all.every(({ about }) => width + 2 + about.length <= columns)
  return all
    .map(({ name, about }) =>
      isBeside ? `${name.padEnd(width)}  ${about}` : `${name}\n${fold(`  ${about}`, columns, 2)}`,
    )
    .join('\n')
}
