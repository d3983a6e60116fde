/**
 * The documents: links lead somewhere, and the list of error codes is that of the code. test/docs runs the
 * examples.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { ERROR_CODES } from '../../lib/errors.js'
import { repositoryRoot } from '../support/fixtures.js'

const README_LINES_MAX = 150
const ARCHITECTURE_WORDS_MAX = 1400
const WALK_FILES_MAX = 10
const TOP = ['README.md', 'HACKING.md', 'ARCHITECTURE.md', 'DECISIONS.md', 'bench/scenarios/README.md']
const PAGES = filesIn(['docs'], /\.md$/)
const DOCUMENTS = [...TOP, ...PAGES]
/** Documents that describe files of source folders. */
const OF_FOLDERS = filesIn(['lib', 'switch-emu'], /README\.md$/)

function filesIn(folders: readonly string[], name: RegExp): string[] {
  return folders.flatMap(folder =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
      .map(file => join(folder, file))
      .filter(file => name.test(file)),
  )
}

function read(document: string): string {
  return readFileSync(join(repositoryRoot, document), 'utf8')
}

/** Without code, in which brackets are no links. */
function proseOf(document: string): string {
  return read(document)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/`[^`\n]*`/g, code => code.replace(/[[\]()]/g, ''))
}

/** The anchors that GitHub makes of headings. */
function anchorsOf(document: string): Set<string> {
  const headings = read(document)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/^#+ (.*)$/gm)
  return new Set(
    [...headings].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\- ]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

t.test('README is a page', async t => {
  const lines = read('README.md').split('\n').length - 1
  t.ok(lines <= README_LINES_MAX, `${lines} lines, at most ${README_LINES_MAX}: move the rest into docs/`)
})

t.test('ARCHITECTURE is two pages', async t => {
  const words = read('ARCHITECTURE.md').split(/\s+/).length
  const advice = 'move what is of one subsystem beside its code'
  t.ok(words <= ARCHITECTURE_WORDS_MAX, `${words} words, at most ${ARCHITECTURE_WORDS_MAX}: ${advice}`)
})

t.test('ARCHITECTURE walks with a packet, and with its acknowledgement, through files in order', async t => {
  for (const title of ['The way of a data packet', 'The way of an acknowledgement']) {
    const section =
      read('ARCHITECTURE.md')
        .split(/^## /m)
        .find(text => text.startsWith(title)) ?? ''
    const steps = [...section.matchAll(/^(\d+)\. `([\w./-]+)`/gm)]
    const files = steps.map(([, , file]) => file!)
    t.ok(files.length > 5 && files.length <= WALK_FILES_MAX, `${title}: ${files.length} files`)
    t.equal(section.match(/^\d+\. /gm)?.length, files.length, `${title}: each step begins with its file`)
    t.same(
      steps.map(([, number]) => Number(number)),
      files.map((_, i) => i + 1),
      `${title}: in order`,
    )
    t.equal(new Set(files).size, files.length, `${title}: no file comes twice`)
    for (const file of files) t.ok(existsSync(join(repositoryRoot, file)), file)
  }
})

t.test('every link leads to a file and a heading that exist', async t => {
  let links = 0
  for (const document of [...DOCUMENTS, ...OF_FOLDERS]) {
    for (const [, target] of proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue
      links++
      const [path = '', anchor] = target!.split('#')
      const file =
        path === '' ? document : relative(repositoryRoot, join(repositoryRoot, dirname(document), path))
      const found = existsSync(join(repositoryRoot, file))
      if (!found) t.fail(`${document}: no file ${target}`)
      else if (anchor !== undefined && !anchorsOf(file).has(anchor))
        t.fail(`${document}: no heading ${target}`)
    }
  }
  t.ok(links > 40, `${links} links were found`)
})

t.test('every file that documents, comments and schemas name is there', async t => {
  const sources = filesIn(['bench', 'bin', 'lib', 'proto', 'switch-emu', 'test'], /\.(?:ts|proto)$/)
  let names = 0
  for (const document of [...DOCUMENTS, ...OF_FOLDERS, ...sources]) {
    const paths = read(document).matchAll(
      /(?<![\w./-])(?:bench|bin|docs|lib|proto|schema|switch-emu|test)\/[\w./-]+\.(?:ts|md|proto|json|yaml)\b/g,
    )
    for (const [path] of paths) {
      if (path.includes('NAME')) continue
      names++
      if (!existsSync(join(repositoryRoot, path))) t.fail(`${document}: no file ${path}`)
    }
  }
  t.ok(names > 100, `${names} names were found`)
})

t.test('the README of a folder of sources names files that are there', async t => {
  for (const document of OF_FOLDERS) {
    const places = [dirname(document), dirname(dirname(document)), '.']
    for (const [, file] of read(document).matchAll(/`([\w./-]+\.ts)`/g)) {
      const isThere = places.some(place => existsSync(join(repositoryRoot, place, file!)))
      t.ok(isThere, `${document}: ${file}`)
    }
  }
  t.ok(OF_FOLDERS.length > 30, `${OF_FOLDERS.length} READMEs`)
})

t.test('every page is in the index of its folder, and README has those of docs', async t => {
  for (const page of PAGES.filter(page => page !== 'docs/README.md')) {
    const isIndex = page.endsWith('/README.md')
    const folder = isIndex ? dirname(dirname(page)) : dirname(page)
    t.match(read(`${folder}/README.md`), `](${page.slice(folder.length + 1)})`, page)
    if (folder === 'docs') t.match(read('README.md'), `](${page})`, page)
  }
})

t.test('troubleshooting: every error code with its meaning and what to do, and no other', async t => {
  const rows = [...read('docs/troubleshooting.md').matchAll(/^\| `(WEIR_[A-Z_]+)` \|(.*)\|(.*)\|$/gm)]
  t.same(rows.map(([, code]) => code).sort(), Object.keys(ERROR_CODES).sort(), 'those of lib/errors.ts')
  for (const [, code, meaning, mend] of rows) {
    t.ok(meaning!.trim().length > 20, `${code}: meaning`)
    t.ok(mend!.trim().length > 5, `${code}: what to do`)
  }
  for (const document of DOCUMENTS) {
    for (const [code] of read(document).matchAll(/\bWEIR_[A-Z_]+\b/g)) {
      if (/^WEIR_(IO|SOCKET|LABS|LAB_ID|LONG|LONG_SHARE)$/.test(code)) continue
      t.ok(Object.hasOwn(ERROR_CODES, code), `${document}: ${code} is a code`)
    }
  }
})
