import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import type { EndSignal } from '../../lib/end-signals.js'
import { cancelOnSignal } from '../cancel-on-signal.js'
import { nobodyReads } from '../closed-pipe.js'
import { signalExitCode } from '../failure.js'
import { commandOf } from './names.js'
import { withSocketOption } from './socket-option.js'
import { type TransfersReport, transfersText } from './transfers-display.js'

interface TransfersFlags {
  socket: string
  json?: boolean
  watch?: boolean
}

const EVERY_MS = 1000
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/** `weir transfers` */
export function transfersCommand(): Command {
  const command = commandOf('transfers')
    .option('--json', 'print them as JSON; with --watch, one line a second')
    .option('--watch', 'print them again every second, until Ctrl-C')
  return withSocketOption(command).action(runTransfers)
}

async function runTransfers({ socket, json = false, watch = false }: TransfersFlags): Promise<void> {
  const client = await connectDaemon(socket)
  try {
    if (watch) await watchTransfers(client, json)
    else process.stdout.write(await printed(client, json))
  } finally {
    client.close()
  }
}

async function printed(client: DaemonClient, json: boolean): Promise<string> {
  const transfers = await client.transfers()
  const report: TransfersReport = { transfers }
  return json ? `${JSON.stringify(report, null, 2)}\n` : transfersText(transfers)
}

/** A terminal shows one changing table, a pipe gets one table after the other. */
async function watchTransfers(client: DaemonClient, json: boolean): Promise<void> {
  const cancelled = new AbortController()
  const { signal } = cancelled
  const removeHandlers = cancelOnSignal(cancelled)
  const inPlace = process.stdout.isTTY && !json
  let above = 0
  if (inPlace) process.stdout.write(HIDE_CURSOR)
  try {
    while (!signal.aborted) {
      const transfers = await client.transfers()
      const text = json ? `${JSON.stringify({ transfers })}\n` : transfersText(transfers)
      process.stdout.write(inPlace && above > 0 ? `\x1b[${above}A\r\x1b[J${text}` : text)
      if (!inPlace && !json) process.stdout.write('\n')
      above = text.split('\n').length - 1
      await sleep(EVERY_MS, undefined, { signal }).catch(() => {})
    }
    if (!nobodyReads()) process.exitCode = signalExitCode(signal.reason as EndSignal)
  } finally {
    if (inPlace) process.stdout.write(SHOW_CURSOR)
    removeHandlers()
  }
}
