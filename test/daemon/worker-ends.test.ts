/** Work of a daemon is cancelled and stopped, on its own thread and on another one. */
import { existsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { Daemon } from '../../lib/daemon/daemon.js'
import { WeirError } from '../../lib/errors.js'
import { variants } from '../support/long.js'
import { errorOf, MB, pair } from './hosts.js'

/** A file of zeros that takes no space on the disk. */
function sparse(path: string, bytes: number): void {
  writeFileSync(path, '')
  truncateSync(path, bytes)
}

for (const worker of variants([true, false], 1)) {
  const where = worker ? 'a thread of its own' : 'the same thread'

  t.test(`what is cancelled ends at both ends, on ${where}`, async t => {
    const [from, to] = await pair(t, worker)
    const file = join(from.options.inbox, 'big')
    sparse(file, 300 * MB)
    const { address } = to.options
    const abort = new AbortController()
    const bySignal = from.client.send(file, address, {
      signal: abort.signal,
      onProgress: () => abort.abort(),
    })
    t.match(await errorOf(bySignal), { code: 'WEIR_CANCELLED' })
    const byId = from.client.send(file, address, {
      onProgress: ({ transferId }) => void from.client.cancel(transferId),
    })
    t.match(await errorOf(byId), { code: 'WEIR_CANCELLED' })
    t.equal(await from.client.cancel('send-99'), false)
    const flow = new AbortController()
    const flows = from.client.traffic({ name: 'f', host: address, bytes: 1e12 }, { signal: flow.signal })
    setTimeout(() => flow.abort(), 100)
    t.match(await errorOf(flows), { code: 'WEIR_CANCELLED' })
    const measuring = new AbortController()
    const run = { host: address, test: 'bw', op: 'write', size: 4096, qps: 1, depth: 8, durationNs: 60e9 }
    const measured = from.client.perf(run, { signal: measuring.signal })
    setTimeout(() => measuring.abort(), 100)
    t.match(await errorOf(measured), { code: 'WEIR_CANCELLED' })
    for (const { client } of [from, to]) {
      while ((await client.transfers()).length > 0) await new Promise(resolve => setTimeout(resolve, 10))
    }
    t.notOk(existsSync(join(to.options.inbox, 'big')))
  })

  t.test(`stopped while it sends, measures and streams, on ${where}`, async t => {
    const [from, to] = await pair(t, worker)
    const file = join(from.options.inbox, 'big')
    sparse(file, 600 * MB)
    const { address } = to.options
    const run = { host: address, test: 'bw', op: 'write', size: 4096, qps: 1, depth: 8, durationNs: 60e9 }
    let begun = () => {}
    const underWay = new Promise<void>(resolve => {
      begun = resolve
    })
    const ends = [
      errorOf(from.client.send(file, address, { onProgress: begun })),
      errorOf(from.client.traffic({ name: 'f', host: address, bytes: 1e12 })),
      errorOf(from.client.perf(run)),
    ]
    await underWay
    const stopper = await connectDaemon(from.options.socketPath)
    await stopper.stop()
    stopper.close()
    await from.daemon.closed
    for (const error of await Promise.all(ends)) t.ok(error instanceof WeirError, error.message)
    t.notOk(existsSync(from.options.socketPath))
    t.equal(from.daemon.failure, null)
    // The other end has learned of it: nothing of all this is left there.
    while ((await to.client.transfers()).length > 0) await new Promise(resolve => setTimeout(resolve, 10))
    t.match(await to.client.status(), { transfers: 0 })
    // The address and the socket are free again.
    const again = await Daemon.start(from.options)
    await again.close()
  })
}
