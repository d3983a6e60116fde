/** Finds files of the repository from a test, whether it runs compiled in dist/ or anywhere below the root. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder that holds package.json. */
export const repositoryRoot = findRoot(dirname(fileURLToPath(import.meta.url)))

/** Path of a file or folder in test/fixtures. */
export function fixturePath(...parts: string[]): string {
  return join(repositoryRoot, 'test', 'fixtures', ...parts)
}

/** Captures of Linux's RoCEv2: paths of all files in test/fixtures/roce-pcaps, sorted. */
export function roceCaptures(): string[] {
  const folder = fixturePath('roce-pcaps')
  return readdirSync(folder)
    .filter(name => name.endsWith('.pcap'))
    .sort()
    .map(name => join(folder, name))
}

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new Error('no folder above this file holds package.json')
  return findRoot(parent)
}
