/** Lists of trees that are said while they grow: only whole messages, all entries once, and what ends a list late. */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LocalTree } from '../../lib/transfer/file/local-tree.js'
import type { MessageChannel } from '../../lib/transfer/mover/channel.js'
import { EntryMessages } from '../../lib/transfer/mover/entry-messages.js'
import {
  MESSAGE_BYTES_MAX,
  type TransferMessage,
  type TreeEntry,
} from '../../lib/transfer/protocol/messages.js'
import { TreeList } from '../../lib/transfer/protocol/tree-list.js'
import { fakePair } from '../support/fake-verbs.js'
import { WAYS, type Way } from '../support/transfer-bench.js'
import { checkAllReleased, serviceIn } from '../support/transfer-service.js'

const FILES = 2000
const never = new AbortController().signal

function entryOf(number: number): TreeEntry {
  const name = `file ${number}`
  return {
    name,
    parent: 0,
    kind: 'FILE',
    mode: 0o644,
    mtimeMs: 0,
    size: 1,
    allocatedBytes: 0,
    target: '',
    sameAs: 0,
  }
}

t.test('a list that grows is said in whole messages, and its end once it is whole', async t => {
  const tree = { list: new TreeList(), skipped: 3, isWhole: false }
  const said: TransferMessage[] = []
  const channel = { hasRoom: true, send: (_now: number, message: TransferMessage) => said.push(message) }
  const messages = new EntryMessages(tree, channel as unknown as MessageChannel)
  const lists = () => said.map(message => (message.body === 'entries' ? message.entries : null)!)
  for (let number = 1; number <= FILES; number++) {
    tree.list.add(entryOf(number))
    if (number % 7 === 0) t.notOk(messages.send(0)) || t.fail('the list is not whole')
  }
  const before = said.length
  t.ok(before > 10, `${before} messages before the end`)
  tree.isWhole = true
  t.ok(messages.send(0))
  t.same(
    lists().flatMap(({ entries }) => entries.map(({ name }) => name)),
    tree.list.entries.map(({ name }) => name),
  )
  t.same(
    [
      ...new Set(
        lists()
          .slice(0, -1)
          .map(({ last }) => last),
      ),
    ],
    [false],
  )
  t.match(lists().at(-1), { last: true, skipped: 3 })
  const least = Math.min(
    ...lists()
      .slice(0, -1)
      .map(({ entries }) => entries.length),
  )
  t.ok(least * 80 > MESSAGE_BYTES_MAX - 100, `each but the last is full: ${least} entries at least`)
})

function makeTree(folder: string, isWrong: boolean): void {
  mkdirSync(folder, { recursive: true })
  for (let i = 0; i < FILES; i++) writeFileSync(join(folder, `f${i}`), '')
  if (isWrong) symlinkSync('/etc', join(folder, 'z'))
}

async function start(t: Test, way: Way, isWrong: boolean) {
  const folder = t.testdir({ here: {}, there: {} })
  const [here, there] = [join(folder, 'here'), join(folder, 'there')]
  const [from, to] =
    way === 'send'
      ? [join(here, 'tree'), join(there, 'in')]
      : [join(there, 'share', 'tree'), join(here, 'in')]
  mkdirSync(to, { recursive: true })
  makeTree(from, isWrong)
  const verbs = fakePair()
  const services = [await serviceIn(here, verbs[0]), await serviceIn(there, verbs[1])]
  t.teardown(() => Promise.all(services.map(service => service.close(100))))
  const host = verbs[1].address.toString()
  const run = (signal = never) =>
    way === 'send'
      ? services[0]!.sendTree({ roots: [{ path: from, name: 'tree' }], host }, signal, () => {})
      : services[0]!.getTree({ paths: ['tree'], directory: to, host }, signal, () => {})
  return { to, run, released: () => checkAllReleased(t, services, ...verbs) }
}

for (const way of WAYS) {
  t.test(`${way}: a tree that is longer than what is known of it first`, async t => {
    const { to, run, released } = await start(t as Test, way, false)
    t.match(await run(), { attempts: 1, tree: { files: FILES, movedFiles: FILES } })
    t.equal(readdirSync(join(to, 'tree')).length, FILES)
    await released()
  })

  t.test(`${way}: what is wrong with it is found late`, async t => {
    const { to, run, released } = await start(t as Test, way, true)
    await t.rejects(run(), { code: 'WEIR_REJECTED', message: /leads out of the tree.*--links skip/ })
    t.same(readdirSync(to), [], 'nothing has come')
    await released()
  })

  t.test(`${way}: cancelled while it is listed`, async t => {
    const { to, run, released } = await start(t as Test, way, false)
    const ending = new AbortController()
    const ended = run(ending.signal)
    setTimeout(() => ending.abort(), 5)
    await t.rejects(ended, { code: 'WEIR_CANCELLED' })
    t.same(readdirSync(to), [], 'nothing has come')
    await released()
  })
}

t.test('nobody needs a list any more', async t => {
  const folder = join(t.testdir({}), 'tree')
  makeTree(folder, false)
  // Each file takes its time, so the list is not whole when its beginning is there.
  const admits = () => {
    const begunMs = performance.now()
    while (performance.now() - begunMs < 0.5);
    return true
  }
  const tree = await LocalTree.begin([{ path: folder, name: '' }], { admits })
  const known = tree.list.entries.length
  t.ok(known >= 256 && known < FILES && !tree.isWhole, `${known} entries are known first`)
  tree.stop()
  const whole = async () => {
    while (!tree.isWhole) await tree.more()
  }
  await t.rejects(whole(), { code: 'WEIR_CANCELLED' })
  t.ok(tree.list.entries.length < FILES, 'the rest is not listed')
})
