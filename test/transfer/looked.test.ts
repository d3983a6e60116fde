/** What Linux's own call says of a name is what Node.js says. */
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Folder } from '../../lib/transfer/file/folder.js'
import { type Looked, lookedByNode } from '../../lib/transfer/file/looked.js'

const NUMBERS = ['dev', 'ino', 'uid', 'nlink', 'mode', 'size', 'blocks', 'mtimeMs', 'mtimeNanos'] as const
const KINDS = ['isFile', 'isDirectory', 'isSymbolicLink'] as const

function told(looked: Looked): Record<string, unknown> {
  const numbers = NUMBERS.map(name => [name, looked[name]])
  return Object.fromEntries([...numbers, ...KINDS.map(name => [name, looked[name]()])])
}

/** The usual answer of Node.js, with the nanoseconds of the other one. */
function byNode(path: string): Looked {
  const { mtimeNanos } = lookedByNode(lstatSync(path, { bigint: true }))
  return Object.assign(lstatSync(path), { mtimeNanos })
}

const skip = process.platform !== 'linux' && 'names are resolved by descriptors on Linux alone'

t.test('files, folders, links, odd names, long sizes and times of all kinds', { skip }, async t => {
  const path = mkdtempSync(join(tmpdir(), 'weir-looked-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  const at = (name: string) => join(path, name)
  const times = [0, 1, 1.5, 1_700_000_000.123456, 4_294_967_297.25, 10_000_000_000.5, -86_400.75]
  for (const [i, time] of times.entries()) {
    writeFileSync(at(`file ${i}\n`), Buffer.alloc(i * 5000))
    chmodSync(at(`file ${i}\n`), 0o600 + i)
    utimesSync(at(`file ${i}\n`), time, time)
  }
  truncateSync(at('file 0\n'), 5 * 2 ** 32 + 7)
  linkSync(at('file 1\n'), at('ü'))
  mkdirSync(at('-folder'))
  symlinkSync('nowhere', at('link'))
  const folder = await Folder.open(path)
  const names = [...times.keys()].map(i => `file ${i}\n`)
  for (const name of [...names, 'ü', '-folder', 'link']) {
    t.same(told(folder.quick!.look(name)!), told(byNode(at(name))), JSON.stringify(name))
    t.same(told((await folder.look(name))!), told(byNode(at(name))), 'asynchronously')
  }
  t.equal(folder.quick!.look('missing'), null)
  t.throws(() => folder.quick!.look('file 1\n/x'), { code: 'ENOTDIR' })
  const device = await Folder.open('/dev')
  t.same(told(device.quick!.look('null')!), told(byNode('/dev/null')))
  await device.close()
  await folder.close()
})
