/** What controllers do when T changes. */
import t from 'tap'
import { FixedWindow } from '../../lib/cc/fixed-window/fixed-window.js'
import { RxHpcc } from '../../lib/cc/rx-hpcc/rx-hpcc.js'
import { RxHpccReceiver } from '../../lib/cc/rx-hpcc/rx-hpcc-receiver.js'
import { sampleOf } from './samples.js'

const T = 100_000
const RATE_BPS = 8e9
const context = { lineRateBps: RATE_BPS, baseRttNs: T, mtuBytes: 1000 }

t.test('fixed-window takes the first T that is measured, and keeps its window from then on', async t => {
  const cc = new FixedWindow(context)
  t.equal(cc.windowBytes(), 100_000)
  cc.onBaseRtt(0, 2 * T)
  t.equal(cc.windowBytes(), 200_000)
  cc.onAck(0, sampleOf([]))
  cc.onBaseRtt(0, 4 * T)
  t.equal(cc.windowBytes(), 200_000)
})

t.test('rx-hpcc follows T as HPCC++ does: the rate stays as it is, at both ends', async t => {
  const sender = new RxHpcc(context)
  sender.onReceiverWindow(0, 50_000)
  const rateBps = sender.rateBps()
  sender.onBaseRtt(0, 2 * T)
  t.equal(sender.rateBps(), rateBps)
  sender.onReceiverWindow(0, 150_000)
  t.equal(sender.rateBps(), (150_000 * 8e9) / (2 * T), 'windows up to line rate x the new T are taken')
  const receiver = new RxHpccReceiver(context)
  const windowBytes = receiver.windowBytes()
  receiver.onBaseRtt(0, 2 * T)
  t.equal(receiver.baseRttNs, 2 * T)
  t.equal(receiver.windowBytes(), 2 * windowBytes)
})
