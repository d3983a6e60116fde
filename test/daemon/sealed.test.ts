/** Daemons whose connections are sealed: files, trees and tunnels between them; who is refused, and how. */
import crypto from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { connect as connectTcp, createServer } from 'node:net'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import type { DaemonOptions } from '../../lib/daemon/daemon.js'
import { bestAead } from '../../lib/secure/aead.js'
import { ChunkSeal } from '../../lib/secure/chunk-seal.js'
import { keyText } from '../../lib/secure/key-text.js'
import { newKeyPair, rawPrivate } from '../../lib/secure/x25519.js'
import { scratch } from '../support/daemon-process.js'
import { errorOf, type Host, start } from './hosts.js'

interface Keyed extends Host {
  key: string
  peers: string
  folder: string
}

/** A daemon with a key and a file of known peers. */
async function keyed(t: Test, more: Partial<DaemonOptions> = {}): Promise<Keyed> {
  const folder = await scratch(t)
  const pair = newKeyPair()
  const peers = join(folder, 'known_peers')
  const host = await start(t, false, { identity: rawPrivate(pair), peers, ...more })
  return { ...host, key: keyText(pair.publicKey), peers, folder }
}

/** Each knows the other. */
async function pair(t: Test, more: Partial<DaemonOptions> = {}): Promise<[Keyed, Keyed]> {
  const a = await keyed(t, more)
  const b = await keyed(t, more)
  await writeFile(a.peers, `# who is who\n${b.options.address} ${b.key}\n`)
  await writeFile(b.peers, `${a.options.address} ${a.key}\n`)
  return [a, b]
}

/** Bytes that no other test has, so that finding them on the wire means something. */
function content(bytes: number): Buffer {
  const text = Buffer.alloc(bytes, 'this must not be readable on the path ')
  for (let i = 0; i + 4 <= bytes; i += 4096) text.writeUInt32BE(i, i)
  return text
}

t.test('a file and a tree, sent and got', async t => {
  const shared = await scratch(t)
  const [a, b] = await pair(t, { share: shared, chunkBytes: 64 * 1024 })
  const bytes = content(3_000_004)
  await writeFile(join(a.folder, 'file'), bytes)
  const sent = await a.client.send(join(a.folder, 'file'), b.options.address)
  t.equal(sent.path, 'file')
  t.ok(bytes.equals(await readFile(join(b.options.inbox, 'file'))))
  await mkdir(join(shared, 'tree'))
  for (let i = 0; i < 40; i++) await writeFile(join(shared, 'tree', `f${i}`), content(8 + i * 1000))
  await writeFile(join(shared, 'tree', 'empty'), '')
  await a.client.getTree(b.options.address, ['tree'], { directory: a.folder })
  for (let i = 0; i < 40; i++)
    t.ok(content(8 + i * 1000).equals(await readFile(join(a.folder, 'tree', `f${i}`))), `file ${i}`)
  t.equal(a.daemon.parts.sealed!.counters.sealed, 2)
  t.equal(b.daemon.parts.sealed!.counters.sealed, 2)
})

t.test('sent as a tree, got as a file, measured', async t => {
  const shared = await scratch(t)
  const [a, b] = await pair(t, { share: shared })
  const folder = join(a.folder, 'out')
  await mkdir(folder)
  for (let i = 0; i < 20; i++) await writeFile(join(folder, `f${i}`), content(5 + i * 30_000))
  await a.client.sendTree([{ path: folder, name: 'out' }], b.options.address)
  for (let i = 0; i < 20; i++)
    t.ok(content(5 + i * 30_000).equals(await readFile(join(b.options.inbox, 'out', `f${i}`))), `file ${i}`)
  const bytes = content(2_500_000)
  await writeFile(join(shared, 'one'), bytes)
  await a.client.get(b.options.address, 'one', { directory: a.folder })
  t.ok(bytes.equals(await readFile(join(a.folder, 'one'))))
  const what = { test: 'bw', size: 65_536, qps: 1, depth: 8, durationNs: 1e9 }
  for (const op of ['send', 'write', 'read']) {
    const reply = await a.client.perf({ host: b.options.address, op, ...what })
    t.ok(reply.bytes > 0, op)
    if (op === 'send') t.equal(reply.bytes % 65_536, 0)
  }
  const lat = {
    host: b.options.address,
    op: 'send',
    test: 'lat',
    size: 64,
    qps: 1,
    depth: 1,
    durationNs: 200e6,
  }
  t.ok((await a.client.perf(lat)).messages > 0)
})

