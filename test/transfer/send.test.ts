/** Rules that are particular to sending: the inbox's rules, and sources. Over fake Verbs, with real files. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, stat, symlink, truncate, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { openSource } from '../../lib/transfer/file/file-source.js'
import { asIfDense, CHUNK, TransferBench } from '../support/transfer-bench.js'

t.test('a folder of the inbox is made, and a name given', async t => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', 100)
  const outcome = await (await bench.send('a', { directory: 'x/y', as: 'b' })).outcome
  t.equal(outcome.path, 'x/y/b')
  t.same(await bench.delivered('x/y/b'), content)
})

t.test('folders of an offer that is refused do not stay', async t => {
  const bench = await new TransferBench(t, { store: asIfDense }).start()
  await bench.file('a', 100)
  await mkdir(join(bench.inboxPath, 'old/taken'), { recursive: true })
  await t.rejects((await bench.send('a', { directory: 'old', as: 'taken' })).outcome, {
    code: 'WEIR_FILE_EXISTS',
  })
  await symlink(bench.outbox, join(bench.inboxPath, 'old/way-out'))
  const wrong = [{ directory: 'old/way-out/x' }, { directory: 'old/new/deeper', as: '..' }]
  for (const names of wrong)
    await t.rejects((await bench.send('a', names)).outcome, { code: 'WEIR_REJECTED' })

  await truncate(join(bench.outbox, 'a'), 2 ** 42)
  const tooGreat = await bench.send('a', { directory: 'old/new/deeper' })
  await t.rejects(tooGreat.outcome, { code: 'WEIR_NO_SPACE' })
  t.same((await readdir(join(bench.inboxPath, 'old'))).sort(), ['taken', 'way-out'])
  t.same(await readdir(bench.outbox), ['a'])
})

t.test('a refused offer does not take the folder from under another', async t => {
  const bench = await new TransferBench(t, { store: asIfDense }).start()
  const content = await bench.file('a', 100)
  await bench.file('huge', 1)

  await truncate(join(bench.outbox, 'huge'), 2 ** 42)
  const huge = await bench.send('huge', { directory: 'new/deeper' })
  const small = await bench.send('a', { directory: 'new/deeper' })
  await t.rejects(huge.outcome, { code: 'WEIR_NO_SPACE' })
  t.equal((await small.outcome).path, 'new/deeper/a')
  t.same(await bench.delivered('new/deeper/a'), content)
})

t.test('the longest name that a file can have', async t => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', 100)
  const name = `${'ü'.repeat(127)}x`
  t.equal((await (await bench.send('a', { as: name })).outcome).path, name)
  t.same(await bench.delivered(name), content)
})

t.test('names that lead out of the inbox are refused, and nothing is made', async t => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', 100)
  await symlink(bench.outbox, join(bench.inboxPath, 'way-out'))
  const wrong = [
    { as: '../a' },
    { as: '..' },
    { as: '/etc/a' },
    { as: 'x/y' },
    { as: 'x\\y' },
    { as: 'a\0b' },
    { as: 'x'.repeat(256) },
    { as: '.a.weir-partial-0123456789abcdef' },
    { directory: '..' },
    { directory: 'x/../../y' },
    { directory: '/tmp' },
    { directory: 'way-out' },
    { directory: 'way-out/deeper' },
  ]
  for (const names of wrong) {
    await t.rejects((await bench.send('a', names)).outcome, { code: 'WEIR_REJECTED' }, JSON.stringify(names))
  }
  t.same(await readdir(bench.inboxPath), ['way-out'])
  t.same(await readdir(bench.outbox), ['a'])
  await bench.checkReleased(t)
})

t.test("the name of the inbox's list is refused there, by whatever way, and free in folders", async t => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', 100)
  await symlink(bench.inboxPath, join(bench.inboxPath, 'loop'))
  const wrong = [
    { as: '.weir-delivered' },
    { as: '.weir-delivered~' },
    { directory: 'loop', as: '.weir-delivered' },
    { directory: '.weir-delivered' },
    { directory: 'loop/.weir-delivered/x' },
  ]
  for (const names of wrong) {
    const expected = { code: 'WEIR_REJECTED', message: /own list/ }
    await t.rejects((await bench.send('a', names)).outcome, expected, JSON.stringify(names))
  }
  t.same(await readdir(bench.inboxPath), ['loop'])
  await (await bench.send('a', { directory: 'sub/.weir-delivered', as: '.weir-delivered-2' })).outcome
  t.same(await bench.delivered('sub/.weir-delivered/.weir-delivered-2'), content)
})

t.test('a temporary name that is a link to elsewhere is not followed', async t => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', CHUNK * 3)
  await bench.file('victim', 10)
  bench.source.hook = (_f, work) => (work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM ? 'break' : undefined)
  await t.rejects(bench.run('send', 'a'), { code: 'WEIR_CONNECTION_LOST' })
  await bench.passiveOutcome()
  const [partial] = await readdir(bench.inboxPath)
  t.match(partial, /^\.a\.weir-partial-[0-9a-f]{16}$/)
  await unlink(join(bench.inboxPath, partial!))
  await symlink(join(bench.outbox, 'victim'), join(bench.inboxPath, partial!))
  bench.source.hook = () => undefined
  await t.rejects(bench.run('send', 'a'), { code: 'WEIR_TRANSFER_FAILED' })
  t.equal((await stat(join(bench.outbox, 'victim'))).size, 10)
})

t.test('sources that cannot be sent', async t => {
  const folder = t.testdir({ sub: {} })
  await t.rejects(openSource(join(folder, 'missing')), { code: 'WEIR_NO_FILE', message: /no such file/ })
  await t.rejects(openSource(join(folder, 'sub')), { code: 'WEIR_NO_FILE', message: /directory/ })
  await t.rejects(openSource('/dev/null'), { code: 'WEIR_NO_FILE', message: /not a regular file/ })
})

const skip = existsSync('/proc/version') ? false : 'there is no /proc'
t.test('a file that the kernel makes up has contents, though its size is 0', { skip }, async t => {
  t.equal((await stat('/proc/version')).size, 0)
  const bench = await new TransferBench(t).start()
  await symlink('/proc/version', join(bench.outbox, 'version'))
  const message =
    /version had more bytes than the 0 of its size while it was sent: .*copy it to a regular file first/
  await t.rejects((await bench.send('version')).outcome, { code: 'WEIR_TRANSFER_FAILED', message })
  await bench.passiveOutcome()
  t.same(await readdir(bench.inboxPath), [])
  await bench.checkReleased(t)
})
