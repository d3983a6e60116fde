/** Which retransmitted packets had only been overtaken, by the order in which packets come. */
import t from 'tap'
import { LateOriginals } from '../../lib/qp/recovery/late-originals.js'

t.test(
  'more than sixteen transmissions before a retransmission are missing: the original has come',
  async t => {
    for (const [number, packets] of [
      [116, 0],
      [117, 1],
    ] as const) {
      const originals = new LateOriginals()
      originals.onArrived(100)
      originals.onSoon(number)
      originals.judge(0)
      t.equal(originals.packets, packets, `transmission ${number}`)
    }
  },
)

t.test('all of an acknowledgement counts, in whatever order it names packets', async t => {
  const originals = new LateOriginals()
  originals.onArrived(100)
  originals.onSoon(160)
  originals.onSoon(135)
  originals.onArrived(130)
  originals.judge(0)
  t.equal(originals.packets, 1, '135 has come itself, and 160 has not')
  originals.judge(0)
  t.equal(originals.packets, 0, 'each is judged once')
})

t.test('only retransmissions of the recovery under way refute it', async t => {
  const originals = new LateOriginals()
  originals.onSoon(200)
  originals.onSoon(300)
  originals.judge(250)
  t.equal(originals.packets, 2)
  t.equal(originals.ofRecovery, 1)
})

t.test('after silence all that left before it may be lost', async t => {
  const originals = new LateOriginals()
  originals.onArrived(100)
  originals.onSilence(1000)
  originals.onSoon(1001)
  originals.judge(0)
  t.equal(originals.packets, 0)
})

t.test('a packet that was taken for lost is found once', async t => {
  const originals = new LateOriginals()
  originals.onFound()
  originals.judge(0)
  t.equal(originals.foundLost, true)
  originals.judge(0)
  t.equal(originals.foundLost, false)
})
