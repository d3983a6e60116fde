/** What a program may hand in by mistake: each public function refuses it with a code, and says which argument it is. */
import { inspect } from 'node:util'
import t from 'tap'
import { checkedOptions } from '../../lib/host/option-names.js'
import {
  Access,
  Completion,
  connectDaemon,
  DaemonClient,
  datagramSource,
  ERROR_CODES,
  Host,
  type SendWork,
  StreamSocket,
  WeirError,
  WorkOpcode,
} from '../../lib/index.js'
import { loopbackAddress } from '../support/loopback.js'
import { memory, open, PORT } from './hosts.js'

/** Values of all types, and options of which a member has a wrong one. */
const ODD: readonly unknown[] = [
  ...[undefined, null, Number.NaN, -1, 1.5, 5n, 'x', '', {}, [], () => {}, Symbol('s')],
  ...['privateData', 'domain', 'pathMtu', 'qkey', 'receives', 'signal', 'cc', 'telemetry', 'paths'].flatMap(
    name => [{ [name]: null }, { [name]: 'x' }, { [name]: 5 }, { [name]: () => {} }],
  ),
  ...['udpPort', 'priority', 'backlog', 'baseRttNs'].flatMap(name => [{ [name]: null }, { [name]: 'x' }]),
  { receives: [null] },
  { cc: { name: 5 } },
  { cc: { name: 'hpcc', options: 5 } },
]
const isCoded = (error: unknown) =>
  error instanceof WeirError && error.code !== 'WEIR_INTERNAL' && error.code in ERROR_CODES

