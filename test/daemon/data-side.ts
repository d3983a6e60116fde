/** A daemon's data side, on the daemon's own thread and on another one. Clients see no difference. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Progress } from '../../lib/client/daemon-client.js'
import { Daemon, type DaemonOptions } from '../../lib/daemon/daemon.js'
import { loopbackAddress } from '../support/loopback.js'
import { errorOf, MB, pair } from './hosts.js'

/** Tests it on a thread of its own, or on the same. */
export function testDataSide(worker: boolean): void {
  const where = worker ? 'a thread of its own' : 'the same thread'
  // One pair at a time: each daemon waits on a thread of Node's pool, which has four and loads modules too.
  t.test(`on ${where}`, async t => {
    const both = pair(t, worker)

    t.test('files, flows and figures', async t => {
      const [from, to] = await both
      const file = join(from.options.inbox, 'made-here')
      const bytes = Buffer.alloc(5 * MB, 'a file of five megabytes ')
      writeFileSync(file, bytes)
      const progress: Progress[] = []
      const sent = await from.client.send(file, to.options.address, {
        name: 'arrived',
        onProgress: each => progress.push(each),
      })
      t.match(sent, { bytes: bytes.length, path: 'arrived', digestKind: 'xxh64' })
      t.equal(sent.digest.length, 8, 'bytes cross, too')
      t.ok(readFileSync(join(to.options.inbox, 'arrived')).equals(bytes))
      t.ok(progress.length > 0 && progress.every(({ transferId }) => transferId === sent.transferId))
      t.match(await from.client.status(), { sentBytes: bytes.length, receivedBytes: 0, pid: process.pid })
      const status = await to.client.status()
      t.match(status, {
        sentBytes: 0,
        receivedBytes: bytes.length,
        address: to.options.address,
        transfers: 0,
      })
      t.ok(status.residentBytes > 20 * MB && status.residentBytes < 4000 * MB, 'of the whole process')
      const flow = await from.client.traffic({ name: 'f', host: to.options.address, bytes: 3 * MB })
      t.match(flow, { name: 'f', bytes: 3 * MB })
      t.ok(flow.fctNs > 0)
    })

    t.test('measuring', async t => {
      const [from, to] = await both
      const run = { host: to.options.address, test: 'bw', size: 65_536, qps: 2, depth: 8, iterations: 20 }
      for (const op of ['write', 'send', 'read']) {
        const reply = await from.client.perf({ ...run, op })
        t.match(reply, { messages: 40, bytes: 40 * 65_536 }, op)
        t.ok(reply.goodputBps > 0 && reply.latency!.count === 40)
      }
      const lat = { ...run, test: 'lat', op: 'send', size: 64, qps: 1, depth: 1, busyPoll: true }
      t.match(await from.client.perf(lat), { messages: 20 })
    })

    t.test('errors keep code, words and nature', async t => {
      const [{ client, options }] = await both
      const { address } = options
      const missing = join(options.inbox, 'missing')
      const cases: [() => Promise<unknown>, string, RegExp][] = [
        [() => client.send(missing, address), 'WEIR_NO_FILE', /missing: no such file/],
        [() => client.send(options.inbox, address), 'WEIR_NO_FILE', /directory/],
        [() => client.send(missing, '::1'), 'WEIR_BAD_ARGUMENT', /IPv6 address, this daemon has 127/],
        [
          () => client.get(address, 'a', { directory: options.inbox }),
          'WEIR_REJECTED',
          /no files are shared there/,
        ],
        [() => client.traffic({ host: address, congestionControl: 'none' }), 'WEIR_BAD_ARGUMENT', /none/],
        [
          () => client.perf({ host: address, test: 'none', op: 'send' }),
          'WEIR_BAD_ARGUMENT',
          /is not bw or lat/,
        ],
      ]
      for (const [ask, code, words] of cases) {
        const error = await errorOf(ask())
        t.match(error, { code }, String(error.message))
        t.match(error.message, words)
      }
      t.match(await client.status(), { transfers: 0 })
    })

    t.test('what cannot start says why, and leaves nothing open', async t => {
      const [{ options }] = await both
      const own = { ...options, address: loopbackAddress(), socketPath: `${options.socketPath}2` }
      const wrong: [Partial<DaemonOptions>, string][] = [
        [{ address: options.address }, 'WEIR_BAD_ARGUMENT'],
        [{ inbox: '/dev/null/x' }, 'WEIR_NO_FILE'],
        [{ share: join(options.inbox, 'missing') }, 'WEIR_NO_FILE'],
        [{ cc: { name: 'hpcc', options: { nonsense: 1 } } }, 'WEIR_BAD_ARGUMENT'],
        [{ io: 'telegraph' }, 'WEIR_BAD_ARGUMENT'],
        [{ chunkBytes: 1 }, 'WEIR_BAD_ARGUMENT'],
        [{ socketPath: options.socketPath }, 'WEIR_BAD_STATE'],
      ]
      // A thread costs half a second, so one error of its side and one of this side are enough there.
      for (const [change, code] of worker ? [wrong[3]!, wrong[6]!] : wrong) {
        await t.rejects(Daemon.start({ ...own, ...change }), { code }, JSON.stringify(change))
      }
      const daemon = await Daemon.start(own)
      await daemon.close()
    })
  })
}
