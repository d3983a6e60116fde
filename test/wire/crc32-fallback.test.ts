/** What is optional for CRC-32 gives the same as what takes its place: the native package and zlib, a C library by koffi and either. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import { START, updateWithin } from '../../lib/wire/bytes/crc32.js'
import { transfer } from '../nic/pair.js'
import { slowCrc32 } from './helpers.js'

const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
const script = (missing: string) => `import Module from 'node:module'
const load = Module._load
Module._load = (name, ...rest) => {
  if (name === '${missing}') throw new Error('not installed')
  return load(name, ...rest)
}
const crc32 = await import(${module('../../lib/wire/bytes/crc32.js')})
const { Backing } = await import(${module('../../lib/frame/backing.js')})
const bytes = Uint8Array.from({ length: 3000 }, (_, i) => i * 7)
const view = new DataView(bytes.buffer)
let state = crc32.update(crc32.START, bytes, view, 0, 1000)
state = crc32.update(state, bytes, view, 1000, 3000)
let within = crc32.updateWithin(crc32.START, new Backing(bytes.subarray(1)), 0, 999)
within = crc32.updateWithin(within, new Backing(bytes), 1000, 2000)
process.stdout.write([crc32.implementation, crc32.finish(state), crc32.finish(within)].join(' '))
process.stdout.write(' ' + (crc32.crc32ByAddress()?.library ?? 'none'))`

const bytes = Array.from({ length: 3000 }, (_, i) => (i * 7) & 0xff)
/** What the script prints before the library. */
const both = (name: string) => `${name} ${slowCrc32(bytes)} ${slowCrc32(bytes.slice(1))} `

function run(missing: string): string {
  const words = ['--input-type=module', '-e', script(missing)]
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  t.equal(stderr, '')
  return stdout
}

t.test('the same CRC by zlib', async t => {
  t.match(run('@node-rs/crc32'), both('zlib'))
})

t.test('the same CRC by a C library, where there is one', async t => {
  const found = run('')
  t.match(found, both(''))
  t.comment(found)
})

t.test('the same CRC without koffi', async t => {
  const found = run('koffi')
  t.match(found, both(''))
  t.match(found, / none$/)
})

t.test('memory that has been transferred is not read', async t => {
  const bytes = new Uint8Array(1 << 20)
  const memory = new Backing(bytes)
  updateWithin(START, memory, 0, 1000)
  transfer(bytes)
  t.throws(() => updateWithin(START, memory, 1 << 19, 1000))
})
