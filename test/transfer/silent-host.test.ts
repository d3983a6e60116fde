/** A transfer whose host does not run for so long that the sender gives up, as on a busy machine. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Transfer } from '../../lib/transfer/task/transfer.js'
import { freePort } from '../io/helpers.js'
import { filesIn } from '../support/files-in.js'
import { realHost } from './real-host.js'

const NO_FAULTS = { loss: 0, duplication: 0, reorder: 0 }
const never = new AbortController().signal

t.test('what had arrived is kept by a receiver that was silent too long, for the next attempt', async t => {
  const folder = t.testdir({})
  const port = freePort()
  const one = await realHost(t, join(folder, 'one'), port, 1, NO_FAULTS)
  const two = await realHost(t, join(folder, 'two'), port, 2, NO_FAULTS)
  const content = Buffer.alloc(12_000_001)
  for (let i = 0; i < content.length; i++) content[i] = (i * 131 + (i >> 8) * 17) & 0xff
  const path = join(one.folder, 'share/a')
  writeFileSync(path, content)
  const started: Transfer[] = []
  const first = one.transfers.send({ path, host: two.address }, never, begun => started.push(begun))
  while ((started[0]?.session.deliveredBytes ?? 0) < 1_000_000) await sleep(1)
  two.loop.close()
  await t.rejects(first, { code: 'WEIR_CONNECTION_LOST', message: /RETRY_EXC_ERR.*start the transfer again/ })
  two.loop.start()
  while (two.transfers.count > 0) await sleep(10)
  t.equal(filesIn(join(two.folder, 'in')).length, 1, 'the file that has begun is there')

  const again = await one.transfers.send({ path, host: two.address }, never, () => {})
  t.ok(again.resumedBytes > 0, `went on from ${again.resumedBytes}`)
  t.same(readFileSync(join(two.folder, 'in/a')), content)
  t.same(filesIn(join(two.folder, 'in')), ['a'])
})
