/**
 * A third party that sees the packets of a transfer and inserts bytes of its own, with every number and the
 * ICRC right, so that no queue pair can detect it. Each packet costs the transfer a chunk.
 */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { variants } from '../support/long.js'
import { SIZE, transferWorld } from './transfer-world.js'

for (const way of variants(['send', 'get'] as const, 1)) {
  t.test(`${way}: poisoned packets cost a chunk each, of 12: 3 packets`, async t => {
    // The first ones measure the path.
    const w = await transferWorld(t, n => [10, 30, 90].includes(n))
    const { damagedChunks, attempts, bytes, retransmittedBytes } = await w.run(way)
    t.same([damagedChunks, attempts, bytes, retransmittedBytes], [3, 1, SIZE, 0])
    t.ok(readFileSync(w.delivered).equals(w.content))
    for (const service of w.services)
      t.equal(service.damagedChunks, 3, 'weir status counts them at both ends')
  })

  t.test(`${way}: who poisons every packet prevents a transfer, and gets nothing into a file`, async t => {
    const w = await transferWorld(t, () => true)
    await t.rejects(w.run(way), {
      code: 'WEIR_DIGEST_MISMATCH',
      message: /bytes 0 to 16383 of the file were damaged 4 times: .* \(tried again once\)/,
    })
    t.notOk(existsSync(w.delivered))
  })
}