/** Calls `act` before each chunk is opened, until the test ends. */
function beforeOpening(t: Test, act: (index: number, bytes: Uint8Array) => void): void {
  const { openPiece } = ChunkSeal.prototype
  ChunkSeal.prototype.openPiece = function (bytes, trailer, index, position) {
    act(index, bytes)
    return openPiece.call(this, bytes, trailer, index, position)
  }
  t.teardown(() => {
    ChunkSeal.prototype.openPiece = openPiece
  })
}

t.test('pipes, both ways, with an end on the border of a chunk and beside it', async t => {
  const shared = await scratch(t)
  const chunk = 64 * 1024
  const [a, b] = await pair(t, { share: shared, chunkBytes: chunk })
  for (const size of [0, 1, chunk - 25, chunk - 1, chunk, chunk + 1, 3 * chunk, 5_000_003]) {
    const bytes = content(size)
    const name = `${size}.bin`
    const sent = await a.client.sendStream(Readable.from([bytes]), b.options.address, name)
    t.equal(sent.bytes, size)
    t.ok(bytes.equals(await readFile(join(b.options.inbox, name))), `sent: ${size} bytes`)
    await writeFile(join(shared, name), bytes)
    const pieces: Buffer[] = []
    const into = new Writable({
      write(piece: Buffer, _encoding, done) {
        pieces.push(Buffer.from(piece))
        done()
      },
    })
    await a.client.getStream(b.options.address, name, into)
    t.ok(bytes.equals(Buffer.concat(pieces)), `got: ${size} bytes`)
  }
})

t.test('a chunk out of a pipe that was damaged comes again: the same record, not another one', async t => {
  const chunk = 64 * 1024
  const [a, b] = await pair(t, { chunkBytes: chunk })
  const bytes = content(4 * chunk + 5)
  const opened: number[] = []
  const first = new Map<number, Buffer>()
  beforeOpening(t, (index, text) => {
    const isAgain = opened.includes(index)
    opened.push(index)
    if (isAgain) t.ok(first.get(index)!.equals(text), `record of chunk ${index}`)
    else first.set(index, Buffer.from(text))
    if ((index === 1 || index === 4) && !isAgain) text[3]! ^= 1
  })
  const sent = await a.client.sendStream(Readable.from([bytes]), b.options.address, 'p')
  t.equal(sent.damagedChunks, 2)
  t.same(opened, [0, 1, 1, 2, 3, 4, 4])
  t.ok(bytes.equals(await readFile(join(b.options.inbox, 'p'))))
})

t.test('chunks that come again and attempts that go on use no nonce twice', async t => {
  const chunk = 64 * 1024
  const [a, b] = await pair(t, { chunkBytes: chunk })
  const used: string[] = []
  const { createCipheriv } = crypto
  const note = (kind: string, key: Uint8Array, nonce: Uint8Array) =>
    used.push(`${kind} ${Buffer.from(key).toString('hex')} ${Buffer.from(nonce).toString('hex')}`)
  // Those of the handshakes.
  crypto.createCipheriv = ((kind: string, key: Buffer, nonce: Buffer, ...more: never[]) => {
    if (kind !== 'aes-128-gcm') note(kind, key, nonce)
    return (createCipheriv as (...all: unknown[]) => unknown)(kind, key, nonce, ...more)
  }) as never
  syncBuiltinESMExports()
  const records = bestAead()
  const { seal } = records
  records.seal = (by, ...texts) => {
    note('aes-128-gcm', by.key, by.nonce)
    seal(by, ...texts)
  }
  t.teardown(() => {
    crypto.createCipheriv = createCipheriv
    syncBuiltinESMExports()
    records.seal = seal
  })
  let damages = 4
  beforeOpening(t, (index, text) => {
    if (index === 5 && damages > 0) {
      damages--
      text[0]! ^= 1
    }
  })
  const bytes = content(10 * chunk)
  await writeFile(join(a.folder, 'file'), bytes)
  const sent = await a.client.send(join(a.folder, 'file'), b.options.address, { retries: 3 })
  t.match(sent, { attempts: 2, restarts: 0, damagedChunks: 3, sealedWith: b.options.address })
  t.ok(bytes.equals(await readFile(join(b.options.inbox, 'file'))))
  t.ok(used.length > 18, `${used.length} records and messages of handshakes`)
  t.equal(new Set(used).size, used.length, 'each key and nonce once')
})

