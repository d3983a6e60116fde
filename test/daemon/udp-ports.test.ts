/** Daemons on other UDP ports than 4791, which peers name: transfers both ways, measuring, status. */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Progress } from '../../lib/client/daemon-client.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { openPort } from '../../lib/open-nic/open-port.js'
import { freePort } from '../io/helpers.js'
import { scratch } from '../support/daemon-process.js'
import { long, usual } from '../support/long.js'
import { loopbackAddress } from '../support/loopback.js'
import { errorOf, type Host, start } from './hosts.js'

const BYTES = 1e6

async function fileIn(folder: string, name: string): Promise<Buffer> {
  const bytes = createHash('shake256', { outputLength: BYTES }).update(name).digest()
  await writeFile(join(folder, name), bytes)
  return bytes
}

/** Sends a file and gets another one. */
async function bothWays(t: Test, from: Host, to: Host): Promise<Progress[]> {
  const folder = await scratch(t)
  const host = to.options.address
  const port = to.options.port!
  const seen: Progress[] = []
  const sent = await fileIn(folder, 'sent')
  const options = { port, overwrite: true, onProgress: (progress: Progress) => seen.push(progress) }
  await from.client.send(join(folder, 'sent'), host, options)
  t.same(await readFile(join(to.options.inbox, 'sent')), sent)
  const shared = await fileIn(to.options.share!, 'shared')
  await from.client.get(host, 'shared', { ...options, directory: folder })
  t.same(await readFile(join(folder, 'shared')), shared)
  return seen
}

async function daemon(t: Test, address: string, more: object = {}): Promise<Host> {
  return await start(t, false, { address, port: freePort(), share: await scratch(t), ...more })
}

usual('two daemons on one address, and one on another port elsewhere', async t => {
  const address = loopbackAddress()
  const [a, b, c] = await Promise.all([
    daemon(t, address),
    daemon(t, address),
    daemon(t, loopbackAddress(), { io: 'dgram' }),
  ])
  await bothWays(t, a, b)
  await bothWays(t, b, a)
  await bothWays(t, a, c)
  await bothWays(t, c, b)
  const { baseRttNs } = await c.client.perf({
    host: address,
    port: a.options.port,
    test: 'bw',
    op: 'read',
    size: 65_536,
    qps: 2,
    depth: 4,
    iterations: 20,
  })
  t.ok(baseRttNs > 0)
})

long('telemetry finds its way to another port', async t => {
  const [a, b] = await Promise.all([daemon(t, loopbackAddress()), daemon(t, loopbackAddress())])
  if ((await b.client.status()).io !== 'batch') t.pass('only io batch is a hop by itself')
  else {
    const folder = await scratch(t)
    await fileIn(folder, 'file')
    const seen: Progress[] = []
    const run = a.client.perf(
      {
        host: b.options.address,
        port: b.options.port,
        test: 'bw',
        op: 'write',
        size: 65_536,
        qps: 1,
        depth: 16,
        durationNs: 3e8,
      },
      { onProgress: progress => seen.push(progress) },
    )
    let hops = 0
    while (hops === 0) {
      const { connections } = await a.client.status()
      hops = Math.max(0, ...connections.map(({ pathHops }) => pathHops))
      const peers = connections.filter(
        ({ peer, port }) => peer === b.options.address && port === b.options.port,
      )
      t.equal(peers.length, connections.length)
      if ((await Promise.race([run, new Promise(resolve => setTimeout(resolve, 10))])) !== undefined) break
    }
    await run
    t.equal(hops, 1, 'the receiving host')
  }
})

usual('without a port, that of the own daemon is meant', async t => {
  const port = freePort()
  const share = await scratch(t)
  const hosts = [0, 1].map(() => start(t, false, { address: loopbackAddress(), port, share }))
  const [a, b] = await Promise.all(hosts)
  const folder = await scratch(t)
  await fileIn(folder, 'file')
  t.match(await a!.client.send(join(folder, 'file'), b!.options.address), { bytes: BYTES })
  const error = await errorOf(a!.client.send(join(folder, 'file'), b!.options.address, { port: 70_000 }))
  t.match(error, { code: 'WEIR_BAD_ARGUMENT', message: /UDP port is 1 to 65534, not 70000/ })
})

usual('where switches know RoCEv2 by its port there is no other', async t => {
  const pool = new FramePool(16)
  const overlay = {
    vni: 1,
    local: { address: '127.0.0.1', port: 0 },
    peer: { address: '127.0.0.1', port: 9 },
  }
  const wrong = [{ io: 'auto', overlay }, { io: 'packet' }]
  for (const options of wrong) {
    const error = await errorOf(openPort({ ...options, pool, address: '127.0.0.1', port: 5791 }))
    t.match(error, { code: 'WEIR_BAD_ARGUMENT', message: /UDP port is 4791, not 5791/ })
  }
})
