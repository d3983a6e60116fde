import type { Command } from 'commander'
import { connectDaemon, type TransferInfo } from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { printable } from '../../lib/printable.js'
import { commandOf } from './names.js'
import { withSocketOption } from './socket-option.js'

/** `weir cancel` */
export function cancelCommand(): Command {
  const command = commandOf('cancel').argument(
    '<id...>',
    'of "weir transfers", or its beginning if no other transfer begins so',
  )
  return withSocketOption(command).action(runCancel)
}

/** Cancels all transfers that it finds, and reports the others as the error. */
async function runCancel(wanted: string[], { socket }: { socket: string }): Promise<void> {
  const client = await connectDaemon(socket)
  const wrong: string[] = []
  try {
    const transfers = await client.transfers()
    for (const id of new Set(wanted)) {
      const found = findTransfers(id, transfers)
      if (found.length !== 1) wrong.push(whyNot(id, found))
      else if (await client.cancel(found[0]!.transferId)) process.stdout.write(cancelledText(found[0]!))
      else wrong.push(`${found[0]!.transferId} has ended by itself`)
    }
  } finally {
    client.close()
  }
  if (wrong.length > 0) throw new WeirError('WEIR_NO_TRANSFER', `${wrong.join('; ')}: see weir transfers`)
}

/** Returns the transfer of that id, or else those whose ids begin with it. */
export function findTransfers(id: string, transfers: readonly TransferInfo[]): TransferInfo[] {
  const exact = transfers.filter(({ transferId }) => transferId === id)
  return exact.length > 0 ? exact : transfers.filter(({ transferId }) => transferId.startsWith(id))
}

function whyNot(id: string, found: readonly TransferInfo[]): string {
  if (found.length === 0) return `there is no transfer "${id}"`
  return `"${id}" is the beginning of ${found.map(({ transferId }) => transferId).join(', ')}`
}

/** What has become of a transfer that ran. */
export function cancelledText({ transferId, direction, name, peer, progress }: TransferInfo): string {
  const way = direction === 'send' || direction === 'serve' ? 'to' : 'from'
  const share = progress && progress.totalBytes > 0 ? progress.bytes / progress.totalBytes : 0
  const isConnected = progress?.state !== 'waiting' && progress?.state !== 'connecting'
  const keeps = direction === 'send' && !isConnected && share > 0 ? '; the part that arrived stays there' : ''
  return `cancelled ${transferId}: ${printable(name) || 'a file'} ${way} ${printable(peer)}, ${Math.floor(share * 100)}% done${keeps}\n`
}
