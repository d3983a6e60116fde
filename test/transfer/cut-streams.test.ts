/** One of several queue pairs of a transfer fails between real NICs: the others carry the rest, in the same attempt. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { WeirError } from '../../lib/errors.js'
import { Lane } from '../../lib/transfer/mover/lane.js'
import type { Transfer } from '../../lib/transfer/task/transfer.js'
import { freePort } from '../io/helpers.js'
import { filesIn } from '../support/files-in.js'
import { realHost } from './real-host.js'

const FAULTS = { loss: 0.002, duplication: 0.001, reorder: 0.001 }
const never = new AbortController().signal

for (const way of ['send', 'get'] as const)
  for (const who of ['the end that asks', 'the other end'] as const)
    t.test(`${way}: ${who} gives one up`, async t => {
      const folder = t.testdir({})
      const port = freePort()
      const one = await realHost(t, join(folder, 'one'), port, 1, FAULTS)
      const two = await realHost(t, join(folder, 'two'), port, 2, FAULTS)
      const content = Buffer.alloc(8_000_001)
      for (let i = 0; i < content.length; i++) content[i] = (i * 131 + (i >> 8) * 17) & 0xff
      const path = join(one.folder, 'share/a')
      writeFileSync(path, content)
      const into = join(two.folder, way === 'send' ? 'in' : 'to')
      let transfer: Transfer | undefined
      const note = (begun: Transfer) => {
        transfer = begun
      }
      const fetch = { path: 'a', host: one.address, directory: into, streams: 3 }
      const running =
        way === 'send'
          ? one.transfers.send({ path, host: two.address, streams: 3 }, never, note)
          : two.transfers.get(fetch, never, note)
      const [asks, answers] = way === 'send' ? [one, two] : [two, one]
      const { nic, loop } = who === 'the end that asks' ? asks : answers
      while ((transfer?.deliveredBytes ?? 0) < 1_000_000) await sleep(1)
      const lane = nic.table.flows.find(flow => flow?.handler instanceof Lane && flow.connection.established)
      if (lane) lane.connection.disconnect(loop.now(), new WeirError('WEIR_CONNECTION_LOST', 'it was cut'))
      loop.wake()
      t.ok(lane, 'there was one')
      t.match(await running, { attempts: 1, streams: 3, bytes: content.length, resumedBytes: 0 })
      t.same(filesIn(into), ['a'])
      t.ok(content.equals(readFileSync(join(into, 'a'))))
      await Promise.all([one, two].map(({ transfers }) => transfers.close(20_000)))
      await Promise.all([one.close(), two.close()])
      for (const { nic, pool, transfers } of [one, two]) {
        t.equal(transfers.count, 0)
        t.equal(nic.memory.size, 0, 'no memory is left registered')
        t.equal(pool.inUse, 0, 'every frame has been given back')
      }
    })
