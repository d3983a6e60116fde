/** More names than one call has room for on the stack: here on a small one, of which 15,000 names are enough. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { scratch } from '../support/daemon-process.js'

const NAMES = 15_000

t.test('a glob that matches many names', async t => {
  const folder = await scratch(t)
  mkdirSync(join(folder, 'f'))
  for (let i = 0; i < NAMES; i++) writeFileSync(join(folder, 'f', String(i)), '')
  const share = new URL('../../lib/transfer/file/share.js', import.meta.url).href
  const wishes = { paths: ['f/*'], exclude: [], include: [], skipLinks: false, checksum: null }
  const script = `
    const { Share } = await import(${JSON.stringify(share)})
    const share = await Share.at(${JSON.stringify(folder)})
    const tree = await share.list(${JSON.stringify(wishes)}, { aborted: false })
    while (!tree.isWhole) await tree.more()
    process.stdout.write(String(tree.list.files))`
  const args = ['--stack-size=100', '--input-type=module', '-e', script]
  t.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }), String(NAMES))
})