t.test('trees by digests, and dry runs', async t => {
  const shared = await scratch(t)
  const [a, b] = await pair(t, { share: shared })
  const roots = [{ path: join(shared, 'tree'), name: 'tree' }]
  await mkdir(join(shared, 'tree'))
  for (let i = 0; i < 5; i++) await writeFile(join(shared, 'tree', `f${i}`), content(8 + i * 90_000))
  const to = b.options.address
  const dry = await a.client.sendTree(roots, to, { dryRun: true })
  t.match(dry.tree, { movedFiles: 5, movedBytes: 5 * 8 + 10 * 90_000 })
  t.same(await readdir(b.options.inbox), [])
  t.equal((await a.client.sendTree(roots, to)).tree?.movedFiles, 5)
  const inbox = join(b.options.inbox, 'tree')
  for (const folder of [inbox, join(shared, 'tree')]) {
    await utimes(join(folder, 'f1'), 1e9, 1e9)
    await writeFile(join(folder, 'f2'), folder === inbox ? 'this' : 'that')
    await utimes(join(folder, 'f2'), 1e9, 1e9)
  }
  await utimes(join(inbox, 'f3'), 1e9, 1e9)
  const how = { checksum: true, overwrite: true }
  t.same((await a.client.sendTree(roots, to, { ...how, dryRun: true })).tree?.wouldMove, ['tree/f2'])
  t.equal((await a.client.sendTree(roots, to, how)).tree?.movedFiles, 1)
  t.equal(await readFile(join(inbox, 'f2'), 'utf8'), 'that')
  const there = { directory: a.folder, checksum: true }
  t.equal((await a.client.getTree(to, ['tree'], { ...there, dryRun: true })).tree?.movedFiles, 5)
  t.equal((await a.client.getTree(to, ['tree'], there)).tree?.movedFiles, 5)
  t.equal((await a.client.getTree(to, ['tree'], there)).tree?.movedFiles, 0)
})

t.test('a TCP connection through a tunnel', async t => {
  const echo = createServer(socket => socket.pipe(socket))
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => echo.close())
  const { port } = echo.address() as { port: number }
  const [a, b] = await pair(t, { allowTunnel: ['127.0.0.1:*'] })
  const over = new AbortController()
  const listening = new Promise<string>((resolve, reject) => {
    const onProgress = (progress: { tunnel?: { listening: string } | null }) => {
      if (progress.tunnel) resolve(progress.tunnel.listening)
    }
    const request = {
      host: b.options.address,
      listenAddress: '127.0.0.1',
      listenPort: 0,
      targetHost: '127.0.0.1',
      targetPort: port,
    }
    a.client.tunnel(request, { signal: over.signal, onProgress: onProgress as never }).catch(reject)
  })
  const socket = connectTcp(Number((await listening).split(':').at(-1)), '127.0.0.1')
  const bytes = content(700_000)
  const back: Buffer[] = []
  socket.on('data', data => back.push(data))
  socket.end(bytes)
  await once(socket, 'close')
  t.ok(bytes.equals(Buffer.concat(back)))
  t.equal(b.daemon.parts.sealed!.counters.sealed, 1)
  over.abort()
})

