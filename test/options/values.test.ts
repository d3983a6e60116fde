/** Values of options, kind by kind: from files, from command lines, as text. */
import assert from 'node:assert/strict'
import t from 'tap'
import { checkOptions, settingTexts } from '../../lib/options/check-options.js'
import { idleOptions } from '../../lib/options/idle.js'
import { flagOf, MOST, type NumberKind, type ValueOption } from '../../lib/options/option.js'
import { parseOptions, parseValue } from '../../lib/options/parse-options.js'
import { readValue } from '../../lib/options/read-value.js'
import { rangeText, textOf, words } from '../../lib/options/value.js'
import { fc, property } from '../support/property.js'

const of = (kind: NumberKind['kind'], min: number, max: number): ValueOption => ({
  name: 'x',
  kind,
  min,
  max,
  doc: '',
})
const FLAG: ValueOption = { name: 'x', kind: 'flag', doc: '' }
const EXCEPT: ValueOption = { name: 'x', kind: 'count', min: 0, max: 9, except: [3, 4], doc: '' }
const CHOICE: ValueOption = { name: 'x', kind: 'choice', choices: ['ack', 512], doc: '' }

t.test('what stands in files, and what is said of the rest', async t => {
  for (const [option, given, value] of [
    [of('number', 0, 2), 0.5, 0.5],
    [of('number', 0, 2), '0.5', "a number from 0 to 2 is needed, not '0.5'"],
    [of('number', 0, 2), 2.5, 'a number from 0 to 2 is needed, not 2.5'],
    [of('count', 1, 9), 9, 9],
    [of('count', 1, 9), 1.5, 'a whole number from 1 to 9 is needed, not 1.5'],
    [of('count', 1, MOST), 0, 'a whole number from 1 is needed, not 0'],
    [of('share', 0, 1), '20%', 0.2],
    [of('share', 0, 0.5), 0.6, 'a share from 0 to 0.5 is needed, not 0.6'],
    [of('bytes', 0, 1e6), '64KiB', 65_536],
    [of('bytes', 0, 1e6), 5, 5],
    [of('bytes', 0, 1e6), '2MB', 'a size from 0B to 1MB is needed, not 2MB'],
    [of('bytes', 1, MOST), 0, 'a size above zero is needed, not 0B'],
    [of('bytes', 0, MOST), true, 'true is no quantity'],
    [of('time', 0, 60e9), '1.5us', 1500],
    [of('time', 0, 60e9), 0, 0],
    [of('time', 0, 60e9), '2min', 'a time from 0 to 1min is needed, not 2min'],
    [of('time', 1, MOST), '0s', 'a time above zero is needed, not 0'],
    [of('rate', 1000, 1e9), '2.5Mbps', 2_500_000],
    [of('rate', 1000, 1e9), '1bps', 'a rate from 1Kbps to 1Gbps is needed, not 1bps'],
    [FLAG, false, false],
    [FLAG, 'true', "true or false is needed, not 'true'"],
    [CHOICE, 512, 512],
    [CHOICE, 'nack', "'nack' is not among the choices: ack, 512"],
  ] as const) {
    if (typeof value === 'string') t.throws(() => readValue(option, given), { message: value })
    else t.equal(readValue(option, given), value, `${option.kind} ${given}`)
  }
  for (const [option, given] of [
    [of('time', 0, MOST), 5],
    [of('time', 0, MOST), '5'],
    [of('rate', 1, MOST), '1Gb'],
  ] as const) {
    t.throws(() => readValue(option, given), { code: 'WEIR_BAD_ARGUMENT', message: /unit/ })
  }
})

t.test('what is typed', async t => {
  for (const [option, text, value] of [
    [of('number', 0, 2), '0.5', 0.5],
    [of('number', 0, 2), '', '--x is a number from 0 to 2, not ""'],
    [of('count', 1, 9), '10', '--x is a whole number from 1 to 9, not 10'],
    [
      of('count', 0, 9),
      '0x1',
      '--x is a whole number from 0 to 9, not "0x1": write it in decimal digits, as 1',
    ],
    [
      of('count', 0, 2000),
      '1e3',
      '--x is a whole number from 0 to 2000, not "1e3": write it in decimal digits, as 1000',
    ],
    [of('count', 0, 9), '1e3', '--x is a whole number from 0 to 9, not "1e3"'],
    [of('count', 0, 9), '1.5', '--x is a whole number from 0 to 9, not "1.5"'],
    [
      of('number', 0, 1),
      '5e-7',
      '--x is a number from 0 to 1, not "5e-7": write it in decimal digits, as 0.0000005',
    ],
    [of('number', 0, 1), '-1', '--x is a number from 0 to 1, not -1'],
    [of('number', 0, 1), '.5', 0.5],
    [EXCEPT, '5', 5],
    [EXCEPT, '4', '--x is a whole number from 0 to 9, except 3 and 4, not 4'],
    [of('bytes', 4096, MOST), '1KB', '--x is a size from 4KiB, not "1KB"'],
    [of('count', 0, 9), '', '--x is a whole number from 0 to 9, not ""'],
    [of('count', 1, 9), 'x', '--x is a whole number from 1 to 9, not "x"'],
    [of('bytes', 0, 1e6), '64KB', 64_000],
    [of('time', 0, 60e9), '1ms', 1e6],
    [FLAG, 'true', true],
    [FLAG, 'false', false],
    [FLAG, 'yes', '--x is true or false, not "yes"'],
    [CHOICE, '512', 512],
    [CHOICE, 'nack', '--x is one of ack, 512, not "nack"'],
  ] as const) {
    if (typeof value === 'string') {
      t.throws(() => parseValue('--x', option, text), { code: 'WEIR_BAD_ARGUMENT', message: value })
    } else t.equal(parseValue('--x', option, text), value, `${option.kind} ${text}`)
  }
  t.throws(() => parseValue('--x', of('time', 0, 1e9), '250'), { message: /unit is missing/ })
  for (const [kind, text] of [
    ['bytes', '1e3'],
    ['bytes', '1e3KB'],
    ['bytes', '0x10KB'],
    ['rate', '1E9bps'],
    ['time', '1e3us'],
    ['share', '1e-1'],
  ] as const) {
    const message =
      /^--x: '.*' is not understood: numbers are decimal digits, without an exponent or 0x(, as in [1-9][0-9]*[a-zA-Z]*)?; .* is written as/
    t.throws(() => parseValue('--x', of(kind, 0, MOST), text), { code: 'WEIR_BAD_ARGUMENT', message }, text)
  }
})

