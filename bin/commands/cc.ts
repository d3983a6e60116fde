import { Command } from 'commander'
import { describeController, describeControllers } from '../../lib/cc/describe-controller.js'
import { columnsMost } from '../../lib/text-width.js'
import { controllerJson, controllersText, controllerText } from './cc-display.js'
import { commandOf } from './names.js'

/** `weir cc …` */
export function ccCommand(): Command {
  return commandOf('cc').addCommand(listCommand()).addCommand(showCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('a line for each congestion controller')
    .option('--json', 'print it as JSON: an array of what "weir cc show --json" prints')
    .action(({ json }: { json?: boolean }) => {
      const all = describeControllers()
      print(json ? jsonText(all.map(controllerJson)) : controllersText(all, columnsMost(process.stdout)))
    })
}

function showCommand(): Command {
  return new Command('show')
    .usage('[options] NAME')
    .description('what a controller needs, how it hears of the path, where it works, its constants')
    .argument('<name>', 'one of "weir cc list"')
    .option('--json', 'print it as JSON: its fields are in docs/controllers')
    .action((name: string, { json }: { json?: boolean }) => {
      const one = describeController(name)
      print(json ? jsonText(controllerJson(one)) : controllerText(one, columnsMost(process.stdout)))
    })
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function print(text: string): void {
  process.stdout.write(text)
}