t.test('whatever a program hands in, an error has a code', async t => {
  const host = await open(t)
  const { address } = host.about
  await host.listen(PORT)
  const pair = await host.createDatagramPair({ qkey: 1 })
  const { region } = await memory(host, 100)
  const receive = { id: 1, region, offset: 0, length: 50 }
  const send = { ...receive, opcode: WorkOpcode.SEND, to: { address: 1, qpn: 2, qkey: 3 } }
  const connection = await host.connect(address, PORT)
  // biome-ignore lint/suspicious/noExplicitAny: that is what is tested
  const calls: Record<string, (odd: any) => unknown> = {
    open: odd => Host.open(odd).then(other => other.close()),
    'open, a mode': odd =>
      Host.open({ address: loopbackAddress(), telemetry: odd, cc: odd }).then(other => other.close()),
    register: odd => host.register(odd, Access.LOCAL_WRITE),
    access: odd => host.register(new SharedArrayBuffer(8), odd),
    'domain of memory': odd => host.register(new SharedArrayBuffer(8), Access.LOCAL_WRITE, odd),
    deregister: odd => host.deregister(odd),
    'connect, options': odd => host.connect(address, PORT, odd).then(each => each.disconnect()),
    connect: odd => host.connect(odd, PORT),
    'connect, port': odd => host.connect(address, odd),
    createQueuePair: odd => host.createQueuePair(address, odd).then(each => each.close()),
    createDatagramPair: odd => host.createDatagramPair(odd).then(each => each.close()),
    createAddress: odd => host.createAddress(odd),
    'createAddress, options': odd => host.createAddress(address, odd),
    destroyAddress: odd => host.destroyAddress(odd),
    serveDatagrams: odd => host.serveDatagrams(9, odd),
    'serveDatagrams, port': odd => host.serveDatagrams(odd, pair),
    unserveDatagrams: odd => host.unserveDatagrams(odd),
    resolveDatagrams: odd => host.resolveDatagrams(odd, 7),
    'resolveDatagrams, options': odd => host.resolveDatagrams(address, 7, odd),
    listen: odd => host.listen(odd),
    'listen, options': odd => host.listen(PORT + 1, odd).then(listener => listener.close()),
    datagramSource: odd => datagramSource(odd),
    'datagramSource, at': odd => datagramSource(new Uint8Array(40), odd),
    'receive of datagrams': odd => pair.postReceive(odd),
    'more of a receive': odd => pair.postReceive({ ...receive, more: odd }),
    'one of more': odd => pair.postReceive({ ...receive, more: [odd] }),
    datagram: odd => pair.postSend(odd),
    'region of a datagram': odd => pair.postSend({ ...send, region: odd }),
    'target of a datagram': odd => pair.postSend({ ...send, to: odd }),
    receive: odd => connection.postReceive(odd),
    send: odd => connection.postSend(odd),
    'operand of an atomic': odd =>
      connection.postSend({
        ...{ ...receive, length: 8, remoteAddress: 0, rkey: 1, compareOrAdd: odd },
        opcode: WorkOpcode.FETCH_AND_ADD,
      } as SendWork),
    'what a SEND has no use for': odd =>
      connection.postSend({
        ...{ ...receive, opcode: WorkOpcode.SEND, length: 8 },
        ...{
          remoteAddress: odd,
          rkey: odd,
          immediate: odd,
          invalidateKey: odd,
          compareOrAdd: odd,
          swap: odd,
        },
      }),
    'what FETCH_AND_ADD has no use for': odd =>
      connection.postSend({
        ...{ ...receive, length: 8, remoteAddress: 0, rkey: 1, compareOrAdd: 1n, swap: odd },
        opcode: WorkOpcode.FETCH_AND_ADD,
      }),
    'more of a send': odd => connection.postSend({ ...receive, opcode: WorkOpcode.SEND, more: odd }),
    'target of a send': odd => connection.postSend({ ...send, to: odd }),
    'depth of shared receives': odd =>
      host.createSharedReceiveQueue({ depth: odd }).then(each => each.close()),
    connectDaemon: odd => connectDaemon(odd ?? null),
    'StreamSocket.connect': odd => StreamSocket.connect(odd, address),
    'StreamSocket.accept': odd => StreamSocket.accept(odd),
    'start of a transfer': odd => new DaemonClient(null as never).start(() => odd),
  }
  for (const [name, call] of Object.entries(calls))
    for (const odd of ODD)
      try {
        await call(odd)
      } catch (error) {
        if (!isCoded(error)) t.fail(`${name}: ${error}`)
      }
  const kinds = { busyPoll: /true or false/, anyCc: /true or false/, acceptNew: /true or false/ }
  for (const [name, is] of Object.entries({ ...kinds, dscpOfPriority: /an? Array/, inof: /an object/ }))
    for (const odd of [null, 1, 'yes'])
      await t.rejects(Host.open({ address: loopbackAddress(), [name]: odd }), {
        code: 'WEIR_BAD_ARGUMENT',
        message: new RegExp(`^Host.open: ${name} is ${is.source}, not `),
      })
  await t.rejects(connection.next(null as unknown as Completion), { code: 'WEIR_BAD_ARGUMENT' })
  await t.rejects(connection.next(new Completion(), null as never), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('console.log and JSON.stringify show a few words of an object', async t => {
  const host = await open(t)
  const { address } = host.about
  const listener = await host.listen(PORT)
  const [connection] = await Promise.all([host.connect(address, PORT), listener.accept()])
  const { region } = await memory(host, 100_000)
  const queuePair = await host.createQueuePair(address)
  const shared = await host.createSharedReceiveQueue()
  for (const each of [host, listener, connection, region, queuePair, shared]) {
    const text = inspect(each)
    t.ok(text.startsWith(`${each.constructor.name} {`), text)
    t.ok(text.length < 250, `${text.length} characters`)
    t.ok(JSON.stringify(each).length < 200)
  }
  t.match(inspect(connection), new RegExp(`remote: '${address}'`))
  t.match(inspect([host]), /Host \{/)
})

t.test('mistakes that were taken for something else', async t => {
  const host = await open(t)
  const pair = await host.createDatagramPair({ qkey: 1 })
  const { region } = await memory(host, 100)
  const short = { id: 1, region, offset: 0, length: 39 }
  t.throws(() => pair.postReceive(short), { code: 'WEIR_BAD_ARGUMENT', message: /40 bytes/ })
  const parts = { ...short, length: 20, more: [{ region, offset: 20, length: 19 }] }
  t.throws(() => pair.postReceive(parts), { code: 'WEIR_BAD_ARGUMENT', message: /40 bytes/ })
  t.ok(pair.postReceive({ ...parts, length: 21 }), 'a datagram without payload has room')
  const text = { privateData: 'abc' as unknown as Uint8Array }
  await t.rejects(host.resolveDatagrams('127.0.0.1', 7, text), { message: /privateData is a Uint8Array/ })
  await t.rejects(host.createQueuePair('127.0.0.1', text as object), { message: /privateData/ })
  for (const nobody of ['0.0.0.0', '224.0.0.1', '255.255.255.255']) {
    const code = nobody === '0.0.0.0' ? 'WEIR_BAD_ARGUMENT' : 'WEIR_UNSUPPORTED'
    await t.rejects(host.resolveDatagrams(nobody, 7), { code })
    await t.rejects(host.createAddress(nobody), { code })
    await t.rejects(host.connect(nobody, PORT), { code })
    await t.rejects(host.createQueuePair(nobody), { code })
  }
})

t.test('options of a controller are copied: a caller may change its own between two connections', async t => {
  const options = { eta: 0.95 }
  const given = checkedOptions('connect', { cc: { name: 'hpcc', options } })
  options.eta = 0.5
  t.same(given, { cc: { name: 'hpcc', options: { eta: 0.95 } } })
})

t.test('Host.open reads inherited options, and refuses names that nothing reads', async t => {
  const address = loopbackAddress()
  // queueDepth 100 is no power of two: whoever reads it throws.
  const wrong: [object, RegExp][] = [
    [{ address, linerateBps: 1e9 }, /no option 'linerateBps'.*did you mean 'lineRateBps'\?/],
    [{ address, constructor: 5 }, /no option 'constructor'/],
    [Object.create({ address, lineRateBp: 1e9 }), /no option 'lineRateBp'.*did you mean 'lineRateBps'\?/],
    [Object.create({ address, queueDepth: 100 }), /queueDepth|power of two/],
  ]
  for (const [options, message] of wrong)
    await t.rejects(Host.open(options as never), { code: 'WEIR_BAD_ARGUMENT', message })
  const host = await Host.open(Object.create({ address, cc: undefined }))
  t.teardown(() => host.close())
  t.equal(host.about.address, address)
})
