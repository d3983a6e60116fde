/**
 * The host's end of an emulated link: frames leave on the link's timeline, and pauses hold from their arrival
 * on.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { NEVER } from '../../lib/time/nanos.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { Classifier } from '../../switch-emu/core/forwarding/classifier.js'
import { HostLine } from '../../switch-emu/real-time/host-line.js'
import { buildFrame } from './build-frame.js'
import { HOST } from './helpers.js'

function make(backlogBytesMax = 1e6) {
  const pool = new FramePool(64, 512)
  const line = new HostLine({
    pool,
    rateBps: 1e9,
    backlogBytesMax,
    classifier: new Classifier({ dscp: { 24: 3 } }),
  })
  const frame = (wireBytes: number, dscp: number): Frame => {
    const made = buildFrame(pool, { from: HOST(1), to: HOST(2), wireBytes, tos: dscp << 2 })
    made.l3 = -1 // as off a socket
    return made
  }
  const pause = (atNs: number, quanta: number) => {
    const made = pool.take()!
    pfc.write(made.view, 0, 1, 1 << 3, quanta)
    made.length = pfc.BYTES
    line.note(atNs, made)
    pool.give(made)
  }
  /** Runs up to `until`; "bytes until departure" of what leaves. */
  const run = (until: number) => {
    const out: string[] = []
    for (let now = line.nextTimeout(); now <= until; now = line.nextTimeout()) {
      for (let sent = line.pollTransmit(now); sent !== null; sent = line.pollTransmit(now)) {
        out.push(`${sent.wireLength} until ${sent.departNs}`)
        t.equal(sent.l3, -1, 'the switch still has to check the headers')
        pool.give(sent)
      }
    }
    return out
  }
  return { pool, line, frame, pause, run }
}

t.test('frames leave one behind the other, each when it begins', async t => {
  const { pool, line, frame, run } = make()
  t.ok(line.send(0, frame(1000, 24)))
  t.ok(line.send(0, frame(500, 24)))
  t.equal(line.nextTimeout(), 0)
  t.same(run(7999), ['1000 until 8000'])
  t.equal(line.nextTimeout(), 8000)
  t.same(run(8000), ['500 until 12000'])
  t.equal(line.nextTimeout(), NEVER)
  t.equal(pool.inUse, 0)
})

t.test(
  'a pause that is under way holds nothing before it arrives, and its priority alone from then on',
  async t => {
    const { pool, line, frame, pause, run } = make()
    for (let n = 0; n < 3; n++) t.ok(line.send(0, frame(1000, 24)))
    t.ok(line.send(0, frame(700, 0)))
    pause(9000, 100) // 100 x 512 ns
    t.same(run(8000), ['1000 until 8000', '1000 until 16000'], 'the second began before the pause came')
    t.same(run(60_199), ['700 until 21600'])
    t.same(run(60_200), ['1000 until 68200'], '9,000 + 51,200')
    t.equal(pool.inUse, 0)
  },
)

t.test('a resume comes in its turn', async t => {
  const { line, frame, pause, run } = make()
  pause(100, 65_535)
  pause(5000, 0)
  t.ok(line.send(200, frame(1000, 24)))
  t.same(run(4999), [])
  t.same(run(5000), ['1000 until 13000'])
})

t.test('the backlog is bounded, and given back at the end', async t => {
  const { pool, line, frame, pause } = make(2500)
  pause(0, 65_535)
  line.pollTransmit(0)
  t.ok(line.send(1, frame(1000, 24)))
  t.ok(line.send(1, frame(1000, 24)))
  const third = frame(1000, 24)
  t.notOk(line.send(1, third))
  pool.give(third)
  line.close()
  t.equal(pool.inUse, 0)
  t.equal(line.nextTimeout(), NEVER)
})
