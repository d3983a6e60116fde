/** Text from a peer or a file name does not control the terminal. */
import t from 'tap'
import { printable } from '../../lib/printable.js'

t.test('what steers a terminal or turns a line is replaced', async t => {
  t.equal(
    printable('\u001b[2J\u001b]0;title\u0007'),
    '?[2J?]0;title?',
    'escape sequences of ECMA-48 and their end',
  )
  t.equal(printable('\u009b31m'), '?31m', 'CSI as one character')
  t.equal(printable('a\r\nb\tc\u0000\u007f'), 'a??b?c??')
  t.equal(printable('txt.\u202egpj'), 'txt.?gpj', 'writing from right to left hides what a name ends in')
  t.equal(printable('a\u2028b\u2029c\u200bd\ufeff'), 'a?b?c?d?')
})

t.test('all else stays', async t => {
  const text = 'Überschrift – 数据.bin 🦊 “a b” \\ / ? * $(x)'
  t.equal(printable(text), text)
})

t.test('a long text is cut', async t => {
  t.equal(printable('x'.repeat(10_000)), 'x'.repeat(500))
})
