import { basename } from 'node:path'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { absolutePath } from '../../lib/fs-by-text.js'
import { termList } from '../help-style.js'
import { destinationOf } from './destination.js'
import { parseHostPath, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { type Item, runTransfers, type TransferFlags, withTransferOptions } from './transfer.js'

const WHERE = [
  ['HOST', 'the inbox, by their own names'],
  [
    'HOST:PATH',
    'one file: PATH is its new name, or the folder it goes into if there is one; several files: the folder they go into',
  ],
  ['HOST:PATH/', 'the folder they go into'],
  ['weir://HOST:PORT/PATH', "the same, with the UDP port of the host's daemon"],
  ['[IPv6]:PATH', 'the same for an IPv6 address'],
] as const
const WHERE_HEADING = 'Where files go, below the inbox of the host (folders that are missing are made):'

/** `weir send FILE… HOST[:PATH]` */
export function sendCommand(): Command {
  const command = commandOf('send')
    .argument('<file...>', 'files, then the host, with a path in its inbox if wanted')
    .action(runSend)
  return withTransferOptions(command).addHelpText('after', ({ command }) =>
    termList(command, WHERE_HEADING, WHERE),
  )
}

async function runSend(args: string[], flags: TransferFlags): Promise<void> {
  const target = args.pop()!
  if (args.length === 0) {
    const text = `"${target}" is all there is: name at least one file and then the host, as in: weir send FILE HOST`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const expected = 'HOST, HOST:DIR, [IPv6]:DIR or weir://HOST:PORT/DIR is expected last'
  const { host, port, path } = parseHostPath(target, expected, portOption(flags.port))
  const itemOf = (file: string): Item => ({
    file,
    host,
    start: (client, options) => {
      const where = destinationOf(path, basename(file), args.length)
      return client.send(absolutePath(file), host, { ...options, ...where, port })
    },
    describe: there => `${file} → ${host}:${there}`,
  })
  await runTransfers(args.map(itemOf), flags)
}
