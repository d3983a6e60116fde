/** Lists of trees by a sender that means harm: each is refused as it comes, and costs bounded memory. */
import t from 'tap'
import type { TreeEntry } from '../../lib/transfer/protocol/messages.js'
import { WantedFiles } from '../../lib/transfer/protocol/tree-layout.js'
import { ENTRIES_MAX, leadsOut, TreeList } from '../../lib/transfer/protocol/tree-list.js'
import { TreeChooserMachine, TreeTellerMachine } from '../../lib/transfer/protocol/tree-machines.js'

const entry = (more: Partial<TreeEntry>): TreeEntry => ({
  name: 'f',
  parent: 0,
  kind: 'FILE',
  mode: 0o644,
  mtimeMs: 0,
  size: 1,
  allocatedBytes: 0,
  target: '',
  sameAs: 0,
  ...more,
})
const tree = {
  body: 'tree',
  tree: { version: 1, directory: '', overwrite: false, transfer: new Uint8Array() },
} as const
const entries = (list: TreeEntry[], last: boolean) =>
  ({ body: 'entries', entries: { entries: list, last, skipped: 0 } }) as const

t.test('names and numbers that lead elsewhere', async t => {
  const wrong: Partial<TreeEntry>[] = [
    { name: '' },
    { name: '.' },
    { name: '..' },
    { name: '/etc' },
    { name: 'a/b' },
    { name: 'a\0b' },
    { name: 'x'.repeat(256) },
    { name: '.a.weir-partial-0123456789abcdef' },
    { parent: 1 },
    { parent: 3 },
    { parent: 4_294_967_295 },
    { size: 2 ** 53 },
    { size: -1 },
    { mtimeMs: Number.NaN },
    { mtimeMs: 1e300 },
    { mtimeNanos: 1e9 },
    { kind: 'KIND_UNSPECIFIED' as TreeEntry['kind'] },
    { kind: 'HARD_LINK', sameAs: 0 },
    { kind: 'HARD_LINK', sameAs: 2 },
    { kind: 'HARD_LINK', sameAs: 9 },
    { name: 'file' },
    { kind: 'SYMBOLIC_LINK', target: '' },
    { kind: 'SYMBOLIC_LINK', target: '/etc/passwd' },
    { kind: 'SYMBOLIC_LINK', target: '..' },
    { kind: 'SYMBOLIC_LINK', target: 'folder/../..' },
    { kind: 'SYMBOLIC_LINK', target: 'x'.repeat(3000) },
    { kind: 'SYMBOLIC_LINK', target: 'a\0b' },
  ]
  for (const more of wrong) {
    const list = new TreeList()
    list.add(entry({ name: 'file' }))
    list.add(entry({ name: 'folder', kind: 'FOLDER' }))
    t.throws(
      () => list.add(entry(more)),
      { code: /WEIR_(REJECTED|PROTOCOL)/ },
      JSON.stringify(more).slice(0, 80),
    )
    t.equal(list.entries.length, 2)
  }
})

t.test('a link may go up to the folder of the tree, and no further', async t => {
  const cases: [target: string, depth: number, leads: boolean][] = [
    ['a', 0, false],
    ['./a/b', 0, false],
    ['..', 1, false],
    ['../../a', 2, false],
    ['../../a', 1, true],
    // A link "a" may lead to another depth, so that what follows cannot be counted.
    ['a/..', 5, true],
    ['../a/../b', 5, true],
    ['/a', 5, true],
  ]
  for (const [target, depth, leads] of cases) t.equal(leadsOut(target, depth), leads, `${target} at ${depth}`)
})

t.test('too deep, too many, too long', async t => {
  const deep = new TreeList()
  t.throws(
    () => {
      for (let parent = 0; parent < 40; parent++) deep.add(entry({ parent, kind: 'FOLDER' }))
    },
    { code: 'WEIR_REJECTED', message: /levels/ },
  )
  t.equal(deep.entries.length, 32)
  const large = new TreeList()
  t.throws(
    () => {
      for (let i = 0; i <= ENTRIES_MAX; i++) large.add(entry({ name: `${i}` }))
    },
    { code: 'WEIR_REJECTED', message: /200000 entries/ },
  )
  const long = new TreeList()
  t.throws(
    () => {
      for (let i = 0; i < ENTRIES_MAX; i++) long.add(entry({ name: `${i}`.padEnd(255, 'x') }))
    },
    { code: 'WEIR_REJECTED', message: /long names/ },
  )
  t.ok(long.entries.length * 255 < 16 << 20)
  const heavy = new TreeList()
  heavy.add(entry({ size: 2 ** 53 - 1 }))
  t.throws(() => heavy.add(entry({ name: 'g', size: 2 })), { code: 'WEIR_PROTOCOL' })
})

t.test('messages of a list that are out of turn', async t => {
  const orders = [
    [entries([entry({})], true)],
    [tree, tree],
    [tree, entries([], false)],
    [tree, entries([entry({})], true), entries([entry({ name: 'g' })], true)],
    [{ body: 'offer' as const, offer: {} as never }],
  ]
  for (const order of orders) {
    const chooser = new TreeChooserMachine('the sender')
    for (const message of order) chooser.onMessage(message)
    t.match(chooser, { state: 'failed', failure: { code: 'WEIR_PROTOCOL' } })
  }
})

t.test('a receiver that wants what was not listed', async t => {
  const list = new TreeList()
  list.add(entry({ kind: 'FOLDER' }))
  list.add(entry({ name: 'g' }))
  const says = (bits: number[], first = 0, last = true) => ({
    body: 'wanted' as const,
    wanted: { bits: Uint8Array.from(bits), first, last },
  })
  for (const order of [
    [says([2, 0])],
    [says([2], 1)],
    [says([2], 3)],
    [says([], 0, false)],
    [says([2], 0, false), says([2])],
  ]) {
    const teller = new TreeTellerMachine(list, 'the receiver')
    teller.onBegun()
    teller.onListed()
    for (const message of order) teller.onMessage(message)
    t.match(teller, { state: 'failed', failure: { code: 'WEIR_PROTOCOL' } })
  }
  const teller = new TreeTellerMachine(list, 'the receiver')
  teller.onBegun()
  teller.onListed()
  teller.onMessage(says([0xff], 2))
  t.ok(teller.wanted instanceof WantedFiles)
})
