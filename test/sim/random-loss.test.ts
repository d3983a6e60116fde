/**
 * Goodput with random loss, compared with an independent model of TCP CUBIC with segments of 1,448 bytes and
 * the same chance of loss.
 */
import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { usual, variants } from '../support/long.js'
import { fixedSeeds } from '../support/seeds.js'
import { DAEMON } from './beside.js'
import { write } from './bottleneck.js'
import { cubicGoodputBps } from './cubic-model.js'

const RTT_MS = 20

usual('the model has the response function of RFC 9438 and of Reno (section 5.2, table 1)', async t => {
  const random = new Random(1)
  const model = (loss: number, rttSeconds: number, seconds: number) => {
    const options = { loss, rttSeconds, segmentBytes: 1, linux: true }
    return (cubicGoodputBps(options, seconds, () => random.next()) * rttSeconds) / 8
  }
  // 10^-3 and 10 ms: Reno-friendly, sqrt(1.5 / p) with losses at equal distances.
  const reno = [model(1e-3, 0.01, 150), Math.sqrt(1.5 / 1e-3)] as const
  t.ok(Math.abs(reno[0] / reno[1] - 1) < 0.25, `${reno}`)
  // 10^-4 and 0.5 s: the cubic region, (C (3 + beta) / 4 / (1 - beta))^(1/4) x (RTT / p)^(3/4).
  const cubic = [model(1e-4, 0.5, 1000), ((0.4 * 3.7) / 1.2) ** 0.25 * (0.5 / 1e-4) ** 0.75] as const
  t.ok(Math.abs(cubic[0] / cubic[1] - 1) < 0.25, `${cubic}`)
})

for (const [loss, bytes] of variants(
  [
    [0.01, 6e6],
    [0.001, 24e6],
  ],
  1,
) as [number, number][]) {
  t.test(`${100 * loss} % at ${RTT_MS} ms: about TCP CUBIC's goodput`, async t => {
    const path = { rateBps: 100e6, rttNs: RTT_MS * MILLISECOND, bufferBytes: 250e3, loss }
    const shares = fixedSeeds([1, 2, 3]).map(seed => {
      // With the same seed the longer run begins like the shorter one, which is slow start's.
      const early = write(path, DAEMON, bytes / 4, seed)
      const whole = write(path, DAEMON, bytes, seed)
      t.equal(whole.spurious, 0)
      t.ok(whole.retransmittedBytes <= 1.01 * whole.droppedBytes)
      return ((whole.doneBytes - early.doneBytes) * 8) / (whole.seconds - early.seconds)
    })
    const goodputBps = shares.reduce((sum, share) => sum + share) / shares.length
    const random = new Random(1)
    const model = { loss, rttSeconds: RTT_MS / 1000, segmentBytes: 1448, linux: true }
    const tcpBps = cubicGoodputBps(model, 500, () => random.next())
    t.comment(`${(goodputBps / 1e6).toFixed(1)} Mbit/s, the model ${(tcpBps / 1e6).toFixed(1)}`)
    t.ok(goodputBps > 0.9 * tcpBps)
    t.ok(goodputBps < 1.5 * tcpBps)
  })
}
