/** Which part of a file's TAP the suite parses: too much costs minutes, too little would hide a failure. */
import t from 'tap'
import { topLevel } from './top-level.js'

const passed = `TAP version 14
# Subtest: one
    ok 1 - nested
    1..1
ok 1 - one # time=1ms
# a measurement
ok 2 - two # SKIP no tshark
  ---
  at: here
  ...
ok 3 - three {
    ok 1 - nested
    1..1
}
1..3
# time=3ms
`

t.test('of a file that passes, the top level is left, with its skips and comments', async t => {
  t.equal(
    topLevel(passed),
    `TAP version 14
ok 1 - one # time=1ms
# a measurement
ok 2 - two # SKIP no tshark
ok 3 - three
1..3
# time=3ms
`,
  )
})

t.test('all lines of a file that failed, bailed out or came to no plan are left', async t => {
  const nested = '# Subtest: one\n    not ok 1 - nested\n      ---\n      found: 1\n      ...\n    1..1\n'
  for (const tap of [
    `${nested}not ok 1 - one\n1..1\n`,
    `${nested}Bail out! here\n1..1\n`,
    `${nested}ok 1 - one\n`,
    '',
  ]) {
    t.equal(topLevel(tap), tap)
  }
})
