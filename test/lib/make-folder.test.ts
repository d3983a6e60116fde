/** Folders are made with their missing parents, or an error says why they cannot be. */
import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prepareSocketFolder } from '../../lib/control/socket-path.js'
import { makeFolder } from '../../lib/make-folder.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import { prepareLabsFolder } from '../../switch-emu/lab/runtime-folder.js'

const WISH = { use: 'a test', mend: 'choose another' }

t.test('it is made with those above it, once and for good', async t => {
  const folder = t.testdir()
  for (const path of ['a/b/c', 'a/b/c', 'a/b/d/']) {
    makeFolder(join(folder, 'in', path), { ...WISH, mode: 0o700 })
    t.ok(statSync(join(folder, 'in', path)).isDirectory(), path)
  }
  for (const path of ['in', 'in/a', 'in/a/b', 'in/a/b/c']) {
    t.equal(statSync(join(folder, path)).mode & 0o777, 0o700, path)
  }
  // The path is not simplified, because only the system knows where a link leads.
  makeFolder(`${folder}/new/../beside`, WISH)
  t.ok(statSync(join(folder, 'beside')).isDirectory())
  symlinkSync(join(folder, 'in'), join(folder, 'link'))
  makeFolder(join(folder, 'link'), WISH)
  makeFolder(join(folder, 'link', 'e'), WISH)
  t.ok(statSync(join(folder, 'in', 'e')).isDirectory())
})

t.test('it says what is in the way', async t => {
  const folder = t.testdir()
  writeFileSync(join(folder, 'file'), '')
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'))
  for (const [path, why] of [
    ['file', /something else of that name/],
    ['file/x', /a part of its path is no directory/],
    ['file/x/y', /a part of its path is no directory/],
    ['dangling', /something else of that name/],
    ['dangling/x', /something else of that name/],
    ['n'.repeat(300), /its name is too long/],
  ] as const) {
    const message = new RegExp(
      `cannot make the folder .*${path} for a test: .*${why.source}.*; choose another$`,
    )
    t.throws(() => makeFolder(join(folder, path), WISH), { code: 'WEIR_NO_FILE', message }, path)
  }
  t.throws(() => makeFolder('', WISH), { code: 'WEIR_NO_FILE' })
})

const skip = existsSync('/proc/self') ? false : 'there is no /proc'
t.test('a folder in which nothing can be made is no reason to try for ever', { skip }, async t => {
  const message = /nothing can be made in \/proc; /
  for (const path of ['/proc/x', '/proc/x/y/z']) {
    t.throws(() => makeFolder(path, WISH), { code: 'WEIR_NO_FILE', message }, path)
  }
  await t.rejects(Inbox.at('/proc/x'), { code: 'WEIR_NO_FILE', message: /the inbox: .*--inbox/ })
  t.throws(() => prepareLabsFolder('/proc/x/labs'), { code: 'WEIR_NO_FILE', message: /WEIR_LABS/ })
  t.throws(() => prepareSocketFolder('/proc/x/s'), { code: 'WEIR_BAD_ARGUMENT', message: /--socket/ })
})
