import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from '../support/fixtures.js'
import { testDocuments } from './documents.js'

const folder = join(repositoryRoot, 'docs')
const docs = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
const pages = docs.filter(name => name.endsWith('.md')).map(name => join('docs', name))

testDocuments(['README.md', ...pages.sort(), 'bench/scenarios/README.md'])
