/** Times of files arrive within a microsecond. */
import { lstatSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import { fileTime } from '../../lib/transfer/file/file-time.js'
import { drawnSeed } from '../support/seeds.js'

t.test('a time of nanoseconds', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-time-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'f')
  writeFileSync(path, '')
  const random = new Random(drawnSeed(t))
  for (let i = 0; i < 2000; i++) {
    const [seconds, ns] = [random.below(2 ** 31), i < 10 ? i * 1000 : random.below(1e9)]
    // As node:fs says it.
    utimesSync(path, 0, fileTime(seconds * 1000 + ns / 1e6))
    const { mtimeNs } = lstatSync(path, { bigint: true })
    const off = Number(mtimeNs - (BigInt(seconds) * 1_000_000_000n + BigInt(ns)))
    if (Math.abs(off) >= 1000) t.fail(`${seconds} s and ${ns} ns: ${off} ns off`)
    if (ns % 1000 === 0 && Math.floor(Number(mtimeNs % 1_000_000_000n) / 1000) !== ns / 1000)
      t.fail(`${seconds} s and ${ns} ns: a whole microsecond is another one`)
  }
  t.pass('none is a microsecond off')
})
