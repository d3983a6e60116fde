/** `pipeline(createReadStream(f), connection)` of 1 GB over 1 % loss and 5 ms, in virtual time. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import t from 'tap'
import { tuneGarbageCollection } from '../../lib/daemon/tune-gc.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { fixedSeed } from '../support/seeds.js'
import { streamPair } from './virtual-pair.js'

/** `BYTES=500000000` asks for less. */
const BYTES = Number(process.env.BYTES ?? 1e9)
/** Memory by the bytes of the file: it passes through, and is never in memory. */
const RESIDENT_MAX = 1 / 2

t.test('1 GB over 1 % loss and 5 ms', { timeout: 580_000 }, async t => {
  tuneGarbageCollection()
  const folder = mkdtempSync(join(tmpdir(), 'weir-stream-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'file')
  const random = new Random(fixedSeed(t, 17))
  const made = createHash('sha256')
  await pipeline(async function* () {
    const block = Buffer.alloc(1 << 20)
    for (let at = 0; at < BYTES; at += block.length) {
      for (let i = 0; i < 64; i++) block.writeUInt32LE(random.u32(), 4 * random.below(block.length / 4))
      const piece = Buffer.from(block.subarray(0, Math.min(block.length, BYTES - at)))
      made.update(piece)
      yield piece
    }
  }, createWriteStream(path))

  const lots = random.fork('faults')
  const faults = () => new LinkFaults({ loss: 0.01 }, () => lots.next())
  const shape = { segmentBytes: 65_536, receives: 64, sends: 64 }
  const { a, b, pair, during } = await streamPair({
    // A link to the middle and one from there: 5 ms and the other one's.
    delayNs: 2.5 * MILLISECOND,
    faults: { ab: faults(), ba: faults() },
    aShape: shape,
    bShape: shape,
    poolSize: 2000,
  })
  pair.tap.watch = () => true
  const got = createHash('sha256')
  let most = 0
  let usage = process.memoryUsage()
  const begun = pair.network.now
  await during(
    Promise.all([
      pipeline(createReadStream(path), a),
      (async () => {
        for await (const piece of b) {
          got.update(piece)
          const { rss } = process.memoryUsage()
          if (rss > most) usage = process.memoryUsage()
          most = Math.max(most, rss)
        }
      })(),
    ]),
  )
  const seconds = (pair.network.now - begun) / SECOND
  t.comment(JSON.stringify(usage))
  t.equal(b.bytesRead, BYTES)
  t.equal(got.digest('hex'), made.digest('hex'))
  t.ok(most < RESIDENT_MAX * BYTES, `${most / 1e6} MB resident`)
  t.comment(
    `${seconds} s of virtual time, ${((BYTES * 8) / seconds / 1e6).toFixed(0)} Mbit/s, ${most / 1e6} MB resident`,
  )
})
