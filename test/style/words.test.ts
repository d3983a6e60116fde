/** Words that a reader has to guess, in documents and comments, and comments without a subject. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const FOLDERS = ['bench', 'bin', 'lib', 'switch-emu', 'test']
const PRIVATE_WORDS =
  /\b(told|heeds?|heeded|(?:goes|gone|sends|sent) again|tells? of)\b|\b(?:a|no) weir\b|\bweirs\b/
/** From where a comment begins, or a line within one. */
const COMMENT = /(?:^\s*(?:\/?\*\*? ?)|\/\*\*? |(?:^|\s)\/\/ )(.*)/
const TEST_NAME = /\b(?:test|usual|long)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g
const HEADLESS =
  /^\s*(?:\/\/|\/?\*\*?) ?Of |^\s*(?:\/\/|\/\*\*?) (?:Also|Amid|Among|And|Beside|But|Else|Nor|Or) /

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

function commentsOf(path: string): string[] {
  return readFileSync(join(repositoryRoot, path), 'utf8')
    .split('\n')
    .flatMap((line, i) => {
      const comment = COMMENT.exec(line)
      return comment ? [`${path}:${i + 1}: ${comment[1]}`] : []
    })
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

t.test('the comments have them too', async t => {
  const sources = FOLDERS.flatMap(folder => files(folder, '.ts'))
  const lines = sources.flatMap(path => commentsOf(path).filter(line => PRIVATE_WORDS.test(line)))
  t.same(lines, [])
  t.ok(sources.length > 300, `${sources.length} files`)
})

t.test('the names of tests have them too', async t => {
  const names = files('test', '.ts').flatMap(path =>
    [...readFileSync(join(repositoryRoot, path), 'utf8').matchAll(TEST_NAME)].map(
      ([, , name]) => `${path}: ${name}`,
    ),
  )
  t.same(
    names.filter(name => PRIVATE_WORDS.test(name)),
    [],
  )
  t.ok(names.length > 1500, `${names.length} names`)
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
