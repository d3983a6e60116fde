/** What can be read on the wire between two daemons, or two programs, with keys: nothing of what they move. Without keys all of it. */
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect as connectTcp, createServer } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import t, { type Test } from 'tap'
import type { DaemonOptions } from '../../lib/daemon/daemon.js'
import { VerbsService } from '../../lib/host/verbs-service.js'
import { connect, connectMessages, Host, type HostOptions, listen, listenMessages } from '../../lib/index.js'
import { openNic } from '../../lib/open-nic/open-nic.js'
import { keyText } from '../../lib/secure/key-text.js'
import { newKeyPair, rawPrivate } from '../../lib/secure/x25519.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'
import { WireBytes } from '../support/wire-bytes.js'
import { type Host as DaemonHost, errorOf, start } from './hosts.js'

const SECRET_TEXT = 'nobody on the path may read this'
const QUEUE_DEPTH = 128

function content(bytes: number): Buffer {
  const text = Buffer.alloc(bytes, `${SECRET_TEXT} `)
  for (let i = 0; i + 4 <= bytes; i += 4096) text.writeUInt32BE(i, i)
  return text
}

/** Keys for two hosts, each with a file of the other's. */
async function keys(t: Test, addresses: readonly [string, string]) {
  const folder = await scratch(t)
  const pairs = [newKeyPair(), newKeyPair()] as const
  return await Promise.all(
    ([0, 1] as const).map(async i => {
      const peers = join(folder, `peers${i}`)
      await writeFile(peers, `${addresses[1 - i]} ${keyText(pairs[1 - i]!.publicKey)}\n`)
      return { identity: rawPrivate(pairs[i]!), peers }
    }),
  )
}

async function daemons(t: Test, isSealed: boolean, more: Partial<DaemonOptions> = {}): Promise<DaemonHost[]> {
  const addresses = [loopbackAddress(), loopbackAddress()] as const
  const sealed = isSealed ? await keys(t, addresses) : [{}, {}]
  return await Promise.all(
    addresses.map((address, i) => start(t, false, { address, io: 'dgram', ...sealed[i], ...more })),
  )
}

/** Listens for TCP on a port that it returns, and carries connections by what the request says. */
async function tunnel(t: Test, { client }: DaemonHost, request: object): Promise<number> {
  const over = new AbortController()
  t.teardown(() => over.abort())
  return await new Promise((resolve, reject) => {
    const onProgress = (progress: { tunnel?: { listening: string } | null }) => {
      if (progress.tunnel) resolve(Number(progress.tunnel.listening.split(':').at(-1)))
    }
    const what = { listenAddress: '127.0.0.1', listenPort: 0, ...request }
    client.tunnel(what as never, { signal: over.signal, onProgress: onProgress as never }).catch(reject)
  })
}

async function echoServer(t: Test): Promise<number> {
  const echo = createServer(socket => socket.pipe(socket))
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => echo.close())
  return (echo.address() as { port: number }).port
}

/** What comes back of the bytes. @param before what is said first, and how many bytes answer that */
async function echoed(
  port: number,
  bytes: Buffer,
  before: readonly [Buffer, number][] = [],
): Promise<Buffer> {
  const socket = connectTcp(port, '127.0.0.1')
  for (const [said, answer] of before) {
    socket.write(said)
    for (let left = answer; left > 0; ) {
      const part = socket.read(left) as Buffer | null
      if (part === null) await once(socket, 'readable')
      else left -= part.length
    }
  }
  socket.end(bytes)
  return Buffer.concat(await socket.toArray())
}

