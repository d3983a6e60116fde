/** Globs of other hosts match as those of a shell, and cost bounded time whatever they are. */
import t from 'tap'
import { checkFilters } from '../../lib/transfer/file/check-filters.js'
import { nameMatcher, pathMatcher, shellMatcher } from '../../lib/transfer/protocol/glob.js'
import { TreeList } from '../../lib/transfer/protocol/tree-list.js'
import { checkAsked } from '../../lib/transfer/protocol/wishes.js'

t.test('names', async t => {
  const cases: [glob: string, yes: string[], no: string[]][] = [
    ['*', ['', 'a', 'abc'], []],
    ['a*c', ['ac', 'abc', 'abcc'], ['ab', 'bc']],
    ['*.c*v', ['a.csv', '.cv'], ['a.c', 'csv']],
    ['?', ['a', 'ü', '\u{1f600}', '\udcff'], ['', 'ab']],
    ['[abc]', ['a', 'b', 'c'], ['d', '']],
    ['[a-c]x', ['ax', 'cx'], ['dx', '-x']],
    ['[!a-c]', ['d', '-'], ['a', 'b']],
    ['[^a]', ['b'], ['a']],
    ['[]a]', [']', 'a'], ['b']],
    ['[!]]', ['a'], [']']],
    ['[a-]', ['a', '-'], ['b']],
    ['[ab', ['[ab'], ['a']],
    ['\\*', ['*'], ['a', '\\*']],
    ['a\\', ['a\\'], ['a']],
    ['a+(b)', ['a+(b)'], ['ab']],
  ]
  for (const [glob, yes, no] of cases) {
    const matches = nameMatcher(glob)
    for (const name of yes) t.ok(matches(name), `${glob} matches ${name}`)
    for (const name of no) t.notOk(matches(name), `${glob} does not match ${name}`)
  }
  t.throws(() => nameMatcher('{a,b}'), { code: 'WEIR_REJECTED' })
})

t.test('paths', async t => {
  t.ok(pathMatcher('**/x')('x'))
  t.ok(pathMatcher('**/x')('a/b/x'))
  t.notOk(pathMatcher('**/x')('a/b/xy'))
  t.ok(pathMatcher('a/**')('a/b/c'))
  t.ok(pathMatcher('a/**/d')('a/d'))
  t.notOk(pathMatcher('a/*/d')('a/b/c/d'))
  t.notOk(pathMatcher('*')('a/b'))
})

t.test('a glob that takes exponential time elsewhere', async t => {
  let compared = 0
  const name = 'a'.repeat(255)
  const matches = nameMatcher(`${'*a'.repeat(120)}b`)
  for (; compared < 1000; compared++) if (matches(name)) break
  t.equal(compared, 1000)
})

t.test('a long class is no work for each of its characters', async t => {
  // None of 900 characters is in the name: each place of it is looked at for each.
  let looks = 0
  const has = Set.prototype.has
  t.teardown(() => {
    Set.prototype.has = has
  })
  Set.prototype.has = function (value) {
    looks++
    return has.call(this, value)
  }
  const members = Array.from({ length: 900 }, (_, i) => String.fromCharCode(0x4e00 + i)).join('')
  t.notOk(nameMatcher(`*[${members}]`)('a-name-of-20-letters'))
  t.ok(looks > 0 && looks <= 21, `${looks} looks`)
  t.ok(nameMatcher(`*[${members}a-c]`)('xb'))
  t.throws(() => nameMatcher(`[${'a-c'.repeat(17)}]`), { code: 'WEIR_REJECTED' })
})

t.test('hidden names, as a shell has them', async t => {
  const seen = (glob: string) => ['.a', 'a'].filter(shellMatcher(glob))
  t.same([seen('*'), seen('?*'), seen('[.a]*'), seen('.*')], [['a'], ['a'], ['a'], ['.a']])
})

t.test('names that were not asked for are refused, hidden ones by a glob too', async t => {
  const listOf = (name: string) => {
    const list = new TreeList()
    const rest = { parent: 0, mode: 0o644, mtimeMs: 0, allocatedBytes: 0, target: '', sameAs: 0 }
    list.add({ kind: 'FILE', name, size: 1, ...rest })
    return list
  }
  const cases: [wish: string, name: string, ok: boolean][] = [
    ['*', '.bashrc', false],
    ['d/*rc', '.bashrc', false],
    ['.b*', '.bashrc', true],
    ['d/.bashrc', '.bashrc', true],
    ['*', 'a', true],
    ['d/', '.bashrc', true],
    ['d', 'e', false],
  ]
  for (const [wish, name, ok] of cases) {
    const check = () => checkAsked([wish], listOf(name))
    if (ok) t.doesNotThrow(check, `${wish}: ${name}`)
    else t.throws(check, { code: 'WEIR_PROTOCOL' }, `${wish}: ${name}`)
  }
})

t.test('what a server lists although the globs leave it out is refused', async t => {
  const listOf = (...paths: string[]) => {
    const list = new TreeList()
    const numbers = new Map([['', 0]])
    for (const path of paths) {
      const slash = path.lastIndexOf('/', path.length - 2)
      const isFolder = path.endsWith('/')
      const name = path.slice(slash + 1, isFolder ? -1 : undefined)
      const parent = numbers.get(path.slice(0, slash + 1))!
      const rest = { mode: 0o644, mtimeMs: 0, allocatedBytes: 0, target: '', sameAs: 0, size: 0 }
      numbers.set(path, list.add({ kind: isFolder ? 'FOLDER' : 'FILE', name, parent, ...rest }))
    }
    return list
  }
  const cases: [paths: string[], exclude: string[], include: string[], listed: string[], ok: boolean][] = [
    [['d'], ['*.tmp'], [], ['d/', 'd/a', 'd/e/', 'd/e/b'], true],
    [['d'], ['*.tmp'], [], ['d/', 'd/e/', 'd/e/b.tmp'], false],
    [['d'], ['*.tmp'], ['b.tmp'], ['d/', 'd/b.tmp'], true],
    // Paths begin below a folder that was named.
    [['d'], ['d'], [], ['d/', 'd/a'], true],
    [['d'], ['/e/'], [], ['d/', 'd/e/'], false],
    [['d/'], ['/e/'], [], ['e/'], false],
    [['d/'], ['/e/'], [], ['f/', 'f/e/'], true],
    [['a.tmp'], ['*.tmp'], [], ['a.tmp'], false],
    [['d'], [], ['*.c'], ['d/', 'd/e/', 'd/a.c'], true],
    [['d'], [], ['*.c'], ['d/', 'd/a.h'], false],
    [['d', 'e/'], ['*.tmp'], [], ['d/', 'x.tmp'], false],
    [['d'], [], [], ['d/', 'd/x.tmp'], true],
  ]
  for (const [paths, exclude, include, listed, ok] of cases) {
    const what = `${paths} without ${exclude} with ${include}: ${listed}`
    const check = checkFilters(
      { paths, exclude, include, skipLinks: false, checksum: null },
      listOf(...listed),
    )
    if (ok) await t.resolves(check, what)
    else await t.rejects(check, { code: 'WEIR_PROTOCOL' }, what)
  }
})
