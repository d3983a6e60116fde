import type { Command } from 'commander'
import { socketPathOfClient } from '../../lib/control/socket-path.js'

/** Adds `--socket`. */
export function withSocketOption(command: Command): Command {
  return command.option('--socket <path>', 'control socket of the daemon on this host', socketPathOfClient())
}
