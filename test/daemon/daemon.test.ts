/** A daemon within the test's process. */
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseOverlay } from '../../bin/commands/daemon.js'
import { parseHostPath } from '../../bin/commands/host-path.js'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { Daemon, type DaemonOptions } from '../../lib/daemon/daemon.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { createLog } from '../../lib/log.js'
import { pathMtuFor } from '../../lib/nic/flow/filled-payload.js'
import { freePort, until } from '../io/helpers.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'

async function options(t: Test, more: Partial<DaemonOptions> = {}): Promise<DaemonOptions> {
  const folder = await scratch(t)
  return {
    address: loopbackAddress(),
    inbox: join(folder, 'in'),
    socketPath: join(folder, 's'),
    log: createLog('silent', 'test'),
    ...(process.env.WEIR_IO && { io: process.env.WEIR_IO }),
    ...more,
  }
}

async function start(t: Test, given: DaemonOptions): Promise<Daemon> {
  const daemon = await Daemon.start(given)
  t.teardown(() => daemon.close())
  return daemon
}

t.test('it reports its status, and ends on request', async t => {
  const given = await options(t, { lineRateBps: 1e9, pathMtu: 2048 })
  const daemon = await start(t, given)
  const client = await connectDaemon(given.socketPath)
  const expected = {
    pid: process.pid,
    address: given.address,
    port: 4791,
    io: process.env.WEIR_IO || (libcFault() === null ? 'batch' : 'dgram'),
    congestionControl: 'auto',
    lineRateBps: 1e9,
    pathMtu: 2048,
    transfers: 0,
  }
  t.match(await client.status(), expected)
  t.same(await client.transfers(), [])
  t.equal(await client.cancel('s1'), false)
  await client.stop()
  await daemon.closed
  client.close()
  t.notOk(existsSync(given.socketPath))
  t.equal(daemon.parts.pool.inUse, 0, 'every frame has been given back')
  await daemon.close()
})

t.test('what cannot start leaves nothing open', async t => {
  const given = await options(t)
  await start(t, given)
  const sameSocket = await options(t, { socketPath: given.socketPath })
  await t.rejects(Daemon.start(sameSocket), { code: 'WEIR_BAD_STATE' })
  const own = await options(t)
  await t.rejects(
    Daemon.start({ ...own, address: given.address }),
    { code: 'WEIR_BAD_ARGUMENT' },
    'address in use',
  )
  await t.rejects(Daemon.start({ ...own, inbox: '/dev/null/x' }), { code: 'WEIR_NO_FILE' })
  const wrongCc = { cc: { name: 'hpcc', options: { nonsense: 1 } } }
  await t.rejects(Daemon.start({ ...own, ...wrongCc }), { code: 'WEIR_BAD_ARGUMENT' })
  await t.rejects(Daemon.start({ ...own, io: 'telegraph' }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /auto, batch, dgram, raw/,
  })
  // The address of the failed one is free again.
  await start(t, { ...own, address: sameSocket.address })
  await start(t, { ...own, socketPath: `${own.socketPath}2` })
})

t.test('a handler that others register is answered', async t => {
  const given = await options(t)
  const daemon = await start(t, given)
  daemon.control.registerHandler('traffic', async ({ name, bytes }) => ({
    traffic: { name, bytes, fctNs: 5 },
  }))
  const client = await connectDaemon(given.socketPath)
  t.match(await client.traffic({ name: 'f', bytes: 10 }), { name: 'f', bytes: 10, fctNs: 5 })
  client.close()
})

t.test('flows from memory run, start at their time, and are cancelled', async t => {
  const [one, two] = [await options(t), await options(t)]
  const [from, to] = [await start(t, one), await start(t, two)]
  const client = await connectDaemon(one.socketPath)
  t.teardown(() => client.close())
  const regions = from.parts.nic.memory.size
  const progress: number[] = []
  const startUnixMs = Date.now() + 300
  const flow = { name: 'f', host: two.address, bytes: 3_000_000, startUnixMs }
  const reply = await client.traffic(flow, { onProgress: ({ bytes }) => progress.push(bytes) })
  t.match(reply, { name: 'f', bytes: 3_000_000 })
  t.ok(reply.startUnixMs >= startUnixMs, 'not before its time')
  t.ok(reply.fctNs > 0 && reply.baseRttNs > 0)
  t.equal(progress.at(-1), 3_000_000)
  const slow = { congestionControl: 'hpcc', options: { eta: 0.9 } }
  t.match(await client.traffic({ ...flow, ...slow, startUnixMs: 0, bytes: 0 }), { bytes: 0 })

  const never = { ...flow, startUnixMs: Date.now() + 1e6 }
  const abort = new AbortController()
  const waiting = client.traffic(never, { signal: abort.signal })
  setTimeout(() => abort.abort(), 100)
  await t.rejects(waiting, { code: 'WEIR_CANCELLED' })
  await t.rejects(client.traffic({ ...flow, congestionControl: 'none' }), { code: 'WEIR_BAD_ARGUMENT' })
  await t.rejects(client.traffic({ ...flow, startUnixMs: 1e15 }), { code: 'WEIR_BAD_ARGUMENT' })
  await until(() => from.parts.nic.memory.size === regions)
  t.pass('no flow has left memory behind')
  await to.close()
  await from.close()
})

