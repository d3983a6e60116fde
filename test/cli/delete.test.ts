/** `--delete` of `weir send` and `weir get`: what it asks, and where it cannot. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, scratch } from '../support/daemon-process.js'
import { Terminal } from '../support/terminal.js'
import { without } from '../support/tools.js'
import { reportOf } from '../support/transfer-report.js'

const CTRL_C = '\x03'
const CTRL_D = '\x04'

const lines = new CommandLines(t)

async function place(t: Test) {
  const [from, to] = await Promise.all([DaemonProcess.start(t), DaemonProcess.start(t, ['--allow-delete'])])
  const folder = await scratch(t)
  mkdirSync(join(folder, 'tree'))
  writeFileSync(join(folder, 'tree', 'a'), 'a')
  const there = join(to.inbox, 'tree')
  const fill = () => {
    mkdirSync(join(there, 'gone'), { recursive: true })
    for (const name of ['old', 'gone/b', 'gone/c']) writeFileSync(join(there, name), name)
  }
  fill()
  const args = (...more: string[]) => [
    'send',
    '--socket',
    from.socket,
    'tree',
    to.address,
    '--delete',
    ...more,
  ]
  return { folder, there, fill, args, from, to }
}

t.test('without a terminal', async t => {
  const { folder, there, args, from, to } = await place(t)
  const run = (...more: string[]) => lines.run(args(...more), folder)
  t.match(await run(), { code: 1, stderr: /--yes deletes without asking.*WEIR_BAD_ARGUMENT/ })
  const would = await run('--dry-run')
  t.equal(would.code, 0)
  for (const path of ['old', 'gone/', 'gone/b', 'gone/c'])
    t.match(would.stdout, `would delete tree/${path}\n`)
  t.match(
    would.stdout,
    /1 of 1 files would move, 1B, 3 files and 1 folder would be deleted\. Nothing was changed/,
  )
  t.same(readdirSync(there).sort(), ['gone', 'old'])
  t.match(await run('--yes'), { code: 0, stdout: /1 file, 3 files and 1 folder deleted, 1B in / })
  t.same(readdirSync(there), ['a'])
  const again = await run('--yes')
  t.match(again.stdout, /1 file, 0 of them new or changed, 1B in /)
  t.notMatch(again.stdout, 'resumed', 'what was there is no part of a transfer')
  const report = reportOf((await run('--yes', '--json')).stdout)
  t.match(report.files[0].tree, { movedFiles: 0, deletedFiles: 0, deletedFolders: 0, wouldDelete: [] })

  const send = ['send', '--socket', from.socket]
  for (const [words, says] of [
    [[...send, 'tree/a', to.address, '--delete', '--yes'], /--delete are for folders/],
    [[...send, 'tree', to.address, '--yes'], /--yes is for --delete/],
    [[...send, 'tree', from.address, '--delete', '--yes'], /--allow-delete/],
    [
      ['get', '--socket', from.socket, `${to.address}:x`, '127.0.0.1:y', '.', '--delete', '--yes'],
      /one by one/,
    ],
  ] as const) {
    t.match((await lines.run(words, folder)).stderr, says)
  }
})

t.test('on a terminal it asks', { skip: without('script') }, async t => {
  const { folder, there, fill, args } = await place(t)
  const asked = async () => {
    const terminal = new Terminal(t, args(), folder)
    await terminal.until(shown => shown.includes('[y/N]'), 'it asked')
    t.match(terminal.shown, /tree\/old/)
    t.match(terminal.shown, /3 files and 1 folder would be deleted at .*\. Delete\? \[y\/N\]/)
    return terminal
  }
  for (const [keys, code] of [
    ['n\n', 1],
    ['\n', 1],
    [CTRL_D, 1],
    [CTRL_C, 130],
  ] as const) {
    const terminal = await asked()
    terminal.type(keys)
    t.equal(await terminal.ended, code, JSON.stringify(keys))
    t.same(readdirSync(there).sort(), ['gone', 'old'], 'nothing was changed')
  }
  const terminal = await asked()
  terminal.type('y\n')
  t.equal(await terminal.ended, 0)
  t.same(readdirSync(there), ['a'])

  fill()
  const late = await asked()
  writeFileSync(join(there, 'later'), '')
  late.type('y\n')
  t.equal(await late.ended, 1, 'more than the user has agreed to')
  t.match(late.shown, /5 files and folders would be deleted, at most 4 may be/)
  t.ok(existsSync(join(there, 'old')))
})
