import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'
import { drawnShare } from '../support/long.js'
import { testDocuments } from './documents.js'

const folder = join(repositoryRoot, 'docs')
const docs = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
const pages = docs.filter(name => name.endsWith('.md')).map(name => join('docs', name))

testDocuments(['README.md', ...drawnShare(t, [...pages.sort(), 'bench/scenarios/README.md'])])