t.test('files are fetched, by programs too', async t => {
  const folder = t.testdir({ share: { a: 'hello', sub: { b: 'there' } }, to: {} })
  const [one, two] = [await options(t, { share: join(folder, 'share') }), await options(t)]
  const [server, here] = [await start(t, one), await start(t, two)]
  const [client, other] = [await connectDaemon(two.socketPath), await connectDaemon(one.socketPath)]
  t.teardown(() => [client, other].forEach(each => void each.close()))
  const regions = [server, here].map(({ parts }) => parts.nic.memory.size)
  const to = { directory: join(folder, 'to') }
  const progress: string[] = []
  const onProgress = ({ transferId }: { transferId: string }) => progress.push(transferId)
  const reply = await client.get(one.address, 'sub/b', { ...to, name: 'c', onProgress })
  t.match(reply, { path: join(to.directory, 'c'), bytes: 5, resumedBytes: 0, digestKind: 'xxh64' })
  t.same(new Set(progress), new Set([reply.transferId]))
  t.equal(readFileSync(join(to.directory, 'c'), 'utf8'), 'there')

  await t.rejects(client.get(one.address, 'a', { ...to, name: 'c' }), { code: 'WEIR_FILE_EXISTS' })
  await client.get(one.address, 'a', { ...to, name: 'c', overwrite: true })
  t.equal(readFileSync(join(to.directory, 'c'), 'utf8'), 'hello')
  const closed = { code: 'WEIR_REJECTED', message: /no files are shared there.*--share/ }
  await t.rejects(other.get(two.address, 'a', to), closed)
  await t.rejects(client.get(one.address, 'missing', to), { code: 'WEIR_NO_FILE' })
  await t.rejects(client.get(one.address, 'a', { ...to, name: '../x' }), { code: 'WEIR_REJECTED' })
  await t.rejects(client.get(one.address, 'a', { ...to, digest: 'md5' }), { code: 'WEIR_BAD_ARGUMENT' })
  await t.rejects(client.get('', 'a', to), { code: 'WEIR_BAD_ARGUMENT' })
  t.match(await client.status(), { receivedBytes: 10, sentBytes: 0, share: '' })
  t.match(await other.status(), { receivedBytes: 0, sentBytes: 10, share: join(folder, 'share') })
  await Promise.all([server.close(), here.close()])
  t.same(
    [server, here].map(({ parts }) => parts.nic.memory.size),
    regions,
    'no memory is left registered',
  )
  for (const { parts } of [server, here]) t.equal(parts.pool.inUse, 0, 'every frame has been given back')
})

const noIpv6 = process.env.WEIR_IO === 'raw' && 'raw sockets show no header of IPv6'
t.test('a host sends to itself and fetches from itself, over IPv6', { skip: noIpv6 }, async t => {
  const folder = t.testdir({ share: { a: 'x'.repeat(300_000) }, to: {} })
  const share = join(folder, 'share')
  const given = await options(t, { address: '::1', port: freePort(), share })
  if (!Object.values(networkInterfaces()).some(each => each?.some(({ address }) => address === '::1'))) {
    t.comment('skipped: this machine has no IPv6 loopback')
    return
  }
  const daemon = await start(t, given)
  const client = await connectDaemon(given.socketPath)
  t.teardown(() => client.close())
  await client.send(join(share, 'a'), '::1', { directory: 'x' })
  await client.get('::1', 'a', { directory: join(folder, 'to') })
  for (const path of [join(given.inbox, 'x/a'), join(folder, 'to/a')])
    t.equal(readFileSync(path, 'utf8'), 'x'.repeat(300_000), path)
  await daemon.close()
  t.equal(daemon.parts.pool.inUse, 0)
})

t.test('unfinished files that nobody came back for are swept when it starts', async t => {
  const given = await options(t)
  mkdirSync(given.inbox)
  const [old, fresh] = ['.a.weir-partial-0123456789abcdef', '.b.weir-partial-0123456789abcdef']
  for (const name of [old, fresh]) writeFileSync(join(given.inbox, name), 'x')
  const day = 24 * 3600
  const ago = (days: number) => Date.now() / 1000 - days * day
  utimesSync(join(given.inbox, old), ago(7.1), ago(7.1))
  utimesSync(join(given.inbox, fresh), ago(6.9), ago(6.9))
  await start(t, given)
  t.same(readdirSync(given.inbox), [fresh])
})

t.test('the path MTU fits the interface', async t => {
  const expected = {
    65536: 4096,
    9000: 4096,
    4200: 2048,
    2300: 2048,
    1500: 1024,
    1280: 1024,
    1000: 512,
    576: 256,
  }
  for (const [mtu, pathMtu] of Object.entries(expected))
    t.equal(pathMtuFor(Number(mtu)), pathMtu, `MTU ${mtu}`)
})

t.test('targets and links as they are typed', async t => {
  const targets: [string, string, string][] = [
    ['h2', 'h2', ''],
    ['h2:', 'h2', ''],
    ['10.0.0.1:a/b', '10.0.0.1', 'a/b'],
    ['h2:with:colon', 'h2', 'with:colon'],
    ['fd00::1', 'fd00::1', ''],
    ['[fd00::1]:dir', 'fd00::1', 'dir'],
    ['[fd00::1]', 'fd00::1', ''],
  ]
  for (const [text, host, path] of targets) t.same(parseHostPath(text, ''), { host, port: 0, path }, text)
  for (const text of ['', ':a', '[]:a', 'a/b'])
    t.throws(() => parseHostPath(text, ''), { code: 'WEIR_BAD_ARGUMENT' }, text)
  t.same(parseOverlay('vni=7,local=127.0.0.1:0,peer=[::1]:4789'), {
    vni: 7,
    local: { address: '127.0.0.1', port: 0 },
    peer: { address: '::1', port: 4789 },
  })
  for (const text of ['', 'vni=7', 'vni=7,local=x,peer=y', 'vni=x,local=a:1,peer=b:1']) {
    t.throws(() => parseOverlay(text), { code: 'WEIR_BAD_ARGUMENT' }, text)
  }
})
