/**
 * `pipeline(createReadStream(f), stream)` over 1 % loss and 5 ms, in virtual time: a program without the test's framework, whose memory is
 * that of both hosts and of the network between them. Arguments: the file, and a seed. Prints JSON.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { tuneGarbageCollection } from '../../lib/daemon/tune-gc.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { streamPair } from './virtual-pair.js'

export interface LossyRun {
  bytes: number
  sha256: string
  virtualSeconds: number
  /** What was resident at most as the pieces came. */
  residentBytes: number
}

const [path, seed] = process.argv.slice(2) as [string, string]
tuneGarbageCollection()
const lots = new Random(Number(seed)).fork('faults')
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
const digest = createHash('sha256')
let residentBytes = 0
const begun = pair.network.now
await during(
  Promise.all([
    pipeline(createReadStream(path), a),
    (async () => {
      for await (const piece of b) {
        digest.update(piece)
        residentBytes = Math.max(residentBytes, process.memoryUsage.rss())
      }
    })(),
  ]),
)
const virtualSeconds = (pair.network.now - begun) / SECOND
const run: LossyRun = { bytes: b.bytesRead, sha256: digest.digest('hex'), virtualSeconds, residentBytes }
process.stdout.write(JSON.stringify(run))
