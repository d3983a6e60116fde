import t from 'tap'
import { Serializer } from '../../switch-emu/core/queueing/serializer.js'
import { seeded } from './helpers.js'

t.test('frames start at max(ready, previous end) and take their bits at the rate', async t => {
  const line = new Serializer(1e9) // 8 ns a byte
  t.equal(line.transmit(1000, 100), 1000, 'a free line starts at once')
  t.equal(line.endNs, 1800)
  t.equal(line.transmit(1500, 50), 1800, 'a busy one at its end')
  t.equal(line.endNs, 2200)
  t.equal(line.transmit(5000, 1), 5000, 'after a pause at the arrival')
  t.equal(line.endNs, 5008)
  t.equal(line.startNs, 5000)
})

t.test('64 B at 400 Gbit/s take 1.28 ns: ends are the exact ones rounded up', async t => {
  const line = new Serializer(400e9)
  const starts: number[] = []
  const ends: number[] = []
  for (let i = 0; i < 6; i++) {
    starts.push(line.transmit(0, 64))
    ends.push(line.endNs)
  }
  t.same(ends, [2, 3, 4, 6, 7, 8], 'of 1.28, 2.56, 3.84, 5.12, 6.40, 7.68')
  t.same(starts, [0, 2, 3, 4, 6, 7])
})

t.test('a pause drops the fraction that was carried', async t => {
  const line = new Serializer(100e9)
  line.transmit(0, 1048) // 83.84
  t.equal(line.endNs, 84)
  line.transmit(100, 1048)
  t.equal(line.endNs, 184, '100 + 83.84')
})

t.test('a long train keeps the rate exactly, at any rate', async t => {
  const random = seeded(t, 11)
  for (let round = 0; round < 50; round++) {
    const rate = 1_000 * (1 + random.below(800_000_000))
    const line = new Serializer(rate)
    let bits = 0n
    for (let i = 0; i < 500; i++) {
      const bytes = 60 + random.below(9_000)
      bits += BigInt(bytes) * 8n
      line.transmit(0, bytes)
      const exact = (bits * 1_000_000_000n + BigInt(rate) - 1n) / BigInt(rate)
      if (BigInt(line.endNs) !== exact) return t.fail(`rate ${rate}, frame ${i}: ${line.endNs}, not ${exact}`)
    }
  }
})

t.test('busy time counts only what has passed', async t => {
  const line = new Serializer(8e9) // 1 ns a byte
  line.transmit(100, 50)
  t.equal(line.busyNs(100), 0)
  t.equal(line.busyNs(120), 20)
  t.equal(line.busyNs(150), 50)
  line.transmit(200, 100)
  t.equal(line.busyNs(250), 100)
  t.equal(line.busyNs(300), 150)
  t.equal(line.busyNs(1000), 150)
})

t.test('rates that no link has are refused', async t => {
  for (const rate of [0, -1, 999, 1e9 + 0.5, 5e12, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => new Serializer(rate), { code: 'WEIR_BAD_ARGUMENT' }, String(rate))
  }
})
