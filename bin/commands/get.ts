import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { parseHostPath } from './host-path.js'
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
  const directory = isRemote(args.at(-1)!) ? '.' : args.pop()!
  if (args.length === 0) {
    const text = `"${directory}" names no host: name at least one file as HOST:PATH, as in: weir get HOST:PATH DIR`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  await runTransfers(
    args.map(source => itemOf(source, directory)),
    flags,
  )
}

/** As scp has it: a colon before any slash makes a host. `./a:b` is a folder. */
function isRemote(text: string): boolean {
  return /^(?:\[[^\]]*\]|[^/:]*):/.test(text)
}

function itemOf(source: string, directory: string): Item {
  const { host, path: file } = parseHostPath(source, 'HOST:PATH or [IPv6]:PATH is expected')
  if (file === '') {
    throw new WeirError('WEIR_BAD_ARGUMENT', `"${source}" names no file: HOST:PATH is expected`)
  }
  return {
    file,
    host,
    start: (client, options) => client.get(host, file, { ...options, directory }),
    describe: path => `${host}:${file} → ${path}`,
  }
}
