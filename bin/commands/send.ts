import { resolve } from 'node:path'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { parseHostPath, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { type Item, runTransfers, type TransferFlags, withTransferOptions } from './transfer.js'

/** `weir send FILE… HOST[:DIR]` */
export function sendCommand(): Command {
  const command = commandOf('send')
    .argument('<file...>', 'files, then the host, with a folder in its inbox if wanted')
    .action(runSend)
  return withTransferOptions(command)
}

async function runSend(args: string[], flags: TransferFlags): Promise<void> {
  const target = args.pop()!
  if (args.length === 0) {
    const text = `"${target}" is all there is: name at least one file and then the host, as in: weir send FILE HOST`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const expected = 'HOST, HOST:DIR, [IPv6]:DIR or weir://HOST:PORT/DIR is expected last'
  const { host, port, path: directory } = parseHostPath(target, expected, portOption(flags.port))
  const itemOf = (file: string): Item => ({
    file,
    host,
    start: (client, options) => client.send(resolve(file), host, { ...options, port, directory }),
    describe: path => `${file} → ${host}:${path}`,
  })
  await runTransfers(args.map(itemOf), flags)
}
