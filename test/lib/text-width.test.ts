/** Columns on a terminal, by Unicode's East Asian Width, its marks and its emoji. */
import t from 'tap'
import { fit, padded, widthOf, within } from '../../lib/text-width.js'

const FAMILY = '👨\u200d👩\u200d👧'

t.test('what most texts are made of needs no tables of what readers take for one character', async t => {
  const tables = Intl as { Segmenter: unknown }
  const { Segmenter } = tables
  t.teardown(() => {
    tables.Segmenter = Segmenter
  })
  tables.Segmenter = class {
    constructor() {
      throw new Error('20 ms of CPU')
    }
  }
  for (const text of ['Größe, naïve', 'Отчёт', 'Ελλάδα', '████░░ 5 µs …', '┌─ h1 ▶ s1 → h2 – 1 × 2'])
    t.equal(widthOf(text), text.length, text)
  t.equal(within(4, 'Отчёт'), 'Отч…')
  t.throws(() => widthOf('数据'))
})

t.test('names as people give them', async t => {
  for (const [text, columns] of [
    ['e\u0301', 1],
    // As macOS writes the names of files, and the same as one character.
    ['\u304b\u3099', 2],
    ['\u304c', 2],
    ['ｶﾞ', 2],
    ['\u1112\u1161\u11ab', 2],
    ['한', 2],
    ['数据', 4],
    [FAMILY, 2],
    ['🇩🇪', 2],
    ['✅', 2],
    ['👍🏽', 2],
    ['☝🏽', 2],
    ['👩🏽\u200d🚀', 2],
    ['a👍🏽b👍🏽', 6],
    ['❤\ufe0f', 2],
    ['❤', 1],
    ['1\ufe0f\u20e3', 2],
    ['█░…', 3],
  ] as const)
    t.equal(widthOf(text), columns, text)
})

t.test('a text that is too wide is cut between characters', async t => {
  t.equal(within(4, '数据数据'), '数…')
  t.equal(fit('数据数据.bin', 8), '数据…bin')
  t.equal(fit('abc', 3), 'abc')
  t.equal(within(3, FAMILY.repeat(3)), `${FAMILY}…`, 'an emoji is not taken apart')
  t.equal(fit('e\u0301'.repeat(9), 5), `${'e\u0301'.repeat(2)}…${'e\u0301'.repeat(2)}`)
  t.equal(within(3, '👍🏽'.repeat(3)), '👍🏽…', 'its skin tone stays with it')
  t.equal(fit('👍🏽'.repeat(9), 5), '👍🏽…👍🏽')
  t.equal(within(4, '🇩🇪'.repeat(3)), '🇩🇪…', 'nor is a flag')
  t.equal(padded('数', 4), '数  ')
})
