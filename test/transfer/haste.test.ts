/** When synchronous calls are taken for slow ones. */
import t from 'tap'
import { Haste } from '../../lib/transfer/file/haste.js'

/** Has each call of some take so many milliseconds. */
function take(haste: Haste, times: readonly number[]): void {
  const { now } = performance
  let ms = 0
  performance.now = () => ms
  try {
    for (const time of times)
      haste.run(() => {
        ms += time
      })
  } finally {
    performance.now = now
  }
}

const of = (count: number, ms: number) => Array.from({ length: count }, () => ms)

t.test('the median of 64 decides', async t => {
  const fast = new Haste()
  take(fast, [...of(31, 0.02), ...of(20, 30), ...of(13, 0.02)])
  t.ok(fast.pays, 'the thread did not have its core all the time')
  take(fast, of(64, 0.9))
  t.ok(fast.pays)
  take(fast, of(63, 1.1))
  t.ok(fast.pays, 'one call is missing')
  take(fast, of(1, 1.1))
  t.notOk(fast.pays)
  take(fast, of(640, 0.01))
  t.notOk(fast.pays, 'once slow, always slow')
})

t.test('calls that hold up packets for long', async t => {
  const haste = new Haste()
  take(haste, of(2, 150))
  t.ok(haste.pays)
  take(haste, of(62, 0.01))
  take(haste, of(2, 150))
  t.ok(haste.pays, 'they count for 64 calls')
  take(haste, of(1, 150))
  t.notOk(haste.pays)
})
