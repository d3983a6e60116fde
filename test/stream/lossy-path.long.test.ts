/** `pipeline(createReadStream(f), connection)` of 1 GB over 1 % loss and 5 ms, in virtual time. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import { fixedSeed } from '../support/seeds.js'
import type { LossyRun } from './lossy-path-run.js'

/** `BYTES=500000000` asks for less. */
const BYTES = Number(process.env.BYTES ?? 1e9)
/** Memory of both hosts together: the file passes through, and is never in it. */
const RESIDENT_MAX = 200e6

const RUN = fileURLToPath(new URL('./lossy-path-run.js', import.meta.url))

t.setTimeout(600_000)

t.test('1 GB over 1 % loss and 5 ms', { timeout: 580_000 }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-stream-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'file')
  const seed = fixedSeed(t, 17)
  const sha256 = makeFile(path, new Random(seed))
  const { stdout } = await promisify(execFile)(process.execPath, [RUN, path, String(seed)])
  const run = JSON.parse(stdout) as LossyRun
  const { bytes, virtualSeconds, residentBytes } = run
  t.match(run, { bytes: BYTES, sha256 })
  t.ok(residentBytes < RESIDENT_MAX, `${residentBytes / 1e6} MB resident`)
  const mbps = ((bytes * 8) / virtualSeconds / 1e6).toFixed(0)
  t.comment(`${virtualSeconds} s of virtual time, ${mbps} Mbit/s, ${residentBytes / 1e6} MB resident`)
})

/** Returns its digest. */
function makeFile(path: string, random: Random): string {
  const digest = createHash('sha256')
  const block = Buffer.alloc(1 << 20)
  const file = openSync(path, 'w')
  for (let at = 0; at < BYTES; at += block.length) {
    for (let i = 0; i < 64; i++) block.writeUInt32LE(random.u32(), 4 * random.below(block.length / 4))
    const piece = block.subarray(0, BYTES - at)
    digest.update(piece)
    writeSync(file, piece)
  }
  closeSync(file)
  return digest.digest('hex')
}
