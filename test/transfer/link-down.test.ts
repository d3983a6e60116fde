/** Transfers over real sockets, on a link that is down for a while. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Transfer } from '../../lib/transfer/task/transfer.js'
import { freePort } from '../io/helpers.js'
import { filesIn } from '../support/files-in.js'
import { variants } from '../support/long.js'
import { realHost } from './real-host.js'

const NO_FAULTS = { loss: 0, duplication: 0, reorder: 0 }
const never = new AbortController().signal

for (const way of variants(['send', 'get'] as const, 1)) {
  t.test(`${way}: it goes on when the link is up again`, async t => {
    const folder = t.testdir({})
    const port = freePort()
    const one = await realHost(t, join(folder, 'one'), port, 1, NO_FAULTS)
    const two = await realHost(t, join(folder, 'two'), port, 2, NO_FAULTS)
    const content = Buffer.alloc(8_000_001)
    for (let i = 0; i < content.length; i++) content[i] = (i * 131 + (i >> 8) * 17) & 0xff
    const path = join(one.folder, 'share/a')
    writeFileSync(path, content)
    const into = join(two.folder, way === 'send' ? 'in' : 'to')
    let transfer: Transfer | undefined
    const note = (begun: Transfer) => {
      transfer = begun
    }
    const fetch = { path: 'a', host: one.address, directory: into, retries: 3 }
    const running =
      way === 'send'
        ? one.transfers.send({ path, host: two.address, retries: 3 }, never, note)
        : two.transfers.get(fetch, never, note)
    while ((transfer?.deliveredBytes ?? 0) < 1_000_000) await sleep(1)
    one.link.isDown = two.link.isDown = true
    while (transfer?.state !== 'waiting') await sleep(5)
    one.link.isDown = two.link.isDown = false
    const result = await running
    t.ok(result.attempts >= 2, `${result.attempts} attempts`)
    t.match(result, { bytes: content.length, resumedBytes: 0, restarts: 0 })
    t.ok(result.timeouts > 0, 'the figures of the lost connection count')
    t.same(filesIn(into), ['a'])
    t.same(readFileSync(join(into, 'a')), content)
    await Promise.all([one.close(), two.close()])
    for (const { nic, pool, transfers } of [one, two]) {
      t.equal(transfers.count, 0)
      t.equal(nic.memory.size, 0, 'no memory is left registered')
      t.equal(pool.inUse, 0, 'every frame has been given back')
    }
  })
}