for (const isSealed of [true, false]) {
  const how = isSealed ? 'with keys' : 'without'

  t.test(`${how}: files over several streams, trees and pipes`, async t => {
    const wire = WireBytes.record(t as Test)
    const share = await scratch(t as Test)
    const [a, b] = (await daemons(t as Test, isSealed, { share, chunkBytes: 65_536 })) as [
      DaemonHost,
      DaemonHost,
    ]
    const bytes = content(2_000_003)
    const name = 'a name that is nobodys business'
    await writeFile(join(share, name), bytes)
    const sent = await a.client.send(join(share, name), b.options.address, { streams: 3 })
    t.equal(sent.streams, 3)
    t.ok(bytes.equals(await readFile(join(b.options.inbox, name))))
    const got = await a.client.get(b.options.address, name, { directory: a.options.inbox, streams: 3 })
    t.equal(got.streams, 3)
    t.ok(bytes.equals(await readFile(join(a.options.inbox, name))))
    await mkdir(join(share, 'tree'))
    for (let i = 0; i < 9; i++) await writeFile(join(share, 'tree', `f${i}`), content(100 + i * 40_000))
    const tree = await a.client.getTree(b.options.address, ['tree'], {
      directory: a.options.inbox,
      streams: 2,
    })
    t.equal(tree.streams, 2)
    t.ok(content(320_100).equals(await readFile(join(a.options.inbox, 'tree', 'f8'))))
    t.ok(wire.bytes > 4_000_000, `${wire.bytes} bytes on the wire`)
    t.equal(wire.has(SECRET_TEXT), !isSealed, 'contents')
    t.equal(wire.has('nobodys business'), !isSealed, 'names')
    if (isSealed) t.ok(a.daemon.parts.sealed!.counters.sealed >= 3 + 3 + 2)
  })

  t.test(`${how}: TCP through a tunnel and through SOCKS5`, async t => {
    const wire = WireBytes.record(t as Test)
    const [a, b] = (await daemons(t as Test, isSealed, { allowTunnel: ['127.0.0.1:*'] })) as [
      DaemonHost,
      DaemonHost,
    ]
    const target = await echoServer(t as Test)
    const bytes = content(300_000)
    const host = b.options.address
    const plain = await tunnel(t as Test, a, { host, targetHost: '127.0.0.1', targetPort: target })
    t.ok(bytes.equals(await echoed(plain, bytes)), 'through the tunnel')
    const socks = await tunnel(t as Test, a, { host })
    const ask = Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, target >> 8, target & 255])
    const through = await echoed(socks, bytes, [
      [Buffer.from([5, 1, 0]), 2],
      [ask, 10],
    ])
    t.ok(bytes.equals(through), 'through SOCKS5')
    t.ok(wire.bytes > 1_200_000)
    t.equal(wire.has(SECRET_TEXT), !isSealed)
  })

  t.test(`${how}: streams and messages of programs`, async t => {
    const wire = WireBytes.record(t as Test)
    const addresses = [loopbackAddress(), loopbackAddress()] as const
    const sealed = isSealed ? await keys(t as Test, addresses) : [{}, {}]
    const [here, there] = (await Promise.all(
      addresses.map((address, i) => hostHere(t as Test, { address, ...sealed[i] })),
    )) as [Host, Host]
    const listener = await listen(7480, { host: there })
    const serving = (async () => {
      const stream = await listener.accept()
      await pipeline(stream, stream)
    })()
    const stream = await connect(addresses[1], 7480, { host: here })
    const bytes = content(700_000)
    stream.end(bytes)
    t.ok(bytes.equals(Buffer.concat(await stream.toArray())))
    await serving
    await listener.close()
    const messages = await listenMessages(7481, { host: there })
    const saying = await connectMessages(addresses[1], 7481, { host: here })
    const heard = await messages.accept()
    await saying.send(content(5000))
    t.ok(content(5000).equals(Buffer.from((await heard.receive())!)))
    await saying.end()
    t.equal(await heard.receive(), null)
    await heard.end()
    t.ok(wire.bytes > 1_400_000)
    t.equal(wire.has(SECRET_TEXT), !isSealed)
  })
}

/** A host whose NIC is on this thread, so that its wire can be read. */
async function hostHere(
  t: Test,
  options: Omit<HostOptions, 'identity'> & { identity?: Uint8Array },
): Promise<Host> {
  let service: VerbsService | null = null
  const nic = { ...options, io: 'dgram', queueDepth: QUEUE_DEPTH }
  const opened = await openNic(
    nic,
    { onStopped: error => t.fail(String(error)) },
    { onRound: now => service?.takeWork(now) },
  )
  const host = await Host.over(async (start, events) => {
    service = VerbsService.over(opened, start, events)
    return service
  }, nic)
  t.teardown(async () => {
    await host.close()
    opened.loop.close()
    await opened.port.close()
  })
  return host
}

t.test('programs with keys: who is refused, and what is', async t => {
  const addresses = [loopbackAddress(), loopbackAddress()] as const
  const [mine, theirs] = (await keys(t as Test, addresses)) as [
    { identity: Buffer; peers: string },
    { identity: Buffer; peers: string },
  ]
  const open = async (options: HostOptions) => {
    const host = await Host.open(options)
    t.teardown(() => host.close())
    return host
  }
  const here = await open({ address: addresses[0], ...mine })
  const there = await open({ address: addresses[1], ...theirs })
  const listener = await listen(7480, { host: there })
  const stream = await connect(addresses[1], 7480, { host: here })
  stream.end('by a thread of its own')
  const accepted = await listener.accept()
  t.equal(String(Buffer.concat(await accepted.toArray())), 'by a thread of its own')
  accepted.end()
  const plain = await open({ address: loopbackAddress() })
  const clear = await errorOf(connect(addresses[1], 7480, { host: plain }))
  t.match(clear, { code: 'WEIR_REJECTED', message: /takes only sealed connections/ })
  const stranger = await open({
    address: loopbackAddress(),
    identity: rawPrivate(newKeyPair()),
    peers: mine.peers,
  })
  t.match(await errorOf(connect(addresses[1], 7480, { host: stranger })), { code: 'WEIR_REJECTED' })
  t.match(await errorOf(here.createDatagramPair({ qkey: 1 })), {
    code: 'WEIR_UNSUPPORTED',
    message: /cannot be sealed/,
  })
  t.match(await errorOf(here.createQueuePair(addresses[1])), { code: 'WEIR_UNSUPPORTED' })
  const queue = await here.createSharedReceiveQueue()
  const sharing = { sharedReceiveQueue: queue }
  t.match(await errorOf(here.listen(7482, sharing)), { code: 'WEIR_UNSUPPORTED' })
  const address = loopbackAddress()
  t.match(await errorOf(Host.open({ address, peers: mine.peers })), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /no effect/,
  })
  t.match(await errorOf(Host.open({ address, identity: '/nowhere' })), { code: 'WEIR_NO_FILE' })
  t.match(await errorOf(Host.open({ address, identity: new Uint8Array(3) })), { code: 'WEIR_BAD_ARGUMENT' })
})