t.test('who is refused, and how', async t => {
  const file = join(await scratch(t), 'file')
  await writeFile(file, 'content')
  const [a, b] = await pair(t)
  const to = b.options.address
  const clear = await start(t, false)
  const cases = [
    // The text of the one who refuses reaches the one who has asked.
    [errorOf(clear.client.send(file, to)), 'WEIR_REJECTED', /only sealed connections.*weir key new/],
    [errorOf(a.client.send(file, clear.options.address)), 'WEIR_REJECTED', /has no key/],
  ] as const
  for (const [error, code, text] of cases) {
    t.equal((await error).code, code)
    t.match((await error).message, text)
  }
  const stranger = await keyed(t)
  let error = await errorOf(stranger.client.send(file, to))
  t.equal(error.code, 'WEIR_UNKNOWN_KEY')
  t.match(error.message, new RegExp(b.key))
  await writeFile(stranger.peers, `${to} ${a.key}\n`)
  error = await errorOf(stranger.client.send(file, to))
  t.equal(error.code, 'WEIR_KEY_CHANGED')
  t.match(error.message, /Somebody may be in its place/)
  await writeFile(stranger.peers, `${to} ${b.key}\n`)
  error = await errorOf(stranger.client.send(file, to))
  t.equal(error.code, 'WEIR_REJECTED')
  t.match(error.message, new RegExp(`does not know the key ${stranger.key}`))
  await writeFile(b.peers, `laptop ${stranger.key} may=get,perf\n`)
  error = await errorOf(stranger.client.send(file, to))
  t.equal(error.code, 'WEIR_REJECTED')
  t.match(error.message, /may not send/)
  await writeFile(b.peers, `laptop ${stranger.key} may=send\n`)
  t.equal((await stranger.client.send(file, to)).path, 'file', 'a line that is added counts at once')
})

t.test('a host that is new is noted where that was asked for', async t => {
  const file = join(await scratch(t), 'file')
  await writeFile(file, 'content')
  const [, b] = await pair(t)
  const to = b.options.address
  const a = await keyed(t, { acceptNew: true })
  await writeFile(b.peers, `a ${a.key}\n`)
  await a.client.send(file, to)
  t.equal(await readFile(a.peers, 'utf8'), `${to} ${b.key} may=none\n`)
  await writeFile(a.peers, `${to} ${a.key}\n`)
  t.equal((await errorOf(a.client.send(file, to))).code, 'WEIR_KEY_CHANGED')
})

t.test('in the clear with whom that is allowed', async t => {
  const file = join(await scratch(t), 'file')
  await writeFile(file, 'content')
  const clear = await start(t, false)
  const a = await keyed(t, { allowClear: [`${clear.options.address}/32`] })
  await a.client.send(file, clear.options.address)
  await clear.client.send(file, a.options.address)
  t.equal(a.daemon.parts.sealed!.counters.sealed, 0)
})

t.test('hosts with a secret alone know each other by that', async t => {
  const file = join(await scratch(t), 'file')
  const bytes = content(300_000)
  await writeFile(file, bytes)
  const secret = Buffer.from('a secret of more than 16 bytes')
  const [a, b] = await Promise.all([start(t, false, { secret }), start(t, false, { secret })])
  await a.client.send(file, b.options.address)
  t.ok(bytes.equals(await readFile(join(b.options.inbox, 'file'))))
  t.equal(b.daemon.parts.sealed!.counters.sealed, 1)
  const other = await start(t, false, { secret: Buffer.from('another secret of 16 bytes') })
  t.equal((await errorOf(other.client.send(file, b.options.address))).code, 'WEIR_REJECTED')
})

t.test('options that would do nothing are refused', async t => {
  for (const more of [{ peers: 'x' }, { acceptNew: true }, { allowClear: ['any'] }])
    t.equal((await errorOf(start(t, false, more))).code, 'WEIR_BAD_ARGUMENT')
  const identity = rawPrivate(newKeyPair())
  for (const allowClear of [['host'], ['10.0.0.0/33'], ['10.0.0.0/8/8'], ['::1/129']])
    t.equal(
      (await errorOf(start(t, false, { identity, peers: '/none', allowClear }))).code,
      'WEIR_BAD_ARGUMENT',
    )
})
