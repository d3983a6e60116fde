import type { Command } from 'commander'
import { describeCcOptions } from '../../lib/cc/parse-options.js'
import { describePaths } from '../../lib/cc/path-options.js'
import { describeTelemetry } from '../../lib/cc/telemetry-options.js'

/** Takes `--cc-option`, `--telemetry` and `--paths`, all repeatable, and lists all that they may say below the command's help. */
export function addCongestionFlags(command: Command): Command {
  return command
    .option(
      '--cc-option <name=value>',
      'constant of the congestion control, as listed below (repeatable)',
      collect,
      [],
    )
    .option(
      '--telemetry <name=value>',
      'how telemetry is collected and brought back, as listed below (repeatable)',
      collect,
      [],
    )
    .option(
      '--paths <name=value>',
      'how the paths of flows are chosen, and flows admitted, as listed below (repeatable)',
      collect,
      [],
    )
    .addHelpText(
      'after',
      () =>
        `\nCongestion control, --cc-option (sections of draft-miao-rtgwg-hpccplus, draft-02):\n${indented(describeCcOptions())}` +
        `\nTelemetry, --telemetry (draft-01 is draft-pan-tsvwg-hpccplus-01):\n${indented(describeTelemetry())}` +
        `\nPaths, --paths:\n${indented(describePaths())}`,
    )
}

function collect(value: string, before: string[]): string[] {
  return before.concat(value)
}

function indented(lines: readonly string[]): string {
  return lines.map(line => `  ${line}\n`).join('')
}
