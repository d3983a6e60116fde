import { basename } from 'node:path'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { absolutePath } from '../../lib/fs-by-text.js'
import { isGlob } from '../../lib/transfer/protocol/glob.js'
import { isContents } from '../../lib/transfer/protocol/wishes.js'
import { termList } from '../help-style.js'
import { Deletion } from './deletion.js'
import { destinationOf } from './destination.js'
import { type HostPath, namesHost, parseHostPath, portOption } from './host-path.js'
import { commandOf } from './names.js'
import { checkPipe, PIPE } from './pipe.js'
import { isTooOld, runTransfers, withTransferOptions } from './transfer.js'
import type { Item } from './transfer-item.js'
import { hasTreeOptions, type TreeFlags, whichOf, withTreeOptions } from './tree-flags.js'

const WHERE = [
  ['nothing', 'here, by their own names'],
  [
    'TO',
    'one file: TO is its new name, or the folder it goes into if there is one; a folder, or several files: the folder they go into, made if missing',
  ],
  ['TO/', 'the folder they go into'],
  ['-', 'one file: standard output, as in weir get HOST:log - | grep error'],
] as const
const NAMES = [
  ['HOST:PATH', 'a file or folder within what the host shares'],
  ['HOST:PATH/', 'what is in the folder; HOST:. is all that is shared'],
  ["'HOST:*.csv'", 'what *, ? and [abc] match there, in quotes'],
  ['HOST:PORT:PATH', "the same, with the UDP port of the host's daemon"],
  ['[IPv6]:PATH', 'the same for an IPv6 address'],
] as const

/** `weir get HOST:PATH… [TO]` */
export function getCommand(): Command {
  const command = commandOf('get')
    .argument(
      '<source...>',
      'files and folders, as HOST:PATH with the path within what the host shares; then where to write them (- = standard output), here if nothing',
    )
    .action(runGet)
  return withTreeOptions(withTransferOptions(command)).addHelpText(
    'after',
    ({ command }) =>
      `${termList(command, 'How files and folders are named:', NAMES)}\n${termList(command, 'Where they go on this host:', WHERE)}`,
  )
}

async function runGet(args: string[], flags: TreeFlags): Promise<void> {
  const target = namesHost(args.at(-1)!) ? '.' : args.pop()!
  if (args.length === 0) {
    const text = `"${target}" names no host: name at least one file as HOST:PATH, as in: weir get HOST:PATH DIR`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const sources = args.map(source => sourceOf(source, portOption(flags.port)))
  if (target === PIPE) {
    await runTransfers([pipeItem(sources, flags)], flags, process.stderr)
    return
  }
  const groups = byHost(sources)
  if (flags.delete && groups.length > 1)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      '--delete is for what one host has: get from the hosts one by one',
    )
  const items = groups.map(group => itemOf(group, target, sources.length, flags))
  await runTransfers(items, flags)
}

/** One file, to standard output. */
function pipeItem(sources: readonly HostPath[], flags: TreeFlags): Item {
  checkPipe(sources, flags)
  if (flags.overwrite) throw new WeirError('WEIR_BAD_ARGUMENT', '--overwrite is for files, not for -')
  const [{ host, port, path }] = sources as [HostPath]
  return {
    file: path,
    host,
    start: (client, { retries: _none, overwrite: _nothing, ...options }) =>
      client.getStream(host, path, process.stdout, { ...options, port }),
    describe: () => `${host}:${path} → standard output`,
  }
}

function sourceOf(text: string, givenPort: number): HostPath {
  const expected = 'HOST:PATH, HOST:PORT:PATH or [IPv6]:PATH is expected'
  const source = parseHostPath(text, expected, givenPort)
  if (source.path !== '') return source
  const port = /:(\d{1,5})$/.exec(text)?.[1]
  if (port !== undefined && port === String(source.port)) {
    const named = text.slice(0, -port.length)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `"${text}" names a host and its port, no file: ${named}${port}:PATH is expected, or ${named}./${port} for a file of that name`,
    )
  }
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `"${text}" names no file: HOST:PATH is expected, or HOST:. for all that is shared`,
  )
}

/** What one host has moves over one connection. */
function byHost(sources: readonly HostPath[]): HostPath[][] {
  const groups = new Map<string, HostPath[]>()
  for (const source of sources) {
    const key = `${source.port} ${source.host}`
    groups.set(key, [...(groups.get(key) ?? []), source])
  }
  return [...groups.values()]
}

/** @param count of the sources of all hosts */
function itemOf(group: readonly HostPath[], target: string, count: number, flags: TreeFlags): Item {
  const tree = treeItem(group, target, flags)
  const files = group.map(source => fileItem(source, target, count))
  const [{ path }] = group as [HostPath]
  if (group.length > 1)
    return { ...tree, instead: error => (isTooOld(error) && !hasTreeOptions(flags) ? files : null) }
  if (isContents(path) || hasTreeOptions(flags)) return tree
  // Only the host knows what it is.
  const [file] = files as [Item]
  const instead = (error: unknown) => {
    if (!isTree(error, path)) return null
    // An older host says better what it cannot do.
    const giveUp = { ...file, start: async () => Promise.reject(error) }
    return [{ ...tree, instead: (second: unknown) => (isTooOld(second) ? [giveUp] : null) }]
  }
  return { ...file, instead }
}

/** The host has a folder by that name, or no file of that name, which may be a glob. */
function isTree(error: unknown, path: string): boolean {
  const { code, message } = error as WeirError
  return code === 'WEIR_NO_FILE' && (message.includes('is a directory') || isGlob(path))
}

/** One file, over a connection of its own. */
function fileItem({ host, port, path: file }: HostPath, target: string, files: number): Item {
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

/** All of them over one connection. */
function treeItem(sources: readonly HostPath[], target: string, flags: TreeFlags): Item {
  const [{ host, port, path }] = sources as [HostPath]
  const paths = sources.map(source => source.path)
  const isDryRun = flags.dryRun === true
  const what = paths.length === 1 ? path : `${paths.length} files and folders`
  const which = { directory: absolutePath(target), port, ...whichOf(flags) }
  const deletion = new Deletion(flags, which.directory)
  return {
    file: what,
    host,
    isDryRun,
    confirm: (client, options) =>
      deletion.confirm(
        () => client.getTree(host, paths, { ...options, ...which, dryRun: true }),
        options.signal,
      ),
    start: (client, options) =>
      client.getTree(host, paths, { ...options, ...which, deleteMost: deletion.deleteMost }),
    describe: to => `${host}:${what} → ${to}`,
  }
}
