/** `dist/weir`: the program in few files finds everything that it needs. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { writeUnbundled } from '../../bin/unbundled.js'
import { weirProgram } from '../../lib/package-file.js'

const folder = dirname(weirProgram())
const files = readdirSync(folder).filter(file => file.endsWith('.js'))
const texts = files.map(file => readFileSync(join(folder, file), 'utf8'))
const licenses = join(folder, 'licenses.txt')
const skip = !existsSync(licenses) && 'the program of esbuild is not installed, so weir is not bundled'

/** The engine refuses it. */
const HOST_HOP = `hosts: [h0, h1]
switches: [s1]
links: [h0--s1, h1--s1]
telemetry:
  hostHop: true
link: { rate: 10Gbps, delay: 1us }
traffic: [{ from: h0, to: h1, size: 1KB }]
`

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

t.test(
  'what an engine throws is an error of the program, and names the place in the scenario',
  { skip },
  t => {
    const file = join(t.testdir({ 'a.yaml': HOST_HOP }), 'a.yaml')
    const { status, stderr } = spawnSync(process.execPath, [weirProgram(), 'run', file], { encoding: 'utf8' })
    t.equal(status, 1)
    t.match(
      stderr,
      /^weir: \S*a\.yaml:5\S* .*hostHop has no effect in virtual time.* \(WEIR_BAD_SCENARIO\)\n$/,
    )
    t.end()
  },
)

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

t.test('a build without the program of esbuild finds out, and goes on', { skip }, async t => {
  const hook = join(t.testdir({}), 'hide.cjs')
  writeFileSync(
    hook,
    `const Module = require('node:module')
const resolve = Module._resolveFilename
Module._resolveFilename = (name, ...rest) => {
  if (!name.startsWith('@esbuild/')) return resolve(name, ...rest)
  throw Object.assign(new Error('Cannot find module ' + name), { code: 'MODULE_NOT_FOUND' })
}`,
  )
  const module = fileURLToPath(new URL('../../bin/esbuild-program.js', import.meta.url))
  const ask = `import(${JSON.stringify(module)}).then(m => m.isEsbuildHere()).then(console.log)`
  const isHere = (...flags: string[]) =>
    spawnSync(process.execPath, [...flags, '-e', ask], { encoding: 'utf8' }).stdout.trim()
  t.equal(isHere(), 'true')
  t.equal(isHere('--require', hook), 'false')
})

t.test('where weir is not bundled, its files lead to the program', async t => {
  const dist = t.testdir({})
  symlinkSync(fileURLToPath(new URL('../../bin', import.meta.url)), join(dist, 'bin'))
  writeUnbundled(join(dist, 'weir'))
  const { stdout, stderr } = spawnSync(process.execPath, [join(dist, 'weir', 'weir.js'), '--version'], {
    encoding: 'utf8',
  })
  t.match(stdout, /^\d+\.\d+\.\d+/, stderr)
  const { makeProgram } = await import(join(dist, 'weir', 'command-line.js'))
  t.type(makeProgram, 'function')
})
