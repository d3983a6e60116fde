/** The scenarios that come with the package. Users name them without knowing where the files are. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { WeirError } from '../../errors.js'
import { offer } from '../../offer.js'
import { packageFile } from '../../package-file.js'

const SUFFIX = '.yaml'

/** A scenario of the package. */
export interface BundledScenario {
  /** The name for `weir run` and `weir lab up`, such as `dumbbell`. */
  name: string
  /** Absolute path of its file. */
  file: string
  /** The first sentence of the comment with which the file begins. */
  about: string
}

/**
 * Returns the scenarios that come with this package, by name. Throws WEIR_NO_FILE if the installation lacks
 * them.
 */
export function bundledScenarios(): BundledScenario[] {
  return bundledNames().map(name => {
    const file = fileOf(name)
    return { name, file, about: firstSentence(readFileSync(file, 'utf8')) }
  })
}

/**
 * Returns the file that `given` stands for: the file of that name, else the scenario of that name in the
 * package. It returns a path as it is, and the caller's attempt to open it shows what is wrong. Throws
 * WEIR_NO_FILE for a bare name that is neither.
 */
export function scenarioFile(given: string): string {
  if (isFile(given) || given === '-' || basename(given) !== given || /\.ya?ml$/.test(given)) return given
  const names = bundledNames()
  if (names.includes(given)) return fileOf(given)
  throw new WeirError(
    'WEIR_NO_FILE',
    `the scenario ${given} is neither a file here nor one that comes with weir; those are ${offer(given, names)}`,
  )
}

function folder(): string {
  return packageFile('bench', 'scenarios')
}

function fileOf(name: string): string {
  return join(folder(), `${name}${SUFFIX}`)
}

function bundledNames(): string[] {
  return readdirSync(folder())
    .filter(file => file.endsWith(SUFFIX))
    .map(file => basename(file, SUFFIX))
    .sort()
}

/** A pipe or a device is readable too. If the path cannot be examined, the attempt to open it shows why. */
function isFile(path: string): boolean {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat !== undefined && !stat.isDirectory()
  } catch {
    return true
  }
}

/** The first sentence of the comment with which a file begins. */
function firstSentence(text: string): string {
  const [comment = ''] = /^(#.*\n)*/.exec(text) ?? []
  const prose = comment.replace(/^# ?/gm, '').replace(/\s+/g, ' ').trim()
  return /^.*?[.:](?= |$)/.exec(prose)?.[0].replace(/:$/, '.') ?? prose
}
