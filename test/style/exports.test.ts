/** Every export has an importer: what only its own file uses is not exported. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const FOLDERS = ['lib', 'switch-emu', 'bin', 'bench', 'test']
/** What programs outside this repository import: the `exports` of package.json. */
const PUBLIC = new Set(['lib/index.ts', 'switch-emu/index.ts', 'lib/capture/index.ts'])

const DECLARATION =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|class|interface|type|const|let) (\w+)/gm
/** `import { a, type b as c } from …`, and the same with `export`. */
const NAMES_FROM = /^(?:import|export)(?: type)? \{([^}]*)\} from '(\.[^']+)\.js'/gm
/** `import * as a from`, `export * from`, `await import(…)` and types `import(…)`: any name of the file may be meant. */
const WHOLE_FILE = /(?:\* (?:as \w+ )?from |import\()\s*'(\.[^']+)\.js'/g

/** The exports, as `FILE: NAME`, that no other file imports. Paths lead to texts of sources. */
function unusedExports(sources: ReadonlyMap<string, string>): string[] {
  const imported = new Set<string>()
  const wholeBy = new Map<string, string[]>()
  for (const [path, text] of sources) {
    const target = (specifier: string) => `${normalize(join(dirname(path), specifier))}.ts`
    for (const [, names, specifier] of text.matchAll(NAMES_FROM)) {
      for (const name of names!.split(',')) {
        const [original] = name
          .trim()
          .replace(/^type /, '')
          .split(' as ')
        imported.add(`${target(specifier!)}: ${original}`)
      }
    }
    for (const [, specifier] of text.matchAll(WHOLE_FILE)) {
      wholeBy.set(target(specifier!), [...(wholeBy.get(target(specifier!)) ?? []), text])
    }
  }
  const unused: string[] = []
  for (const [path, text] of sources) {
    if (PUBLIC.has(path)) continue
    for (const [, name] of text.matchAll(DECLARATION)) {
      if (imported.has(`${path}: ${name}`)) continue
      const word = new RegExp(`\\b${name}\\b`)
      if (!(wholeBy.get(path) ?? []).some(importer => word.test(importer))) unused.push(`${path}: ${name}`)
    }
  }
  return unused
}

t.test('no export is used only in its own file', async t => {
  const paths = FOLDERS.flatMap(folder =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => join(folder, file)),
  )
  t.ok(paths.length > 1000, `${paths.length} files were found`)
  t.same(
    unusedExports(new Map(paths.map(path => [path, readFileSync(join(repositoryRoot, path), 'utf8')]))),
    [],
  )
})

t.test('one is found', async t => {
  const sources = new Map([
    ['lib/log.ts', 'export const used = 1\nexport class Unused {\n}\nexport interface Seen {\n}'],
    [
      'lib/printable.ts',
      "import {\n  type Seen,\n  used as mine,\n} from './log.js'\nexport async function load() {}",
    ],
    ['bin/weir.ts', "const { load } = await import('../lib/printable.js')"],
    ['lib/index.ts', 'export function forPrograms() {}'],
  ])
  t.same(unusedExports(sources), ['lib/log.ts: Unused'])
})
