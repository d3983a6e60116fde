import type { Command } from 'commander'
import { describeCcOptions } from '../../lib/cc/parse-options.js'
import { describePaths } from '../../lib/cc/path-settings.js'
import { describeTelemetry } from '../../lib/cc/telemetry-settings.js'

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
    .addHelpText(
      'after',
      ({ command }) =>
        `\nCongestion control, --cc-option (of draft-miao-rtgwg-hpccplus, draft-02):\n${listed(describeCcOptions(), command)}` +
        `\nTelemetry, --telemetry (draft-01 is draft-pan-tsvwg-hpccplus-01):\n${listed(describeTelemetry(), command)}` +
        `\nPaths, --paths:\n${listed(describePaths(), command)}`,
    )
}

function collect(value: string, before: string[] = []): string[] {
  return before.concat(value)
}

/** Formats items as indented lines of the terminal's width. The rest of a longer item is indented further. */
function listed(items: readonly string[], command: Command): string {
  const help = command.createHelp()
  const columns = command.configureOutput().getOutHelpWidth?.() ?? 80
  return items
    .map(item => {
      const indent = ' '.repeat(2 + item.search(/\S/))
      const hang = `\n${indent}    `
      return `${indent}${help.boxWrap(item.trim(), columns - hang.length).replaceAll('\n', hang)}\n`
    })
    .join('')
}
