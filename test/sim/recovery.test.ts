/**
 * Only lost packets are retransmitted: with random loss, full drop-tail queues, reordering and outages, in
 * virtual time. A fixed window stands for any sender, because nothing holds it back and it fills the queue
 * again and again.
 */
import t from 'tap'
import type { NicConfig } from '../../lib/nic/config.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { usual, variants } from '../support/long.js'
import { MTU, type Outcome, type PathOptions, write } from './bottleneck.js'

const BYTES = 3e6
const SEEDS = process.env.SEED === undefined ? [1, 2] : [Number(process.env.SEED)]

/** 100 Mbit/s, 20 ms, a queue that holds four bandwidth-delay products. */
const LONG: PathOptions = { rateBps: 100e6, rttNs: 20 * MILLISECOND, bufferBytes: 1e6 }
/** 50 Mbit/s, 1 ms, a queue of 64 KB. */
const SHALLOW: PathOptions = { rateBps: 50e6, rttNs: MILLISECOND, bufferBytes: 64e3 }
/** 500 Mbit/s, 0.1 ms, a queue of 1 MB. */
const QUEUED: PathOptions = { rateBps: 500e6, rttNs: 0.1 * MILLISECOND, bufferBytes: 1e6 }

function sender(windowBytes: number, more: Partial<NicConfig> = {}): Partial<NicConfig> {
  return {
    cc: { name: 'fixed-window', options: { window: windowBytes } },
    retransmitTimeoutLeastNs: 20 * MILLISECOND,
    ...more,
  }
}

function shown({ goodputBps, retransmittedBytes, droppedBytes, spurious, timeouts }: Outcome): string {
  const mbps = (goodputBps / 1e6).toFixed(1)
  return `${mbps} Mbit/s, repeated ${retransmittedBytes}, dropped ${droppedBytes}, spurious ${spurious}, timeouts ${timeouts}`
}

const CASES: [string, PathOptions, number][] = [
  ['0.3 % loss', { ...LONG, loss: 0.003 }, 250e3],
  ['1 % loss', { ...LONG, loss: 0.01 }, 250e3],
  ['1 % loss both ways', { ...LONG, loss: 0.01, lossBack: 0.01 }, 250e3],
  ['5 % loss both ways', { ...LONG, loss: 0.05, lossBack: 0.05 }, 250e3],
  ['a queue twice too small', SHALLOW, 150e3],
  ['a queue eight times too small', SHALLOW, 600e3],
  ['loss and reordering', { ...LONG, loss: 0.01, reorder: 0.02, reorderNs: 5 * MILLISECOND }, 250e3],
]

for (const [what, path, windowBytes] of variants(CASES, 2)) {
  t.test(`${what}: at most 1.2 times the dropped bytes are retransmitted`, async t => {
    for (const seed of SEEDS) {
      const outcome = write(path, sender(windowBytes), BYTES, seed)
      const { retransmittedBytes, droppedBytes, timeouts, goodputBps } = outcome
      t.comment(`seed ${seed}: ${shown(outcome)}`)
      t.equal(outcome.error, null)
      t.equal(outcome.doneBytes >= BYTES, true, 'all has arrived')
      t.ok(droppedBytes > 0)
      t.ok(retransmittedBytes >= droppedBytes)
      t.ok(retransmittedBytes <= 1.2 * droppedBytes + 8 * MTU, `seed ${seed}`)
      t.ok(timeouts <= 2, 'only the end of a burst may have to wait for silence')
      t.ok(goodputBps > 0.6 * path.rateBps, 'the path is not left idle')
    }
  })
}

usual('1 % loss costs no timeout', async t => {
  for (const seed of SEEDS) {
    const { timeouts } = write({ ...LONG, loss: 0.01, lossBack: 0.01 }, sender(250e3), BYTES, seed)
    t.equal(timeouts, 0, `seed ${seed}`)
  }
})

for (const [what, reorder, reorderNs] of [
  ['a few, by an eighth of a round trip', 0.01, 2.5],
  ['many, by half a round trip', 0.05, 10],
  ['many, by a round trip', 0.05, 20],
] as const) {
  t.test(`nothing lost, but packets overtaken: ${what}`, async t => {
    const path = { ...LONG, reorder, reorderNs: reorderNs * MILLISECOND }
    for (const seed of SEEDS) {
      const outcome = write(path, sender(250e3), BYTES, seed)
      t.comment(`seed ${seed}: ${shown(outcome)}`)
      t.equal(outcome.droppedBytes, 0)
      t.equal(outcome.timeouts, 0)
      // 1 % of the packets, where 5 % were delayed: the reordering window has grown.
      t.ok(outcome.retransmittedBytes <= 0.01 * BYTES)
      t.ok(outcome.spurious >= outcome.retransmittedBytes / MTU - 2, 'the peer has told of them')
    }
  })
}

usual('behind a queue of 140 round trips a packet that was overtaken costs no window', async t => {
  // One packet in a thousand is late by up to 3 ms. Its repeat waits behind 14 ms of queue, when the original is answered.
  const path: PathOptions = { ...QUEUED, reorder: 0.001, reorderNs: 3 * MILLISECOND }
  for (const seed of SEEDS) {
    const outcome = write(path, sender(900e3), 4 * BYTES, seed)
    t.comment(`seed ${seed}: ${shown(outcome)}`)
    t.equal(outcome.droppedBytes, 0)
    t.equal(outcome.timeouts, 0)
    t.ok(outcome.retransmittedBytes <= 0.001 * 4 * BYTES + 2 * MTU, 'at most the late ones')
  }
})

usual('after an outage it continues by itself, and retransmits what was lost', async t => {
  for (const recovery of ['selective', 'goBackN'] as const) {
    const path: PathOptions = { ...LONG, outage: [50 * MILLISECOND, 150 * MILLISECOND] }
    const outcome = write(path, sender(250e3, { recovery }), BYTES, 1)
    t.comment(`${recovery}: ${shown(outcome)}`)
    t.equal(outcome.error, null)
    t.ok(outcome.doneBytes >= BYTES)
    t.ok(outcome.timeouts >= 1)
    const windows = recovery === 'selective' ? 1.2 : 3
    t.ok(outcome.retransmittedBytes <= windows * outcome.droppedBytes + 8 * MTU)
    t.ok(outcome.seconds < (BYTES * 8) / 90e6 + 0.1 + 0.25, `${outcome.seconds} s`)
  }
})

usual('the path is silent for ever: the connection ends no sooner than by the standard', async t => {
  const path: PathOptions = { ...SHALLOW, outage: [100 * MILLISECOND, 60_000 * MILLISECOND] }
  const outcome = write(path, sender(60e3, { ackTimeoutNs: 67_108_864, retryCount: 3 }), BYTES, 1)
  t.not(outcome.error, null)
  t.ok(outcome.seconds >= 4 * 0.067, `${outcome.seconds} s`)
  t.ok(outcome.seconds < 4 * 4 * 0.068)
  // One packet at each timeout, and the tail probes before.
  t.ok(outcome.retransmittedBytes <= 24 * MTU, `${outcome.retransmittedBytes} bytes`)
})

usual('go-back-N goes on through a full queue', async t => {
  for (const seed of SEEDS) {
    const outcome = write(SHALLOW, sender(100e3, { recovery: 'goBackN' }), BYTES, seed)
    t.comment(`seed ${seed}: ${shown(outcome)}`)
    t.equal(outcome.error, null)
    t.ok(outcome.doneBytes >= BYTES)
    t.ok(outcome.goodputBps > 0.2 * SHALLOW.rateBps)
  }
})
