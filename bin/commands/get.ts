import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { namesHost, parseHostPath, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { type Item, runTransfers, type TransferFlags, withTransferOptions } from './transfer.js'

/** `weir get HOST:PATH… [DIR]` */
export function getCommand(): Command {
  const command = commandOf('get')
    .argument(
      '<source...>',
      'files, as HOST:PATH with the path within what the host shares; then the folder to write to, here if none',
    )
    .action(runGet)
  return withTransferOptions(command)
}

async function runGet(args: string[], flags: TransferFlags): Promise<void> {
  const directory = namesHost(args.at(-1)!) ? '.' : args.pop()!
  if (args.length === 0) {
    const text = `"${directory}" names no host: name at least one file as HOST:PATH, as in: weir get HOST:PATH DIR`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  await runTransfers(
    args.map(source => itemOf(source, directory, portOption(flags.port))),
    flags,
  )
}

function itemOf(source: string, directory: string, givenPort: number): Item {
  const expected = 'HOST:PATH, [IPv6]:PATH or weir://HOST:PORT/PATH is expected'
  const { host, port, path: file } = parseHostPath(source, expected, givenPort)
  if (file === '') {
    throw new WeirError('WEIR_BAD_ARGUMENT', `"${source}" names no file: HOST:PATH is expected`)
  }
  return {
    file,
    host,
    start: (client, options) => client.get(host, file, { ...options, port, directory }),
    describe: path => `${host}:${file} → ${path}`,
  }
}
