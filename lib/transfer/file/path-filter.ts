/**
 * Which paths of a tree are sent, by globs. A glob with a slash is for paths from the folder that was named on, one without for names at any
 * depth; a slash at its end means folders alone.
 */
import picomatch from 'picomatch'
import { WeirError } from '../../errors.js'
import { pathMatcher } from '../protocol/glob.js'

/** Whether a path is sent, or a glob matches it. */
export type Admits = (path: string, isFolder: boolean) => boolean

/** What a glob means for names and paths. Throws if it means nothing. */
type Compile = (glob: string) => (path: string) => boolean

/** Globs of a command, and bytes of one: matching costs time for each file. */
const GLOBS_MAX = 100
const GLOB_BYTES_MAX = 1000

/**
 * A path is left out if a glob of `exclude` matches it, unless one of `include` does. With `include` alone only files that it matches
 * are sent. Throws WEIR_BAD_ARGUMENT.
 */
export function pathFilter(
  exclude: readonly string[],
  include: readonly string[],
  compile: Compile = byPicomatch,
): Admits {
  if (exclude.length + include.length > GLOBS_MAX) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `more than ${GLOBS_MAX} globs: give fewer, or name folders`)
  }
  const [out, back] = [exclude, include].map(globs => globs.map(glob => globOf(glob, compile))) as [
    Admits[],
    Admits[],
  ]
  const isOnly = out.length === 0 && back.length > 0
  return (path, isFolder) => {
    if (back.some(matches => matches(path, isFolder))) return true
    if (isOnly) return isFolder || isBelow(path, back)
    return !out.some(matches => matches(path, isFolder))
  }
}

/** The same by globs of another host, whose cost is bounded: see glob.ts. */
export function foreignPathFilter(exclude: readonly string[], include: readonly string[]): Admits {
  return pathFilter(exclude, include, pathMatcher)
}

function byPicomatch(glob: string): (path: string) => boolean {
  return picomatch(glob, { dot: true })
}

/** All that is in a folder that a glob matches. */
function isBelow(path: string, globs: readonly Admits[]): boolean {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    if (globs.some(matches => matches(path.slice(0, at), true))) return true
  }
  return false
}

function globOf(glob: string, compile: Compile): Admits {
  if (glob === '' || glob === '/' || glob.length > GLOB_BYTES_MAX) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `a glob has 1 to ${GLOB_BYTES_MAX} characters`)
  }
  const forFolders = glob.endsWith('/')
  const bare = forFolders ? glob.slice(0, -1) : glob
  const hasSlash = bare.includes('/')
  if (
    bare
      .replace(/^\.?\//, '')
      .split('/')
      .some(part => part === '' || part === '.' || part === '..')
  ) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `${glob} matches nothing: write a glob without //, . and ..`)
  }
  const matches = compile(bare.replace(/^\//, ''))
  return (path, isFolder) => {
    if (forFolders && !isFolder) return false
    return matches(hasSlash ? path : path.slice(path.lastIndexOf('/') + 1))
  }
}