t.test('any value is written as text that is read as the same value', async t => {
  const kinds = fc.constantFrom<NumberKind['kind'][]>('count', 'bytes', 'time', 'rate', 'number', 'share')
  const numbers = fc.tuple(fc.nat({ max: 2 ** 31 }), fc.integer({ min: 0, max: 20 }))
  property(t, 'it is the same', fc.tuple(kinds, numbers), ([kind, [low, power]]) => {
    const whole = Math.max(1, low * 2 ** power)
    const value = kind === 'share' ? (low % 1000) / 1000 : kind === 'number' ? low / 2 ** 31 : whole
    const option = of(kind, 0, MOST)
    const text = textOf(option, value)
    assert.equal(parseValue('x', option, text), value, text)
  })
})

t.test('ranges in words', async t => {
  t.equal(words(of('bytes', 0, MOST)), 'size')
  t.equal(words(of('bytes', 1, MOST)), 'size above 0')
  t.equal(words(of('share', 0, 1)), 'share, 0 to 1 or 0% to 100%')
  t.equal(words(of('rate', 1000, 4e12)), 'rate, 1Kbps to 4Tbps')
  t.equal(words(FLAG), '`true` or `false`')
  t.equal(rangeText(CHOICE), 'one of ack, 512')
})

const TABLE: readonly ValueOption[] = [
  { name: 'mode', kind: 'choice', choices: ['a', 'b'], default: 'a', doc: '' },
  { name: 'every', kind: 'count', min: 0, max: 9, default: 0, doc: '' },
  {
    name: 'wait',
    kind: 'time',
    min: 0,
    max: 1e9,
    default: 5,
    doc: '',
    idle: [
      { while: { mode: 'a', every: { above: 3 } }, mend: 'mode to b' },
      { while: { mode: { not: 'a' }, every: 0 }, why: 'nothing waits', mend: 'every above 0' },
    ],
  },
  { name: 'loud', kind: 'flag', default: true, doc: '', idle: [{ while: { every: { given: true } } }] },
]

t.test(
  'options without effect: several conditions, words of their own, flags that ask for nothing',
  async t => {
    const messages = (given: Record<string, unknown>) =>
      idleOptions(TABLE, given).map(({ message }) => message)
    t.same(messages({ waitNs: 1 }), [])
    t.same(messages({ waitNs: 1, every: 4 }), [
      'wait has no effect while mode is a and every is above 3: leave it out, or set mode to b',
    ])
    t.same(messages({ waitNs: 1, mode: 'b' }), [
      'wait has no effect while nothing waits: leave it out, or set every above 0',
    ])
    t.same(messages({ waitNs: 1, mode: 'b', every: 4 }), [])
    t.same(messages({ mode: 'b' }), [], 'what is not given is not said to be idle')
    t.same(messages({ loud: true, every: 0 }), ['loud has no effect beside every: leave one of them out'])
    t.same(messages({ loud: false, every: 0 }), [])
    t.same(settingTexts(TABLE, { mode: 'b', every: 0, waitNs: 1, loud: false }), [
      'mode=b',
      'every=0',
      'loud=false',
    ])
  },
)

t.test('a table as a whole', async t => {
  t.same(parseOptions('it', TABLE, ['mode=b', 'every=2', 'wait=1us']), { mode: 'b', every: 2, waitNs: 1000 })
  for (const [texts, message] of [
    [['mode'], 'option "mode" of it: NAME=VALUE is expected'],
    [['=b'], 'option "=b" of it: NAME=VALUE is expected'],
    [['mood=b'], 'it has no option mood; it has mode, every, wait, loud'],
    [['every=10'], 'it: every is a whole number from 0 to 9, not 10'],
    [['every=2', 'every=2'], 'it: every is given twice: leave one of them out'],
  ] as const) {
    t.throws(() => parseOptions('it', TABLE, texts), { code: 'WEIR_BAD_ARGUMENT', message })
  }
  t.doesNotThrow(() => checkOptions('it', TABLE, { mode: 'a', every: '3', loud: 0 }))
  for (const values of [{ mode: 'c' }, { every: 10 }, { every: true }, { loud: 2 }, { more: 1 }]) {
    t.throws(() => checkOptions('it', TABLE, values), { code: 'WEIR_BAD_ARGUMENT' }, JSON.stringify(values))
  }
})

t.test('a message calls an option by its long form', async t => {
  const flag = (text: string) => flagOf({ ...FLAG, command: { flag: text } })
  t.equal(flag('-c, --count <count>'), '--count')
  t.equal(flag('-v, --verify'), '--verify')
  t.equal(flag('--ack-every <packets>'), '--ack-every')
  t.equal(flagOf(FLAG), 'x')
})
