/** rping's protocol: both ends, and peers that break it. */
import t, { type Test } from 'tap'
import { type Host, WorkOpcode } from '../../../lib/index.js'
import { Conversation, MessageMemory } from '../../../lib/interop/conversation.js'
import { infoOf, readInfo } from '../../../lib/interop/rping/memory-info.js'
import { PingClient } from '../../../lib/interop/rping/ping-client.js'
import { type PingedBy, PingServer } from '../../../lib/interop/rping/ping-server.js'
import { memory, open } from '../../host/hosts.js'

const PORT = 7174

t.test('where memory is: 16 bytes, big endian', async t => {
  const info = { address: 0x5593192be000, key: 0x212, length: 64 }
  t.equal(Buffer.from(infoOf(info)).toString('hex'), '00005593192be0000000021200000040')
  t.same(readInfo(infoOf(info)), info)
  const wrong: [string, RegExp][] = [
    ['00005593192be00000000212000000', /16 bytes/],
    ['00005593192be000000002120000004000', /16 bytes/],
    ['00215593192be0000000021200000040', /above 2\^53/],
    ['00005593192be0000000021200010000', /at most 65535 bytes/],
  ]
  for (const [hex, message] of wrong)
    t.throws(() => readInfo(Buffer.from(hex, 'hex')), { code: 'WEIR_PROTOCOL', message })
})

async function listening(t: Test, host: Host, silentMs = 60_000) {
  const left: PingedBy[] = []
  let wake = () => {}
  const onLeft = (peer: PingedBy) => {
    left.push(peer)
    wake()
  }
  const server = await PingServer.listen(host, onLeft, PORT, silentMs)
  t.teardown(() => server.close())
  return async () => {
    while (left.length === 0)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    return left.shift()!
  }
}

t.test('two hosts', async t => {
  const [a, b] = await Promise.all([open(t), open(t)])
  /** One after the other: as many may wait to be accepted as there are places. */
  const connections = async (count: number) => {
    const all = []
    while (all.length < count) all.push(await a.connect(b.about.address, PORT))
    return all
  }

  t.test('pings of the least and the greatest size come back as they were sent', async t => {
    const left = await listening(t, b)
    for (const size of [1, 64, 65_535]) {
      const client = await PingClient.connect(a, b.about.address, { size })
      for (let i = 0; i < 3; i++) t.ok((await client.ping(true)) > 0)
      await client.close()
      t.same(await left(), { remote: a.about.address, pings: 3, error: null })
    }
  })

  t.test('a peer that breaks the protocol ends its own connection, others go on', async t => {
    const left = await listening(t, b)
    const other = await PingClient.connect(a, b.about.address, { size: 64 })
    await other.ping(true)
    const wrong: [what: string, bytes: Uint8Array, error: object][] = [
      ['a message of another length', new Uint8Array(15), { code: 'WEIR_PROTOCOL', message: /16 bytes/ }],
      ['a message that is too long', new Uint8Array(300), { code: 'WEIR_CONNECTION_LOST' }],
      ['too large a ping', infoOf({ address: 4096, key: 1, length: 1 << 20 }), { code: 'WEIR_PROTOCOL' }],
      [
        'memory that is not there',
        infoOf({ address: 4096, key: 1, length: 64 }),
        { code: 'WEIR_CONNECTION_LOST' },
      ],
    ]
    for (const [what, bytes, error] of wrong) {
      const connection = await a.connect(b.about.address, PORT)
      const { region } = await memory(a, 512)
      region.bytes!.set(bytes)
      connection.postSend({ id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: bytes.length })
      t.match((await left()).error, error, what)
      await connection.disconnect()
    }
    t.ok((await other.ping(true)) > 0)
    await other.close()
    t.match(await left(), { pings: 2, error: null })
  })

  t.test('a peer that leaves at once has left in order', async t => {
    const left = await listening(t, b)
    for (let rounds = 0; rounds < 5; rounds++) {
      const all = await Promise.all([1, 2, 3, 4].map(() => a.connect(b.about.address, PORT)))
      await Promise.all(all.map(connection => connection.disconnect()))
      for (const _ of all) t.same(await left(), { remote: a.about.address, pings: 0, error: null })
    }
  })

  t.test('a silent peer gives its place to one that comes when all are taken', async t => {
    const left = await listening(t, b, 0)
    const silent = await connections(16)
    const client = await PingClient.connect(a, b.about.address, { size: 64 })
    t.ok((await client.ping(true)) > 0)
    t.match(await left(), {
      pings: 0,
      error: { code: 'WEIR_UNREACHABLE', message: /another client has come/ },
    })
    await client.close()
    t.match(await left(), { pings: 1, error: null })
    await Promise.all(silent.map(connection => connection.disconnect()))
  })

  t.test('who finds no place is turned away', async t => {
    const left = await listening(t, b)
    const silent = await connections(16)
    const further = await a.connect(b.about.address, PORT)
    t.equal(await further.closed, null)
    t.match(await left(), { pings: 0, error: { code: 'WEIR_FULL', message: /16 clients are here/ } })
    await Promise.all(silent.map(connection => connection.disconnect()))
  })

  t.test('a text that comes back changed, and nobody there', async t => {
    const listener = await b.listen(PORT)
    const serve = async () => {
      const connection = await listener.accept()
      const memory = await MessageMemory.open(b)
      for (const receive of memory.receives) connection.postReceive(receive)
      const talk = new Conversation(connection, memory)
      // It takes both messages, and moves nothing.
      while ((await talk.receive()) !== null) await talk.send(new Uint8Array(16))
    }
    const served = serve()
    const client = await PingClient.connect(a, b.about.address, { size: 64 })
    await t.rejects(client.ping(true), { code: 'WEIR_DIGEST_MISMATCH' })
    t.ok((await client.ping(false)) > 0, 'without --verify nobody looks')
    await client.close()
    await served
    await listener.close()
    await t.rejects(PingClient.connect(a, b.about.address, { size: 64 }), { code: 'WEIR_REJECTED' })
  })
})
