/** `dist/weir`: the program in few files finds all that it needs. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { weirProgram } from '../../lib/package-file.js'

const folder = dirname(weirProgram())
const files = readdirSync(folder).filter(file => file.endsWith('.js'))
const texts = files.map(file => readFileSync(join(folder, file), 'utf8'))
const licenses = join(folder, 'licenses.txt')
const skip = !existsSync(licenses) && 'the program of esbuild is not installed, so weir is not bundled'

t.test('modules of threads lie beside who starts them', { skip }, async t => {
  const named = texts.flatMap(text =>
    [...text.matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g)].map(match => match[1]!),
  )
  t.ok(named.includes('./host-thread.js') && named.includes('./veth-worker.js'), named.join(' '))
  t.same(
    named.filter(name => !existsSync(join(folder, name))),
    [],
  )
})

t.test('the license of every bundled package is with it', { skip }, async t => {
  const comments = texts.flatMap(text =>
    [...text.matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/gm)].map(match => match[1]!),
  )
  const packages = [...new Set(comments)]
  t.ok(packages.length > 5, packages.join(' '))
  const text = readFileSync(licenses, 'utf8')
  t.same(
    packages.filter(name => !text.includes(`${name} `)),
    [],
  )
  t.match(text, /THE SOFTWARE IS PROVIDED "AS IS"/)
})

t.test('optional packages are not in it', { skip }, async t => {
  t.same(
    texts.flatMap(text => /^\/\/ node_modules\/(koffi|raw-socket|@node-rs).*/m.exec(text)?.[0] ?? []),
    [],
  )
})
