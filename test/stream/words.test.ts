/** The format of streams, byte for byte as docs/streams.md has it. */
import t from 'tap'
import {
  checkFlags,
  Flag,
  flagsOf,
  grantedOf,
  immediateOf,
  readWords,
  type StreamWords,
  writeWords,
} from '../../lib/stream/words.js'
import { refusal } from '../nic/pair.js'

const WORDS: StreamWords = {
  version: 1,
  kind: 'messages',
  segmentBytes: 65_536,
  receives: 258,
  messageBytesMax: 0x01020304,
}
const BYTES = '5753 01 02 00010000 0102 0000 01020304'.replaceAll(' ', '')

t.test('words at connect', async t => {
  t.equal(Buffer.from(writeWords(WORDS)).toString('hex'), BYTES)
  t.same(readWords(Buffer.from(`${BYTES}ffffffff`, 'hex')), WORDS, 'with anything behind them')
  t.same(
    readWords(Buffer.from(BYTES.replace('575301', '575309'), 'hex')),
    { ...WORDS, version: 9 },
    'of a later version',
  )
  for (let length = 0; length < BYTES.length; length += 2)
    refusal(() => readWords(Buffer.from(BYTES.slice(0, length), 'hex')), 'WEIR_PROTOCOL')
})

t.test('words that are none', async t => {
  const with_ = (at: number, hex: string) =>
    Buffer.from(BYTES.slice(0, 2 * at) + hex + BYTES.slice(2 * at + hex.length), 'hex')
  const wrong: [string, Buffer][] = [
    ['nothing of a stream', with_(0, '0000')],
    ['version is 0', with_(2, '00')],
    ['no kind', with_(3, '03')],
    ['255 bytes', with_(4, '000000ff')],
    ['1048577 bytes', with_(4, '00100001')],
    ['1 receives', with_(8, '0001')],
    ['32768 receives', with_(8, '8000')],
  ]
  for (const [what, bytes] of wrong)
    t.match(
      refusal(() => readWords(bytes), 'WEIR_PROTOCOL'),
      what,
    )
})

t.test('immediates', async t => {
  t.equal(immediateOf(Flag.DATA | Flag.MESSAGE_END, 0x01abcdef), 0x03abcdef, 'grants are modulo 2^24')
  t.equal(flagsOf(0xff000001), 0xff)
  t.equal(grantedOf(0xff000001), 1)
  for (const flags of [0, 1, 3, 5, 7, 8]) checkFlags(flags)
  for (const flags of [2, 4, 6, 9, 12, 0x10, 0x80, 0xff]) refusal(() => checkFlags(flags), 'WEIR_PROTOCOL')
})
