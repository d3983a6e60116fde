/** Words that a reader has to guess, in documents, and comments without a subject. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const FOLDERS = ['bench', 'bin', 'lib', 'switch-emu', 'test']
const PRIVATE_WORDS = /\b(told|heeds?|heeded|goes again|sent again|gone again)\b/i
const HEADLESS = /^\s*(?:\/\/|\/?\*\*?) ?Of /

function files(folder: string, ending: string): string[] {
  return readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith(ending))
    .map(file => join(folder, file))
}

function linesWith(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap(path =>
    readFileSync(join(repositoryRoot, path), 'utf8')
      .split('\n')
      .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  )
}

t.test('the documents have the words of the field', async t => {
  const documents = [
    'README.md',
    'HACKING.md',
    'ARCHITECTURE.md',
    'DECISIONS.md',
    'bench/scenarios/README.md',
    ...['docs', 'lib', 'switch-emu'].flatMap(folder => files(folder, '.md')),
  ]
  t.same(linesWith(documents, PRIVATE_WORDS), [])
})

t.test('a comment begins with what it is about', async t => {
  t.same(
    linesWith(
      FOLDERS.flatMap(folder => files(folder, '.ts')),
      HEADLESS,
    ),
    [],
  )
})
