import type { Command } from 'commander'
import { connectDaemon, type StatusReply } from '../../lib/client/daemon-client.js'
import { commandOf } from './names.js'
import { withSocketOption } from './socket-option.js'
import { statusText } from './status-display.js'

interface StatusFlags {
  socket: string
  json?: boolean
}

/** Output of `--json`: the daemon's answer, its lists last. Rates and windows without a bound are null. */
type StatusReport = StatusReply

/** `weir status` */
export function statusCommand(): Command {
  const command = commandOf('status').option('--json', 'print everything as JSON, counters that are 0 too')
  return withSocketOption(command).action(runStatus)
}

async function runStatus({ socket, json }: StatusFlags): Promise<void> {
  const client = await connectDaemon(socket)
  try {
    const { connections, drops, ...about } = await client.status()
    const status: StatusReport = { ...about, connections, drops }
    process.stdout.write(json ? `${JSON.stringify(status, null, 2)}\n` : statusText(status))
  } finally {
    client.close()
  }
}
