/** Files with holes: what is written of them, and what an interrupted transfer may resume. */
import { chmod, open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Random } from '../../lib/sim/random.js'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import { openSource } from '../../lib/transfer/file/file-source.js'
import { dataRuns, isHole } from '../../lib/transfer/file/holes.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import type { Offer } from '../../lib/transfer/protocol/messages.js'
import { partialName } from '../../lib/transfer/protocol/names.js'
import { scratch } from '../support/daemon-process.js'
import { drawnSeed } from '../support/seeds.js'

const CHUNK = 1 << 16
const SIZE = 16 * CHUNK

function offerOf(more: Partial<Offer> = {}): Offer {
  const same = { version: 1, name: 'f', directory: '', mode: 0o644, mtimeMs: 1000, digest: 'XXH64' as const }
  return {
    ...same,
    size: SIZE,
    overwrite: false,
    ring: null,
    transfer: new Uint8Array(),
    allocatedBytes: 4096,
    ...more,
  }
}

async function inboxIn(t: Test): Promise<Inbox> {
  return await Inbox.at(await scratch(t), new Arrivals(CHUNK))
}

/** Chunks of which every third holds data, at its end. */
function chunk(n: number): Buffer {
  const bytes = Buffer.alloc(CHUNK)
  if (n % 3 === 0) bytes.fill(n + 1, CHUNK - 10)
  return bytes
}

t.test('blocks of zeros are left out, by blocks of the file', async t => {
  const bytes = Buffer.alloc(3 * 4096)
  t.same(dataRuns(bytes, 0), [])
  bytes[4096] = 1
  t.same(dataRuns(bytes, 0), [{ from: 4096, to: 8192 }])
  t.same(dataRuns(bytes, 4000), [{ from: 96, to: 4192 }], 'blocks lie where the file has them')
  bytes[0] = bytes[12_287] = 1
  t.same(dataRuns(bytes, 0), [{ from: 0, to: 12_288 }], 'neighbours are one run')
  t.same(dataRuns(Buffer.of(0, 0), 0), [])
  t.same(dataRuns(Buffer.of(0, 1), 0), [{ from: 0, to: 2 }])
})

t.test('a source reads what the file has, holes or not', async t => {
  const path = join(await scratch(t), 'f')
  const handle = await open(path, 'w')
  const seed = drawnSeed(t)
  const random = new Random(seed)
  for (let i = 0; i < 20; i++)
    await handle.write(Buffer.alloc(1 + random.below(9000), i + 1), 0, null, random.below(SIZE))
  await handle.truncate(SIZE + 123_456)
  await handle.close()
  const whole = await readFile(path)
  const source = await openSource(path)
  for (let i = 0; i < 300; i++) {
    const from = random.below(whole.length)
    const into = Buffer.alloc(Math.min(1 + random.below(2 * CHUNK), whole.length - from), 0xff)
    await source.read(into, from)
    if (!into.equals(whole.subarray(from, from + into.length))) t.fail(`${into.length} bytes from ${from}`)
  }
  t.ok(source.allocatedBytes > 0, 'it has holes')
  await source.close()
})

t.test('a hole is one to its last byte', async t => {
  const path = join(await scratch(t), 'f')
  const handle = await open(path, 'w+')
  await handle.truncate(4 * CHUNK)
  await handle.write(Buffer.of(1), 0, 1, 2 * CHUNK)
  if (isHole(handle.fd, 0, 1)) {
    t.ok(isHole(handle.fd, 0, 2 * CHUNK))
    t.notOk(isHole(handle.fd, 0, 2 * CHUNK + 1))
    t.notOk(isHole(handle.fd, 2 * CHUNK, 1))
    t.ok(isHole(handle.fd, 3 * CHUNK, CHUNK))
  } else t.comment('nobody says here where holes are')
  await handle.close()
})

t.test('a file with holes arrives with them, a dense one without', async t => {
  for (const allocatedBytes of [4096, 0]) {
    const inbox = await inboxIn(t)
    const sink = await inbox.open(offerOf({ allocatedBytes }))
    for (let n = 0; n < 16; n++) await sink.write(chunk(n), n * CHUNK)
    await sink.commit()
    const path = join(inbox.folder, 'f')
    const { size, blocks } = await stat(path)
    t.equal(size, SIZE, 'whole, though it ends in a hole')
    t.same(await readFile(path), Buffer.concat(Array.from({ length: 16 }, (_, n) => chunk(n))))
    if (allocatedBytes > 0) t.ok(blocks * 512 < SIZE / 2, `${blocks} blocks`)
    else t.ok(blocks * 512 >= SIZE, `${blocks} blocks`)
    const source = await openSource(path)
    t.equal(source.allocatedBytes > 0, allocatedBytes > 0, 'and is known to have them')
    await source.close()
  }
})

t.test('what is kept of it ends where it was written, not where its last data is', async t => {
  const inbox = await inboxIn(t)
  const first = await inbox.open(offerOf())
  for (let n = 0; n < 9; n++) await first.write(chunk(n), n * CHUNK)
  await first.keep()
  const again = await inbox.open(offerOf())
  t.equal(again.resumeBytes, 9 * CHUNK, 'chunks 7 and 8 are a hole at its end')
  const back = Buffer.alloc(9 * CHUNK)
  await again.readBack(back, 0)
  t.same(back, Buffer.concat(Array.from({ length: 9 }, (_, n) => chunk(n))))
  await again.keep()
})

t.test('what a killed receiver left is resumed before anything that may lack', async t => {
  const inbox = await inboxIn(t)
  const path = join(inbox.folder, partialName(offerOf()))
  // Chunks 0 to 5 are there. Of 6, 7 and 8, which were under way, only the data of 6 is.
  const handle = await open(path, 'w', 0o600)
  for (let n = 0; n <= 6; n++) await handle.write(chunk(n), 0, CHUNK, n * CHUNK)
  await handle.close()
  await chmod(path, 0o600)
  const sink = await inbox.open(offerOf())
  t.equal(sink.resumeBytes, 4 * CHUNK, 'three chunks before its end')
  t.equal((await stat(path)).size, 4 * CHUNK, 'and nothing of what lay behind is left')
  await sink.discard()
})

t.test('a file with holes needs the room that its data takes', async t => {
  const inbox = await inboxIn(t)
  const size = 2 ** 52
  const sink = await inbox.open(offerOf({ size }))
  await sink.discard()
  await t.rejects(inbox.open(offerOf({ size, allocatedBytes: 0 })), { code: 'WEIR_NO_SPACE' })
})
