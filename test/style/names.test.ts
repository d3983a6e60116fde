/** One name, one thing: a class, interface or type of lib and switch-emu shares its name with no other. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const EXPORTED = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm

/** The files that export a class, interface or type of each name. */
function filesByName(sources: ReadonlyMap<string, string>): Map<string, string[]> {
  const files = new Map<string, string[]>()
  for (const [path, text] of sources) {
    for (const [, name] of text.matchAll(EXPORTED)) files.set(name!, [...(files.get(name!) ?? []), path])
  }
  return files
}

function sharedNames(sources: ReadonlyMap<string, string>): [string, string[]][] {
  return [...filesByName(sources)].filter(([, files]) => files.length > 1)
}

t.test('no two exported classes, interfaces or types share a name', async t => {
  const paths = ['lib', 'switch-emu'].flatMap(folder =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => join(folder, file)),
  )
  const sources = new Map(paths.map(path => [path, readFileSync(join(repositoryRoot, path), 'utf8')]))
  t.ok(filesByName(sources).size > 400, `${filesByName(sources).size} names were found`)
  t.same(sharedNames(sources), [])
})

t.test('a shared name is found', async t => {
  const sources = new Map([
    ['a.ts', 'export class Host {\n}\nexport interface Link {'],
    ['b.ts', 'export interface Host {\n}\nexport { type Link } from "a.js"'],
  ])
  t.same(sharedNames(sources), [['Host', ['a.ts', 'b.ts']]])
})
