import type { Command } from 'commander'
import { ccNames } from '../../lib/cc/catalogue.js'
import { describeConflicts } from '../../lib/cc/conflicts.js'
import { describeCcOptions } from '../../lib/cc/parse-options.js'
import { describePaths } from '../../lib/cc/path-settings.js'
import { describeTelemetry } from '../../lib/cc/telemetry-settings.js'
import type { CommandOption } from '../../lib/options/option.js'
import { fold } from '../../lib/scenario/result/fold.js'
import { columnsOfHelp } from '../help-style.js'

/** `--cc`, of the controllers that there are now. @param rest default, or what holds without it */
export function ccOption(doc: string, rest: { default?: string; usual?: string }) {
  const { usual, default: standard } = rest
  return {
    name: 'cc',
    kind: 'choice',
    choices: ccNames(),
    doc,
    command: {
      flag: '--cc <name>',
      ...(standard !== undefined && { default: standard }),
      ...(usual !== undefined && { usual }),
    },
  } as const satisfies CommandOption
}

/**
 * Adds `--cc-option`, `--telemetry` and `--paths`, all repeatable, and lists their values below the command's
 * help.
 */
export function addCongestionFlags(command: Command): Command {
  return command
    .option(
      '--cc-option <name=value>',
      'constant of the congestion control, from the list below (repeatable)',
      collect,
    )
    .option(
      '--telemetry <name=value>',
      'how telemetry is collected and returned, from the list below (repeatable)',
      collect,
    )
    .option(
      '--paths <name=value>',
      'how flows choose paths and are admitted, from the list below (repeatable)',
      collect,
    )
    .addHelpText('after', ({ command }) => congestionHelp(command))
}

function congestionHelp(command: Command): string {
  const lists: [heading: string, lines: readonly string[]][] = [
    ['Congestion control, --cc-option (of draft-miao-rtgwg-hpccplus, draft-02):', describeCcOptions()],
    ['Telemetry, --telemetry (draft-01 is draft-pan-tsvwg-hpccplus-01):', describeTelemetry()],
    ['Paths, --paths:', describePaths()],
    ['These have no effect, and are refused:', describeConflicts()],
  ]
  const columns = columnsOfHelp(command)
  return lists.map(([heading, lines]) => `\n${fold(heading, columns, 2)}\n${listed(lines, columns)}`).join('')
}

function collect(value: string, before: string[] = []): string[] {
  return before.concat(value)
}

/** Indented, in lines of the terminal's width; what does not fit in one hangs below it. */
function listed(items: readonly string[], columns: number): string {
  return items
    .map(item => {
      const indent = 2 + item.search(/\S/)
      return `${fold(' '.repeat(indent) + item.trim(), columns, indent + 4)}\n`
    })
    .join('')
}
