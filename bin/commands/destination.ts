import { basename, dirname } from 'node:path'

/** Where one of the files of a command line goes, as the daemon is asked for it. */
interface Destination {
  directory: string
  /** '' = the file's own. */
  name: string
  /** Its name if there is a folder `name`; '' = there is no `name`. */
  nameInFolder: string
}

/**
 * As cp and scp have it: one file and a path that does not end with a slash give the file that name, unless a folder is there, which
 * only its owner knows. Several files, or a slash at its end, make the path a folder.
 *
 * @param path '' = the folder that is meant if none is named
 * @param ownName of the file; @param files of the command line
 */
export function destinationOf(path: string, ownName: string, files: number): Destination {
  const isFolder = files > 1 || path === '' || /(^|\/)\.{0,2}$/.test(path)
  if (isFolder) return { directory: path, name: '', nameInFolder: '' }
  const above = dirname(path)
  return { directory: above === '.' ? '' : above, name: basename(path), nameInFolder: ownName }
}
