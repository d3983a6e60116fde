import t from 'tap'
import { NEVER } from '../../lib/time/nanos.js'
import { PauseClock } from '../../lib/time/pause-clock.js'

t.test('a pause holds from its arrival up to its end', async t => {
  const clock = new PauseClock()
  clock.pause(1000, 3, 500)
  t.equal(clock.pausedMask(1000), 1 << 3)
  t.equal(clock.firstExpiry(0xff), 1500)
  t.equal(clock.firstExpiry(0xff & ~(1 << 3)), NEVER, 'nothing else waits for it')
  t.equal(clock.pausedMaskAt(1499), 1 << 3)
  t.equal(clock.pausedMaskAt(1500), 0, 'to come')
  t.equal(clock.pausedMask(1000), 1 << 3, 'to look ahead changes nothing')
  t.equal(clock.pausedMask(1499), 1 << 3)
  t.equal(clock.pausedMask(1500), 0)
  t.notOk(clock.any)
})

t.test('the last word counts: longer, shorter, over', async t => {
  const clock = new PauseClock()
  clock.pause(0, 0, 1000)
  clock.pause(100, 0, 2000)
  t.equal(clock.firstExpiry(1), 2100)
  clock.pause(200, 0, 50)
  t.equal(clock.firstExpiry(1), 250)
  clock.pause(210, 0, 0)
  t.equal(clock.pausedMask(210), 0)
  t.equal(clock.totalNs(5000, 0), 210)
  t.equal(clock.anyTotalNs(5000), 210)
})

t.test('since when: a pause that takes over at the very end of another leaves no gap', async t => {
  const clock = new PauseClock()
  clock.pause(100, 5, 100)
  t.equal(clock.pausedMask(200), 0, 'run out, and noticed')
  clock.pause(200, 5, 100)
  t.equal(clock.sinceNs(250, 5), 100)
  clock.pause(301, 5, 100)
  t.equal(clock.sinceNs(302, 5), 301, 'one nanosecond is a gap')
  clock.pause(310, 5, 0)
  t.equal(clock.sinceNs(310, 5), NEVER)
  clock.pause(310, 5, 10)
  t.equal(clock.sinceNs(311, 5), 310, 'and so is a resume')
})

t.test('totals: each priority, and the time in which any was paused', async t => {
  const clock = new PauseClock()
  clock.pause(0, 1, 100) // 0 to 100
  clock.pause(50, 2, 100) // 50 to 150
  clock.pause(400, 1, 1000) // 400 to 600, when it is resumed
  clock.pause(600, 1, 0)
  t.equal(clock.totalNs(700, 1), 300)
  t.equal(clock.totalNs(700, 2), 100)
  t.equal(clock.anyTotalNs(700), 350)
  clock.pause(1000, 7, 100)
  t.equal(clock.totalNs(1030, 7), 30, 'while it holds')
  t.equal(clock.totalNs(9999, 7), 100, 'run out, and not noticed')
  t.equal(clock.anyTotalNs(9999), 450)
})
