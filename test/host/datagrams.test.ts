/** Datagrams, scatter/gather lists and solicited events of a program's Host. */
import t from 'tap'
import { Host } from '../../lib/host/host.js'
import { datagramSource, WorkOpcode } from '../../lib/index.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'

const ADDRESSES = ['127.34.1.1', '127.34.1.2'] as const
const QKEY = 0x0123_4567

async function hosts(t: { teardown(end: () => Promise<void>): void }): Promise<[Host, Host]> {
  const made = await Promise.all(ADDRESSES.map(address => Host.open({ address, port: 4791 })))
  t.teardown(async () => {
    await Promise.all(made.map(host => host.close()))
  })
  return made as [Host, Host]
}

const shared = (bytes: number, fill = 0) => new Uint8Array(new SharedArrayBuffer(bytes)).fill(fill)

async function rejects(t: { equal(a: unknown, b: unknown): void }, call: Promise<unknown>, code: string) {
  t.equal(
    await call.then(
      () => 'nothing',
      error => error.code,
    ),
    code,
  )
}

t.test('a program asks a port for QPN and Q_Key, and its datagram is answered', async t => {
  const [here, there] = await hosts(t)
  const server = await there.createDatagramPair({ qkey: QKEY })
  const client = await here.createDatagramPair({ qkey: QKEY })
  await there.serveDatagrams(7174, server, Buffer.from('welcome'))
  await rejects(t, there.serveDatagrams(7174, server), 'WEIR_BAD_STATE')
  const found = await here.resolveDatagrams(ADDRESSES[1], 7174, { privateData: Buffer.from('hello') })
  t.same([found.qpn, found.qkey], [server.qpn, QKEY])
  t.equal(Buffer.from(found.privateData).toString('latin1', 0, 8), 'welcome\0')
  await rejects(t, here.resolveDatagrams(ADDRESSES[1], 7175), 'WEIR_REJECTED')
  const access = Access.LOCAL_WRITE
  const [out, into] = [
    await here.register(shared(100, 5), access),
    await there.register(shared(4096), access),
  ]
  const [reply, back] = [
    await there.register(shared(50, 9), access),
    await here.register(shared(4096), access),
  ]
  server.postReceive({ id: 1, region: into, offset: 0, length: 4096 })
  client.postReceive({ id: 2, region: back, offset: 0, length: 4096 })
  const to = { address: (await here.createAddress(ADDRESSES[1])).id, ...found }
  t.ok(
    client.postSend({
      id: 3,
      opcode: WorkOpcode.SEND_WITH_IMM,
      immediate: 77,
      region: out,
      offset: 0,
      length: 100,
      to,
    }),
  )
  const done = new Completion()
  await server.next(done)
  t.same([done.byteLength, done.immediate, done.sourceQpn], [140, 77, client.qpn])
  t.ok(into.bytes.subarray(40, 140).every(byte => byte === 5))
  t.equal(datagramSource(into.bytes), ADDRESSES[0])
  const asker = (await there.createAddress(datagramSource(into.bytes))).id
  const answer = { address: asker, qpn: done.sourceQpn, qkey: QKEY }
  server.postSend({ id: 4, opcode: WorkOpcode.SEND, region: reply, offset: 0, length: 50, to: answer })
  await client.next(done)
  t.equal(done.id, 3)
  await client.next(done)
  t.same([done.id, done.byteLength], [2, 90])
  t.ok(back.bytes.subarray(40, 90).every(byte => byte === 9))
  await rejects(t, here.createAddress('239.0.0.1'), 'WEIR_UNSUPPORTED')
  t.throws(
    () =>
      client.postSend({
        id: 5,
        opcode: WorkOpcode.SEND,
        region: back,
        offset: 0,
        length: client.pathMtu + 1,
        to,
      }),
    {
      code: 'WEIR_BAD_ARGUMENT',
    },
  )
  await there.unserveDatagrams(7174)
  await rejects(t, here.resolveDatagrams(ADDRESSES[1], 7174), 'WEIR_REJECTED')
  for (const udpPort of [0, 65_535, 70_000])
    await rejects(t, here.resolveDatagrams(ADDRESSES[1], 7174, { udpPort }), 'WEIR_BAD_ARGUMENT')
  await there.serveDatagrams(7174, server)
  await server.close()
  t.equal(await server.closed, null)
  // A port of a queue pair that has ended answers nobody, and is free.
  await rejects(t, here.resolveDatagrams(ADDRESSES[1], 7174), 'WEIR_REJECTED')
  await there.serveDatagrams(7174, await there.createDatagramPair({ qkey: QKEY }))
})

t.test('four pieces are one message at either end; a program may sleep until its peer solicits', async t => {
  const [here, there] = await hosts(t)
  const listener = await there.listen(7400)
  const [connection, peer] = await Promise.all([here.connect(ADDRESSES[1], 7400), listener.accept()])
  const pieces = async (host: Host, lengths: number[], fill: number) =>
    await Promise.all(
      lengths.map(async (length, i) => ({
        region: await host.register(shared(length + 8, fill === 0 ? 0 : fill + i), Access.LOCAL_WRITE),
        offset: 4,
        length,
      })),
    )
  const [first, ...more] = await pieces(here, [10, 2000, 1, 3000], 1)
  const [into, ...rest] = await pieces(there, [3000, 11, 1000, 1000], 0)
  peer.postReceive({ id: 1, ...into!, more: rest })
  peer.postReceive({ id: 2, ...into!, more: rest })
  const done = new Completion()
  const send = (id: number, solicited: boolean) =>
    connection.postSend({ id, opcode: WorkOpcode.SEND, ...first!, more, solicited })
  let woken = false
  const sleeping = peer.next(done, { solicited: true }).then(() => {
    woken = true
  })
  send(1, false)
  const own = new Completion()
  await connection.next(own)
  // The peer has acknowledged the first one, and so it has a completion.
  t.notOk(woken, 'a message that solicits nothing does not wake')
  send(2, true)
  await sleeping
  t.same([done.id, done.byteLength, done.solicited], [1, 5011, false])
  await peer.next(done)
  t.same([done.id, done.solicited], [2, true])
  const sent = Buffer.concat(
    [first!, ...more].map(({ region, length }) => region.bytes.subarray(4, 4 + length)),
  )
  const taken = Buffer.concat(
    [into!, ...rest].map(({ region, length }) => region.bytes.subarray(4, 4 + length)),
  )
  t.ok(sent.equals(taken))
  t.throws(
    () => connection.postSend({ id: 3, opcode: WorkOpcode.SEND, ...first!, more: [...more, more[0]!] }),
    {
      code: 'WEIR_BAD_ARGUMENT',
    },
  )
})
