import { basename, dirname } from 'node:path'

/** The destination of one of the files of a command line, in the form of the daemon's request. */
interface Destination {
  directory: string
  /** '' = the file's own name. */
  name: string
  /** The file's name if `name` is a folder. '' = `name` is empty. */
  nameInFolder: string
}

/**
 * Returns the destination by the rules of cp and scp. A single file gets the name in a path that does not end
 * with a slash. If a folder of that name exists, which only its host knows, the file goes there. With several
 * files, or with a slash at its end, the path is a folder.
 *
 * @param path '' = the default folder
 * @param ownName of the file
 * @param files number of files on the command line
 */
export function destinationOf(path: string, ownName: string, files: number): Destination {
  const isFolder = files > 1 || path === '' || /(^|\/)\.{0,2}$/.test(path)
  if (isFolder) return { directory: path, name: '', nameInFolder: '' }
  const above = dirname(path)
  return { directory: above === '.' ? '' : above, name: basename(path), nameInFolder: ownName }
}
