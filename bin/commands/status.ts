import type { Command } from 'commander'
import { connectDaemon, type StatusReply } from '../../lib/client/daemon-client.js'
import { commandOf } from './names.js'
import { withSocketOption } from './socket-option.js'
import { statusText } from './status-display.js'
import { watch } from './watch.js'

interface StatusFlags {
  socket: string
  json?: boolean
  watch?: boolean
}

/** Output of `--json`: the daemon's answer, its lists last. Rates and windows without a bound are null. */
type StatusReport = StatusReply

/** `weir status` */
export function statusCommand(): Command {
  const command = commandOf('status')
    .option('--json', 'print everything as JSON, counters that are 0 too; with --watch, one line a second')
    .option(
      '--watch',
      'print it again every second, until Ctrl-C; in a pipe, whenever it has changed, or after 10 seconds',
    )
  return withSocketOption(command).action(runStatus)
}

async function runStatus({ socket, json = false, watch: again = false }: StatusFlags): Promise<void> {
  const client = await connectDaemon(socket)
  const ask = async (): Promise<StatusReport> => {
    const { connections, drops, ...about } = await client.status()
    return { ...about, connections, drops }
  }
  try {
    if (again) await watch({ ask, json, text: statusText, changing: withoutClock })
    else {
      const status = await ask()
      process.stdout.write(json ? `${JSON.stringify(status, null, 2)}\n` : statusText(status))
    }
  } finally {
    client.close()
  }
}

/** What differs from second to second although nothing happens. */
function withoutClock(status: StatusReport): StatusReport {
  return { ...status, uptimeSeconds: 0, residentBytes: 0 }
}
