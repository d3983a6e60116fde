/** Constants as the build makes them of the variables that esbuild has written. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { withConstantNames } from '../../bin/constant-names.js'
import { isEsbuildHere } from '../../bin/esbuild-program.js'
import { weirProgram } from '../../lib/package-file.js'

const skip = !(await isEsbuildHere()) && 'the program of esbuild is not installed'

t.test('what is assigned once, at the top, of a module that is no package', async t => {
  const text = `#!/usr/bin/env node
var before = 1
// lib/log.ts
var a = 1, b = () => a
var text = \`
var a = 1
\`
var later
var grown = [0]
grown = [1]
var counted = 0, other = 1
var parts = {}, taken, seen = 0
function f() { var a = 2; counted++; [taken] = [1]; ({ seen } = parts); parts.a = 1; for (stepped of []) ; return a }
var stepped = 3
const c = 1
// node_modules/p/index.js
var packaged = 1
// lib/errors.ts
var A = class _A { $a = 1 }
`
  const constant = text
    .replace('var a = 1, b', 'const a = 1, b')
    .replace('var text', 'const text')
    .replace('var A', 'const A')
  t.equal(withConstantNames('a.js', text), constant)
  t.equal(withConstantNames('a.js', constant), constant, 'what is constant stays as it is')
})

t.test('a value that asks for its own name is refused', async t => {
  for (const value of [
    '((K2) => K2)(K || {})',
    '(function (K) { return K })(K || (K2 = {}))',
    '{ a: K }',
    '[() => 1, K.a]',
  ])
    t.throws(
      () => withConstantNames('a.js', `// lib/log.ts\nvar K = ${value}\n`),
      { code: 'WEIR_UNSUPPORTED', message: /a\.js.*`K`/ },
      value,
    )
  for (const value of [
    '() => K',
    'function K() { return K }',
    'class K { a = K }',
    '{ K: 1 }',
    'a.K',
    '{ a() { return K } }',
  ])
    t.match(withConstantNames('a.js', `// lib/log.ts\nvar K = ${value}\n`), /^const K/m, value)
})

t.test('esbuild still writes variables, with the paths of modules before them', { skip }, async t => {
  const folder = t.testdir({
    'one.js':
      "import { table } from './two.js'\nconst limit = 2\nexport const sum = () => table[0] + limit\n",
    'two.js': 'export const table = [40]\nexport class Kept {}\n',
  })
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'one.js')],
    bundle: true,
    format: 'esm',
    write: false,
  })
  const text = outputFiles[0]!.text
  t.match(text, /^var table = /m)
  const constant = withConstantNames('one.js', text)
  t.match(constant, /^const table = /m)
  t.notMatch(constant, /^var /m)
  const { sum } = await import(`data:text/javascript,${encodeURIComponent(constant)}`)
  t.equal(sum(), 42)
})

t.test('the bundle of Weir has them, and each thread that moves packets is one file', { skip }, async t => {
  const folder = dirname(weirProgram())
  t.ok(existsSync(join(folder, 'licenses.txt')), 'it is bundled')
  const threads = readdirSync(folder).filter(name => /^(\w+-thread|veth-worker)\.js$/.test(name))
  t.same(threads, ['host-thread.js', 'verbs-thread.js', 'veth-worker.js'])
  for (const name of threads) {
    const text = readFileSync(join(folder, name), 'utf8')
    // The imports of a module may stand apart, before the modules that it imports.
    const codec = text.slice(text.lastIndexOf('// lib/wire/bytes/crc32.ts'))
    t.match(codec.slice(0, codec.indexOf('\n// lib/', 1)), /^const table = /m, `${name}: the CRC's table`)
    t.notMatch(text, /from "\.\/chunk/, `${name}: whole`)
  }
})
