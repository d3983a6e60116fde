/** Columns on a terminal, by Unicode's East Asian Width and general categories. */
import t from 'tap'
import { fit, widthOf, within } from '../../lib/text-width.js'

t.test('a combining mark has no column, also where its neighbours in Unicode have two', async t => {
  t.equal(widthOf('e\u0301'), 1)
  t.equal(widthOf('\u304b\u3099'), 2, 'as macOS writes the names of files')
  t.equal(widthOf('\u304c'), 2, 'the same as one character')
})

t.test('a text that is too wide is cut between characters', async t => {
  t.equal(within(4, '数据数据'), '数…')
  t.equal(fit('数据数据.bin', 8), '数据…bin')
  t.equal(fit('abc', 3), 'abc')
})
