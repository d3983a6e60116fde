/** The receiving host as a hop, as the sender's progress shows it. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Progress } from '../../lib/client/daemon-client.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { scratch } from '../support/daemon-process.js'
import { start } from './hosts.js'

/** Tests it with the data side of both daemons on a thread of its own, or on the same. */
export function testHostHop(worker: boolean): void {
  const where = worker ? 'another thread' : 'one thread'
  t.test(
    `on ${where}: it is the one hop, unless the receiver turns it off`,
    { skip: libcFault() ?? false },
    async t => {
      const path = join(await scratch(t), 'file')
      const bytes = randomBytes(24 << 20)
      writeFileSync(path, bytes)
      const sender = await start(t, worker, { io: 'batch' })
      for (const hostHop of [true, false]) {
        const receiver = await start(t, worker, { io: 'batch', telemetry: { hostHop } })
        const seen: Progress[] = []
        const { address, inbox } = receiver.options
        await sender.client.send(path, address, { directory: '.', onProgress: one => seen.push({ ...one }) })
        t.ok(readFileSync(join(inbox, 'file')).equals(bytes))
        const hops = Math.max(...seen.map(({ pathHops }) => pathHops))
        t.equal(hops, hostHop ? 1 : 0, `${seen.length} reports of progress`)
      }
    },
  )
}
