import { basename } from 'node:path'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { absolutePath } from '../../lib/fs-by-text.js'
import { termList } from '../help-style.js'
import { destinationOf } from './destination.js'
import { namesHost, parseHostPath, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { type Item, runTransfers, type TransferFlags, withTransferOptions } from './transfer.js'

const WHERE = [
  ['nothing', 'here, by their own names'],
  [
    'TO',
    'one file: TO is its new name, or the folder it goes into if there is one; several files: the folder they go into',
  ],
  ['TO/', 'the folder they go into'],
] as const
const NAMES = [
  ['HOST:PATH', 'a path within what the host shares'],
  ['weir://HOST:PORT/PATH', "the same, with the UDP port of the host's daemon"],
  ['[IPv6]:PATH', 'the same for an IPv6 address'],
] as const

/** `weir get HOST:PATH… [TO]` */
export function getCommand(): Command {
  const command = commandOf('get')
    .argument(
      '<source...>',
      'files, as HOST:PATH with the path within what the host shares; then where to write them, here if nothing',
    )
    .action(runGet)
  return withTransferOptions(command).addHelpText(
    'after',
    ({ command }) =>
      `${termList(command, 'How a file is named:', NAMES)}\n${termList(command, 'Where files go on this host (no folder is made):', WHERE)}`,
  )
}

async function runGet(args: string[], flags: TransferFlags): Promise<void> {
  const directory = namesHost(args.at(-1)!) ? '.' : args.pop()!
  if (args.length === 0) {
    const text = `"${directory}" names no host: name at least one file as HOST:PATH, as in: weir get HOST:PATH DIR`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  await runTransfers(
    args.map(source => itemOf(source, directory, args.length, portOption(flags.port))),
    flags,
  )
}

function itemOf(source: string, target: string, files: number, givenPort: number): Item {
  const expected = 'HOST:PATH, [IPv6]:PATH or weir://HOST:PORT/PATH is expected'
  const { host, port, path: file } = parseHostPath(source, expected, givenPort)
  if (file === '') {
    throw new WeirError('WEIR_BAD_ARGUMENT', `"${source}" names no file: HOST:PATH is expected`)
  }
  return {
    file,
    host,
    start: (client, options) => {
      const { directory, ...names } = destinationOf(target, basename(file), files)
      return client.get(host, file, { ...options, ...names, port, directory: absolutePath(directory || '.') })
    },
    describe: path => `${host}:${file} → ${path}`,
  }
}
