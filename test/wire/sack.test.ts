/** The SACK header byte by byte, as in the comment of lib/wire/weir/sack.ts. */
import t from 'tap'
import * as sack from '../../lib/wire/weir/sack.js'

function blank(fill: number): { view: DataView; hex: () => string } {
  const bytes = Buffer.alloc(2 + sack.BYTES + 2, fill)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return { view, hex: () => bytes.toString('hex') }
}

t.test('bytes', async t => {
  const { view, hex } = blank(0xee)
  sack.write(view, 2, 0x1_abcdef)
  t.equal(hex(), `eeee00abcdef${'00'.repeat(32)}eeee`, 'nothing around it is touched')
  sack.add(view, 2, 0)
  sack.add(view, 2, 9)
  sack.add(view, 2, 31)
  sack.add(view, 2, 32)
  sack.add(view, 2, 255)
  t.equal(hex(), `eeee00abcdef80400001${'80000000'}${'00'.repeat(23)}01eeee`)
})

t.test('reading', async t => {
  const bytes = Buffer.from(`7f00000580400001${'80000000'}${'00'.repeat(24)}`, 'hex')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  t.equal(sack.basePsn(view, 0), 5, 'the reserved byte is not read')
  t.equal(sack.word(view, 0, 0), 0x80400001)
  t.equal(sack.word(view, 0, 1), 0x80000000)
  const set = Array.from({ length: sack.BITS }, (_, bit) => bit).filter(bit => sack.has(view, 0, bit))
  t.same(set, [0, 9, 31, 32])
  t.equal(sack.lastBit(view, 0), 32)
  t.equal(sack.print(view, 0), 'sack 5 14 36-37')
})

t.test('every bit by itself', async t => {
  const { view } = blank(0)
  const wrong: number[] = []
  for (let bit = 0; bit < sack.BITS; bit++) {
    sack.write(view, 2, 0xffffff)
    sack.add(view, 2, bit)
    const psn = (0xffffff + bit) & 0xffffff
    if (sack.lastBit(view, 2) !== bit || sack.print(view, 2) !== `sack ${psn}`) wrong.push(bit)
  }
  t.same(wrong, [])
  sack.write(view, 2, 0)
  t.equal(sack.lastBit(view, 2), -1)
  t.equal(sack.print(view, 2), 'sack nothing')
})
