/** Globs of other hosts match as those of a shell, and cost bounded time whatever they are. */
import t from 'tap'
import { nameMatcher, pathMatcher } from '../../lib/transfer/protocol/glob.js'

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
