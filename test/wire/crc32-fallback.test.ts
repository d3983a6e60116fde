/** Where the optional native package is missing, zlib's CRC-32 takes its place. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { slowCrc32 } from './helpers.js'

const module = new URL('../../lib/wire/bytes/crc32.js', import.meta.url).href
const SCRIPT = `import Module from 'node:module'
const load = Module._load
Module._load = (name, ...rest) => {
  if (name === '@node-rs/crc32') throw new Error('not installed')
  return load(name, ...rest)
}
const crc32 = await import(${JSON.stringify(module)})
const bytes = Uint8Array.from({ length: 3000 }, (_, i) => i * 7)
const view = new DataView(bytes.buffer)
let state = crc32.update(crc32.START, bytes, view, 0, 1000)
state = crc32.update(state, bytes, view, 1000, 3000)
process.stdout.write(crc32.implementation + ' ' + crc32.finish(state))`

t.test('the same CRC by zlib', async t => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', SCRIPT], {
    encoding: 'utf8',
  })
  const bytes = Array.from({ length: 3000 }, (_, i) => (i * 7) & 0xff)
  t.equal(stderr, '')
  t.equal(stdout, `zlib ${slowCrc32(bytes)}`)
})
