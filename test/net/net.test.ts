/** `connect` and `listen` over hosts in real time, each with its NIC on a thread of its own. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t from 'tap'
import { connect, connectMessages, listen, listenMessages } from '../../lib/index.js'
import { open } from '../host/hosts.js'
import { pattern } from '../nic/pair.js'
import { loopbackAddress } from '../support/loopback.js'

const PORT = 7480

t.test('a stream echoes 8 MB, through a pipeline at each end', async t => {
  const [here, there] = await Promise.all([open(t), open(t)])
  const listener = await listen(PORT, { host: there })
  const serve = async () => {
    const stream = await listener.accept()
    await pipeline(stream, stream)
  }
  const stream = await connect(there.about.address, PORT, { host: here })
  const bytes = pattern(1, 8 << 20)
  const received = async () => {
    const digest = createHash('sha256')
    for await (const piece of stream) digest.update(piece)
    return digest.digest('hex')
  }
  const chunks = function* () {
    for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
  }
  const [, , digest] = await Promise.all([serve(), pipeline(Readable.from(chunks()), stream), received()])
  t.equal(digest, createHash('sha256').update(bytes).digest('hex'))
  await listener.close()
})

t.test('hosts of their own, and several streams of one listener', async t => {
  const at = loopbackAddress()
  const listener = await listen(PORT, { open: { address: at } })
  const serving = (async () => {
    for await (const stream of listener) stream.end(`hello ${stream.remoteAddress}`)
  })()
  const clients = [loopbackAddress(), loopbackAddress()]
  const words = await Promise.all(
    clients.map(async address => {
      const stream = await connect(at, PORT, { open: { address } })
      stream.end()
      return String(Buffer.concat(await stream.toArray()))
    }),
  )
  t.same(
    words,
    clients.map(address => `hello ${address}`),
  )
  await listener.close()
  await serving
})

t.test('messages', async t => {
  const [here, there] = await Promise.all([open(t), open(t)])
  const listener = await listenMessages(PORT, { host: there, messageBytesMax: 300_000 })
  const serving = (async () => {
    const messages = await listener.accept()
    for await (const message of messages)
      await messages.send(Uint8Array.of(message.length >> 16, message[0] ?? 0))
    await messages.end()
  })()
  const messages = await connectMessages(there.about.address, PORT, { host: here })
  t.equal(messages.sendBytesMax, 300_000)
  await messages.send(pattern(2, 300_000).fill(7, 0, 1))
  t.same([...(await messages.receive())!], [4, 7])
  await t.rejects(messages.send('text' as never), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /bytes is a Uint8Array/,
  })
  await messages.send(new Uint8Array(0))
  t.same([...(await messages.receive())!], [0, 0])
  await messages.end()
  t.equal(await messages.receive(), null)
  await serving
  t.same(await messages.closed, null)
})

t.test('errors', async t => {
  const [here, there] = await Promise.all([open(t), open(t)])
  const remote = there.about.address
  await t.rejects(connect(remote, PORT, { host: here }), { code: 'WEIR_REJECTED' })
  await t.rejects(connect(remote, PORT, {}), { code: 'WEIR_BAD_ARGUMENT', message: /takes a host/ })
  await t.rejects(connect(remote, PORT, { host: here, segmentBytes: 1 }), { code: 'WEIR_BAD_ARGUMENT' })
  for (const wrong of [{ highWaterMark: -1 }, { highWaterMark: 'x' }, { allowHalfOpen: 1 }] as object[]) {
    const message = /(highWaterMark|allowHalfOpen) is /
    await t.rejects(connect(remote, PORT, { host: here, ...wrong }), { code: 'WEIR_BAD_ARGUMENT', message })
    await t.rejects(listen(PORT, { host: there, ...wrong }), { code: 'WEIR_BAD_ARGUMENT', message })
  }
  await t.rejects(connect(remote, PORT, { host: here, receiveBytes: 100 << 20 }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /queues of 1604 places.*have 128/,
  })
  const listener = await listenMessages(PORT, { host: there })
  await t.rejects(connect(remote, PORT, { host: here }), { code: 'WEIR_PROTOCOL', message: /messages there/ })
  const accepted = listener.accept()
  const messages = await connectMessages(remote, PORT, { host: here })
  await Promise.all([messages.end(), (await accepted).end()])
  t.equal(listener.turnedAway, 1)
  const plain = await there.listen(PORT + 1)
  await t.rejects(connect(remote, PORT + 1, { host: here }), {
    code: 'WEIR_PROTOCOL',
    message: /nothing of a stream/,
  })
  await plain.close()
})

t.test('a signal ends the attempt, and later the stream', async t => {
  const [here, there] = await Promise.all([open(t), open(t)])
  const listener = await listen(PORT, { host: there })
  const remote = there.about.address
  await t.rejects(connect(remote, PORT, { host: here, signal: AbortSignal.abort() }), {
    code: 'WEIR_CANCELLED',
  })
  const soon = new AbortController()
  const attempt = connect(loopbackAddress(), PORT, { host: here, signal: soon.signal })
  soon.abort('too slow')
  await t.rejects(attempt, { code: 'WEIR_CANCELLED', cause: 'too slow' })
  const abort = new AbortController()
  const [stream, peer] = await Promise.all([
    connect(remote, PORT, { host: here, signal: abort.signal }),
    listener.accept(),
  ])
  const failed = Promise.all([once(stream, 'error'), once(peer, 'error')])
  abort.abort()
  t.match(await failed, [[{ code: 'WEIR_CANCELLED' }], [{ code: 'WEIR_STREAM_RESET' }]])
})

t.test('a signal ends a listener', async t => {
  const there = await open(t)
  const abort = new AbortController()
  const listener = await listen(PORT + 2, { host: there, signal: abort.signal })
  const waits = listener.accept()
  abort.abort()
  await t.rejects(waits, { code: 'WEIR_BAD_STATE' })
  await t.rejects(listen(PORT + 2, { host: there, signal: abort.signal }), { code: 'WEIR_CANCELLED' })
  const notOne = { aborted: false } as AbortSignal
  await t.rejects(listen(PORT + 2, { host: there, signal: notOne }), { code: 'WEIR_BAD_ARGUMENT' })
  await (await listen(PORT + 2, { host: there })).close()
})
