import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './fixtures.js'

/** Fields of JSON that a page of `docs/` does not name: none, if the page is true. */
export function undocumented(page: string, fields: object): string[] {
  const text = readFileSync(join(repositoryRoot, 'docs', page), 'utf8')
  return Object.keys(fields).filter(name => !new RegExp(`\\b${name}\\b`).test(text))
}
