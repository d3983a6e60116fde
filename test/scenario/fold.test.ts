/** Lines are broken at spaces where the terminal would break them within words. */
import t from 'tap'
import { fold } from '../../lib/scenario/result/fold.js'

t.test('lines are broken at spaces, and the rest is indented', async t => {
  t.equal(fold('  one two three', 9, 2), '  one two\n  three')
  t.equal(fold('ok    name  some words that go on', 28, 12), 'ok    name  some words that\n            go on')
  t.equal(fold('a line\nand another one\n', 8, 2), 'a line\nand\n  another\n  one\n')
})

t.test('what fits is left as it is, and so is all without a terminal', async t => {
  const text = '  a   b\n\nc  d\n'
  t.equal(fold(text, 7), text)
  t.equal(fold(text, Number.POSITIVE_INFINITY, 4), text)
})

t.test('a word that is wider stays whole, on a line of its own', async t => {
  t.equal(fold('in /a/very/long/path/of/a/file it is', 16, 2), 'in\n  /a/very/long/path/of/a/file\n  it is')
  t.equal(fold('   /a/very/long/path', 10, 2), '   /a/very/long/path')
})

t.test('an indent that leaves too little is not kept', async t => {
  t.equal(fold('name            one two three four', 20, 16), 'name            one\n  two three four')
})
