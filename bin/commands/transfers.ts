import type { Command } from 'commander'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { commandOf } from './names.js'
import { withSocketOption } from './socket-option.js'
import { type TransfersReport, transfersText } from './transfers-display.js'
import { watch } from './watch.js'

interface TransfersFlags {
  socket: string
  json?: boolean
  watch?: boolean
}

/** `weir transfers` */
export function transfersCommand(): Command {
  const command = commandOf('transfers')
    .option('--json', 'print them as JSON; with --watch, one line a second')
    .option(
      '--watch',
      'print them again every second, until Ctrl-C; in a pipe, whenever they have changed, or after 10 seconds',
    )
  return withSocketOption(command).action(runTransfers)
}

async function runTransfers({ socket, json = false, watch: again = false }: TransfersFlags): Promise<void> {
  const client = await connectDaemon(socket)
  const ask = async (): Promise<TransfersReport> => ({ transfers: await client.transfers() })
  const text = ({ transfers }: TransfersReport, columns?: number, rows?: number) =>
    transfersText(transfers, columns, rows)
  try {
    if (again) await watch({ ask, json, text })
    else {
      const report = await ask()
      process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : text(report))
    }
  } finally {
    client.close()
  }
}
