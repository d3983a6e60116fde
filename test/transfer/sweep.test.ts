import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { sweepPartials } from '../../lib/transfer/file/sweep.js'
import { partialName } from '../../lib/transfer/protocol/names.js'

const offer = {
  version: 1,
  directory: '',
  size: 1,
  mode: 0,
  mtimeMs: 0,
  digest: 'XXH64',
  overwrite: false,
  transfer: new Uint8Array(),
} as const
const partial = (name: string) => partialName({ ...offer, name })

t.test('what nobody came back for is removed, and nothing else', async t => {
  const folder = t.testdir({ in: { sub: { deep: {} } }, out: {} })
  const [inbox, outside] = [join(folder, 'in'), join(folder, 'out')]
  const write = async (path: string, secondsSince1970: number) => {
    await writeFile(path, 'x')
    await utimes(path, secondsSince1970, secondsSince1970)
  }
  const longName = partial('ü'.repeat(127))
  await write(join(inbox, partial('old')), 999)
  await write(join(inbox, 'sub/deep', longName), 999)
  await write(join(inbox, partial('new')), 1001)
  await write(join(inbox, 'plain'), 999)
  await write(join(inbox, '.weir-partial-notes'), 999)
  await write(join(inbox, '.a.weir-partial-0123456789abcdef.txt'), 999)
  await write(join(outside, partial('old')), 999)
  await symlink(outside, join(inbox, 'link'))
  await symlink(join(outside, partial('old')), join(inbox, partial('linked')))
  await mkdir(join(inbox, partial('folder')))

  t.equal(await sweepPartials(inbox, 1_000_000), 2)
  const left = ['.weir-partial-notes', '.a.weir-partial-0123456789abcdef.txt', 'plain', 'link', 'sub']
  const kept = [...left, partial('new'), partial('linked'), partial('folder')]
  t.same((await readdir(inbox)).sort(), kept.sort())
  t.same(await readdir(join(inbox, 'sub/deep')), [])
  t.same(await readdir(outside), [partial('old')])
  t.equal(await sweepPartials(inbox, 1_000_000), 0)
  t.equal(await sweepPartials(join(folder, 'missing'), 1_000_000), 0)
})
