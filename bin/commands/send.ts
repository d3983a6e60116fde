import { statSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { fsPath } from '../../lib/byte-text.js'
import { WeirError } from '../../lib/errors.js'
import { absolutePath } from '../../lib/fs-by-text.js'
import { isContents } from '../../lib/transfer/protocol/wishes.js'
import { termList } from '../help-style.js'
import { Deletion } from './deletion.js'
import { destinationOf } from './destination.js'
import { type HostPath, parseHostPath, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { checkPipe, PIPE } from './pipe.js'
import { isTooOld, runTransfers, withTransferOptions } from './transfer.js'
import type { Item } from './transfer-item.js'
import { hasFolderOptions, hasTreeOptions, type TreeFlags, whichOf, withTreeOptions } from './tree-flags.js'

const WHERE = [
  ['HOST', 'the inbox, by their own names'],
  [
    'HOST:PATH',
    'one file: PATH is its new name, or the folder it goes into if there is one; a folder, or several files: the folder they go into',
  ],
  ['HOST:PATH/', 'the folder they go into'],
  ['- HOST:PATH', 'standard input, as in tar c . | weir send - HOST:backup.tar: PATH is its name'],
  [
    'HOST:PORT:PATH',
    "the same, with the UDP port of the host's daemon; a path of digits alone is HOST:./PATH",
  ],
  ['[IPv6]:PATH', 'the same for an IPv6 address'],
] as const
const WHERE_HEADING = 'Where files go, below the inbox of the host (folders that are missing are made):'

/** `weir send FILE… HOST[:PATH]` */
export function sendCommand(): Command {
  const command = commandOf('send')
    .argument(
      '<file...>',
      'files and folders (FOLDER/ = what is in it; - = standard input), then the host, with a path in its inbox if wanted',
    )
    .action(runSend)
  return withTreeOptions(withTransferOptions(command)).addHelpText('after', ({ command }) =>
    termList(command, WHERE_HEADING, WHERE),
  )
}

async function runSend(args: string[], flags: TreeFlags): Promise<void> {
  const target = args.pop()!
  if (args.length === 0) {
    const text = `"${target}" is all there is: name at least one file and then the host, as in: weir send FILE HOST`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const expected = 'HOST, HOST:DIR, HOST:PORT:DIR or [IPv6]:DIR is expected last'
  const where = parseHostPath(target, expected, portOption(flags.port))
  if (args.includes(PIPE)) {
    await runTransfers([pipeItem(args, where, flags)], flags)
    return
  }
  const single = args.map(file => fileItem(file, args.length, where))
  const tree = treeItem(args, where, flags)
  if (args.some(isFolder)) await runTransfers([tree], flags)
  else if (hasFolderOptions(flags)) {
    throw new WeirError('WEIR_BAD_ARGUMENT', '--exclude, --include, --links and --delete are for folders')
  } else if (hasTreeOptions(flags) && args.length === 1) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      '--dry-run and --checksum are for folders, and for several files',
    )
  } else if (args.length === 1) await runTransfers(single, flags)
  else
    await runTransfers(
      [{ ...tree, instead: error => (isTooOld(error) && !hasTreeOptions(flags) ? single : null) }],
      flags,
    )
}

/** What standard input brings. */
function pipeItem(args: readonly string[], { host, port, path }: HostPath, flags: TreeFlags): Item {
  checkPipe(args, flags)
  const { directory, name } = destinationOf(path, '', 1)
  if (name === '') {
    const text = `what comes from standard input has no name of its own: write one behind the host, as in ${host}:${path}NAME`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  return {
    file: PIPE,
    host,
    start: (client, { retries: _none, ...options }) =>
      client.sendStream(process.stdin, host, name, { ...options, directory, port }),
    describe: there => `standard input → ${host}:${there}`,
  }
}

/** One file, over a connection of its own. */
function fileItem(file: string, files: number, { host, port, path }: HostPath): Item {
  return {
    file,
    host,
    start: (client, options) => {
      const where = destinationOf(path, basename(file), files)
      return client.send(absolutePath(file), host, { ...options, ...where, port })
    },
    describe: there => `${file} → ${host}:${there}`,
  }
}

/** All of them over one connection. */
function treeItem(files: readonly string[], { host, port, path }: HostPath, flags: TreeFlags): Item {
  const roots = files.map(file => ({
    path: absolutePath(file),
    name: isContents(file) ? '' : basename(file),
  }))
  const isDryRun = flags.dryRun === true
  const what = files.length === 1 ? files[0]! : `${files.length} files and folders`
  const which = { directory: path, port, ...whichOf(flags) }
  const deletion = new Deletion(flags, `${host}:${path}`)
  return {
    file: what,
    host,
    isDryRun,
    confirm: (client, options) =>
      deletion.confirm(
        () => client.sendTree(roots, host, { ...options, ...which, dryRun: true }),
        options.signal,
      ),
    start: (client, options) =>
      client.sendTree(roots, host, { ...options, ...which, deleteMost: deletion.deleteMost }),
    describe: there => `${what} → ${host}:${there}`,
  }
}

/** What cannot be looked at is no folder: the daemon says why it cannot be read. */
function isFolder(file: string): boolean {
  return statSync(fsPath(file), { throwIfNoEntry: false })?.isDirectory() ?? false
}
