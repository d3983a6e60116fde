/** The listening end against a client that is a script, and against Weir's own client. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WeirError } from '../../../lib/errors.js'
import { Completion, type Host, WorkOpcode } from '../../../lib/index.js'
import { Conversation, MessageMemory } from '../../../lib/interop/conversation.js'
import { shakeHands } from '../../../lib/interop/perftest/hand-shake.js'
import type { MessageExchange } from '../../../lib/interop/perftest/message-exchange.js'
import {
  figuresOf,
  KEYS_TEXT_BYTES,
  keysText,
  mtuOf,
  numberOf,
  readKeysText,
  versionOf,
} from '../../../lib/interop/perftest/messages.js'
import { type ClientOptions, runClient } from '../../../lib/interop/perftest/perftest-client.js'
import { PerftestServer } from '../../../lib/interop/perftest/perftest-server.js'
import { type Left, Session } from '../../../lib/interop/perftest/session.js'
import { OPS } from '../../../lib/interop/perftest/tests.js'
import { VerbsExchange } from '../../../lib/interop/perftest/verbs-exchange.js'
import { HostAddress } from '../../../lib/wire/net/address.js'
import { memory, open } from '../../host/hosts.js'
import { CLIENT_KEYS, CLIENT_SAID, SERVER_SAID } from './captured.js'

const PORT = 18_515
const SIZE = 65_536
const VERSION = CLIENT_SAID[0]!

interface Serving {
  host: Host
  /** The next client that has left. */
  left: () => Promise<Left>
  close: () => Promise<void>
}

async function serving(t: Test, host: Host, more: Partial<Parameters<typeof PerftestServer.listen>[1]> = {}) {
  const all: Left[] = []
  let wake = () => {}
  const settings = { test: 'bw', op: 'write', size: SIZE, port: PORT, ...more } as const
  const server = await PerftestServer.listen(host, settings, left => {
    all.push(left)
    wake()
  })
  t.teardown(() => server.close())
  const left = async () => {
    while (all.length === 0)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    return all.shift()!
  }
  return { host, left, close: () => server.close() } satisfies Serving
}

/** The connection of a script, and what has come on it. */
interface Dialled {
  socket: Socket
  /** Takes so many bytes, or what there is until the end. */
  read: (bytes: number) => Promise<string>
}

async function dial({ host }: Serving): Promise<Dialled> {
  const socket = connect(PORT, host.about.address)
  let got = Buffer.alloc(0)
  let wake = () => {}
  socket.on('error', () => {})
  socket.on('data', piece => {
    got = Buffer.concat([got, piece])
    wake()
  })
  socket.on('close', () => wake())
  await once(socket, 'connect')
  const read = async (bytes: number) => {
    while (got.length < bytes && !socket.closed)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    const taken = got.subarray(0, bytes)
    got = got.subarray(bytes)
    return taken.toString('hex')
  }
  return { socket, read }
}

const options = (more: Partial<ClientOptions>): ClientOptions => ({
  test: 'bw',
  op: 'write',
  port: PORT,
  byManager: false,
  size: 4096,
  iterations: 20,
  durationNs: 0,
  qps: 1,
  depth: 16,
  signal: new AbortController().signal,
  ...more,
})

/** A lost message of an unreliable connection stays lost, and its exchange waits for ever: on a busy machine another is tried. */
const UNRELIABLE_MS = 15_000
const UNRELIABLE_TRIES = 4

/** Runs an exchange between two ends that is to succeed. */
async function exchanged(
  t: Test,
  [from, to]: readonly [Host, Host],
  server: Parameters<typeof serving>[2],
  client: Partial<ClientOptions>,
) {
  const tries = client.service === 'UC' ? UNRELIABLE_TRIES : 1
  for (let left = tries; ; left--) {
    const at = await serving(t, to, server)
    try {
      const signal = left > 1 ? AbortSignal.timeout(UNRELIABLE_MS) : new AbortController().signal
      const result = await runClient(from, to.about.address, options({ ...client, signal }))
      t.equal((await at.left()).error, null)
      return result
    } catch (error) {
      if (left === 1 || (error as WeirError).code !== 'WEIR_CANCELLED') throw error
      t.comment('a message was lost: once more')
    } finally {
      await at.close()
    }
  }
}

t.test('two hosts', async t => {
  const [a, b] = await Promise.all([open(t), open(t)])

  t.test('the client of a capture is answered message by message', async t => {
    const at = await serving(t, b)
    const { socket, read } = await dial(at)
    // The captured client's queue pair is at another host; nothing is sent there, as the server only follows.
    for (const [i, message] of CLIENT_SAID.entries()) {
      socket.write(Buffer.from(message, 'hex'))
      const answer = await read(SERVER_SAID[i]!.length / 2)
      t.equal(answer.length, SERVER_SAID[i]!.length, `message ${i} is answered by one of the same length`)
      if (i < 3 || message === CLIENT_SAID.at(-1)) t.equal(answer, SERVER_SAID[i])
    }
    t.match(await at.left(), {
      version: '6.06',
      report: { size: 4096, iterations: 20 },
      error: null,
    })
    socket.destroy()
  })

  t.test('what is no client ends its own session, and the next one is served', async t => {
    const at = await serving(t, b)
    const head = CLIENT_SAID.slice(0, 4)
    const keys = Buffer.from(CLIENT_KEYS, 'latin1').toString('hex')
    const hex = (text: string) => Buffer.from(text, 'latin1').toString('hex')
    const wrong: [what: string, messages: string[], code: string, message: RegExp][] = [
      ['another protocol', [hex('GET / HTTP/1.1\r\nHost: a\r\n\r\n')], 'WEIR_PROTOCOL', /a version/],
      ['half a version', [VERSION.slice(0, 10)], 'WEIR_CONNECTION_LOST', /16 bytes was awaited, 5 came/],
      ['nothing', [], 'WEIR_CONNECTION_LOST', /16 bytes was awaited, 0 came/],
      ['an old version', [hex('5.20').padEnd(32, '0')], 'WEIR_PROTOCOL', /5\.33 and later/],
      ['a path MTU of none', [...head.slice(0, 3), hex('9\0')], 'WEIR_PROTOCOL', /a path MTU/],
      ['far too much', ['00'.repeat(100_000)], 'WEIR_PROTOCOL', /more than perftest does|a version/],
      [
        'keys of other text',
        [...head, hex(CLIENT_KEYS.replace('751686', '75 686'))],
        'WEIR_PROTOCOL',
        /hexadecimal/,
      ],
      [
        'keys out of range',
        [...head, keys.replace(hex('00005593'), hex('ffff5593'))],
        'WEIR_PROTOCOL',
        /out of range/,
      ],
      [
        'half of the keys',
        [...head, keys.slice(0, 100)],
        'WEIR_CONNECTION_LOST',
        /108 bytes was awaited, 50 came/,
      ],
      [
        'a GID of IPv6',
        [...head, keys.replace(hex('ff:ff:0a'), hex('ff:fe:0a'))],
        'WEIR_PROTOCOL',
        /same family/,
      ],
    ]
    for (const [what, messages, code, message] of wrong) {
      const { socket, read } = await dial(at)
      for (const [i, each] of messages.entries()) {
        socket.write(Buffer.from(each, 'hex'))
        if (i < messages.length - 1) await read(each.length / 2)
      }
      socket.end()
      const { error } = await at.left()
      t.match(error, { code, message }, what)
      t.ok(error instanceof WeirError)
      socket.destroy()
    }
    const { messages } = await runClient(a, b.about.address, options({}))
    t.equal(messages, 20)
    t.match(await at.left(), { report: { size: 4096, iterations: 20 }, error: null })
  })

  t.test('a client that leaves before its test is through', async t => {
    const early = { code: 'WEIR_CONNECTION_LOST', message: /left before its test was through/ }
    const keysOf = CLIENT_SAID.flatMap((message, i) => (message.length === 2 * KEYS_TEXT_BYTES ? [i] : []))
    const done = Buffer.from('done\0', 'latin1').toString('hex')
    // Its program fails, or is killed: after its keys; amid its data; after its data without a word. One says that it is done all the same.
    const says = [keysOf[0]!, keysOf[2]!, keysOf[3]!].map(last => CLIENT_SAID.slice(0, last + 1))
    for (const messages of [...says, [...says[1]!, done], CLIENT_SAID.filter(each => each !== done)]) {
      const at = await serving(t, b)
      const { socket, read } = await dial(at)
      for (const message of messages) {
        socket.write(Buffer.from(message, 'hex'))
        if (message !== done) await read(message.length / 2)
      }
      socket.end()
      t.match((await at.left()).error, early, `after ${messages.length} messages`)
      socket.destroy()
      await at.close()
    }
    for (const byManager of [false, true])
      for (const [test, op] of [
        ['bw', 'write'],
        ['bw', 'send'],
        ['lat', 'read'],
      ] as const) {
        const at = await serving(t, b, { test, op })
        const ended = new AbortController()
        const onMeasuring = () => void setTimeout(() => ended.abort('SIGINT'), 20)
        const more = {
          test,
          op,
          byManager,
          iterations: 0,
          durationNs: 60e9,
          signal: ended.signal,
          onMeasuring,
        }
        await t.rejects(runClient(a, b.about.address, options(more)), { code: 'WEIR_CANCELLED' })
        t.match((await at.left()).error, early, `${test} ${op} ${byManager}`)
        await at.close()
      }
  })

  t.test(
    'a client with -z has its messages carried by the connection manager, and makes its queue pairs itself; a packet of another service in its name ends nothing',
    async t => {
      const at = await serving(t, b)
      const messages = await MessageMemory.open(a)
      const first = await a.connect(b.about.address, PORT, { receives: messages.receives })
      const exchange = new VerbsExchange(new Conversation(first, messages))
      const { pathMtu } = await shakeHands(exchange, true, 1024)
      const pair = await a.createQueuePair(b.about.address, { pathMtu })
      const { qpn, psn } = pair
      const { gid } = HostAddress.parse(a.about.address)
      const swap = async () => {
        await exchange.writeKeys({ outReads: 1, qpn, psn, rkey: 1, address: 0, gid })
        return await exchange.readKeys()
      }
      const theirs = await swap()
      const connection = await pair.connect(theirs)
      for (let rounds = 2; rounds > 0; rounds--) await swap()
      const { region } = await memory(a, 64)
      const { address: remoteAddress, rkey } = theirs
      const write = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region, offset: 0, length: 64 }
      t.ok(connection.postSend({ ...write, remoteAddress, rkey }))
      const completion = new Completion()
      await connection.next(completion)
      t.equal(completion.status, 0)
      const forged = await a.createQueuePair(b.about.address, { type: 'uc', pathMtu })
      const end = await forged.connect(theirs)
      t.ok(end.postSend({ id: 2, opcode: WorkOpcode.SEND, region, offset: 0, length: 64 }))
      t.ok(await end.next(completion))
      await swap()
      const report = { size: 64, iterations: 1, peak: 2, average: 2, messageRate: 3 }
      for (const figure of figuresOf(report)) {
        await exchange.write(figure)
        await exchange.read(figure.length)
      }
      await swap()
      await exchange.close()
      t.match(await at.left(), { report, error: null })
    },
  )

  t.test('a client that is through may be gone before the last packets of this end arrive', async t => {
    const { gid } = HostAddress.parse(a.about.address)
    const keys = { outReads: 1, qpn: 77, psn: 0, rkey: 1, address: 0, gid }
    const gone = new WeirError('WEIR_CONNECTION_LOST', 'gone')
    for (const [rounds, error] of [
      [4, gone],
      [5, null],
    ] as const) {
      const said = [versionOf('6.06'), numberOf(4096), numberOf(64), mtuOf(1024)]
      let left = rounds
      const exchange: MessageExchange = {
        remote: a.about.address,
        write: async () => {},
        writeKeys: async () => {},
        read: async () => said.shift()!,
        readKeys: async () => keys,
        close: async () => {},
        readNext: async () => {
          if (left-- === 0) throw gone
          return { keys }
        },
      }
      const listens = { test: 'bw', op: 'write', size: SIZE } as const
      const session = new Session({ ...listens, host: b, exchange, byManager: true, domain: b.newDomain() })
      t.equal((await session.serve()).error, error, `${rounds} rounds of keys`)
    }
  })

  t.test('a client that wants more queue pairs than there are', async t => {
    const at = await serving(t, b)
    const { socket, read } = await dial(at)
    for (const message of CLIENT_SAID.slice(0, 4)) {
      socket.write(Buffer.from(message, 'hex'))
      await read(message.length / 2)
    }
    for (let i = 0; i < 17; i++) {
      socket.write(CLIENT_KEYS.replace('000011', `0001${i.toString(16).padStart(2, '0')}`))
      await read(108)
    }
    t.match((await at.left()).error, { code: 'WEIR_FULL', message: /more than 16 queue pairs/ })
    socket.destroy()
  })

  t.test('a client for which no place is left is turned away, and the outcome says so', async t => {
    const at = await serving(t, b)
    const places = await Promise.all(Array.from({ length: 16 }, () => dial(at)))
    // Each has its place once the server answers.
    for (const { socket, read } of places) {
      socket.write(Buffer.from(VERSION, 'hex'))
      await read(16)
    }
    const { socket, read } = await dial(at)
    t.equal(await read(16), '')
    t.match((await at.left()).error, { code: 'WEIR_FULL', message: /turned away: 16 clients are here/ })
    socket.destroy()
    for (const place of places) {
      place.socket.destroy()
      t.match((await at.left()).error, { code: 'WEIR_CONNECTION_LOST' })
    }
    t.equal((await runClient(a, b.about.address, options({}))).messages, 20)
    await at.left()
  })

  t.test(
    'a silent client gives its place to one that comes when all are taken, by TCP and with -R',
    async t => {
      const at = await serving(t, b, { silentMs: 0 })
      const dialled = await dial(at)
      dialled.socket.write(Buffer.from(VERSION, 'hex'))
      await dialled.read(16)
      const silent = [await a.connect(b.about.address, PORT)]
      while (silent.length < 15) silent.push(await a.connect(b.about.address, PORT))
      for (const byManager of [true, false]) {
        const { messages } = await runClient(a, b.about.address, options({ byManager }))
        t.equal(messages, 20)
        const error = { code: 'WEIR_UNREACHABLE', message: /has said nothing for 0 s, and another client/ }
        const lefts = [await at.left(), await at.left()]
        t.match(lefts.find(({ error }) => error !== null)?.error, error)
        t.ok(
          lefts.some(({ report }) => report !== null),
          'the other one has measured',
        )
        // Fill the place again.
        silent.push(await a.connect(b.about.address, PORT))
      }
      dialled.socket.destroy()
      await Promise.all(silent.map(connection => connection.disconnect()))
    },
  )

  t.test('a client with -R that falls silent in its handshake ends', async t => {
    const listener = await b.listen(PORT)
    const [client, accepted] = await Promise.all([a.connect(b.about.address, PORT), listener.accept()])
    const memory = await MessageMemory.open(b)
    for (const receive of memory.receives) accepted.postReceive(receive)
    const exchange = new VerbsExchange(new Conversation(accepted, memory), 50)
    await t.rejects(exchange.read(16), { code: 'WEIR_UNREACHABLE', message: /has said nothing for 0\.05 s/ })
    t.equal(await client.closed, null)
    await listener.close()
  })

  for (const byManager of [false, true]) {
    t.test(
      `Weir's own client measures everything${byManager ? ', by the connection manager' : ''}`,
      async t => {
        for (const test of ['bw', 'lat'] as const) {
          for (const op of OPS) {
            const size = op === 'atomic' ? 8 : test === 'bw' ? 4096 : 2
            await t.test(`${test} ${op}`, async t => {
              const at = await serving(t, b, { test, op, size: test === 'bw' ? SIZE : size })
              const qps = test === 'bw' && !byManager ? 2 : 1
              const { messages, latency } = await runClient(
                a,
                b.about.address,
                options({ test, op, byManager, size, qps }),
              )
              t.equal(messages, 20 * qps)
              t.ok(latency.min > 0)
              const { error, report } = await at.left()
              t.equal(error, null)
              t.equal(report?.iterations, test === 'bw' && op !== 'send' ? messages : undefined)
            })
          }
        }
      },
    )
  }

  t.test('with data both ways each end tells the other what it has measured', async t => {
    for (const op of ['write', 'send', 'read'] as const) {
      for (const byManager of [false, true]) {
        const qps = byManager ? 1 : 2
        const at = await serving(t, b, { op, sends: { iterations: 30, size: 2000 } })
        const more = { op, byManager, qps, size: 4096, iterations: 30, bidirectional: true }
        const { messages, remote } = await runClient(a, b.about.address, options(more))
        t.equal(messages, 30 * qps)
        t.match(remote, { size: 2000, iterations: 30 * qps }, `${op} ${byManager}`)
        t.ok(remote!.average > 0)
        t.match(await at.left(), { report: { size: 4096, iterations: 30 * qps }, error: null })
        await at.close()
      }
    }
  })

  t.test(
    'an end that sends as well waits until it has the keys of all queue pairs, however slow its client is',
    async t => {
      const at = await serving(t, b, { port: PORT + 1, op: 'write', sends: { iterations: 30, size: 2000 } })
      // Between client and server: each message takes longer than the time after which the server begins.
      const slow = createServer(client => {
        const there = connect(PORT + 1, b.about.address)
        for (const [from, to] of [
          [client, there],
          [there, client],
        ] as const) {
          from.on('error', () => {})
          from.on('data', bytes => void setTimeout(() => to.write(bytes), 40))
          from.on('close', () => void setTimeout(() => to.destroy(), 100))
        }
      })
      slow.listen(PORT, b.about.address)
      await once(slow, 'listening')
      t.teardown(() => slow.close())
      const more = { op: 'write', qps: 2, size: 4096, iterations: 30, bidirectional: true } as const
      const { messages, remote } = await runClient(a, b.about.address, options(more))
      t.equal(messages, 60)
      t.match(remote, { size: 2000, iterations: 60 })
      t.match(await at.left(), { report: { size: 4096, iterations: 60 }, error: null })
      await at.close()
    },
  )

  t.test('a connection of which the server hears after its keys is still for that client', async t => {
    const domain = b.newDomain()
    const listener = await b.listen(PORT, { domain })
    const connections = listener[Symbol.asyncIterator]()
    const next = async () => (await connections.next()).value!
    const serve = async (): Promise<Left> => {
      const first = await next()
      const messages = await MessageMemory.open(b, domain)
      for (const receive of messages.receives) first.postReceive(receive)
      const exchange = new VerbsExchange(new Conversation(first, messages))
      const sends = { iterations: 30, size: 2000 }
      const listens = { test: 'bw', op: 'write', size: SIZE, sends } as const
      const session = new Session({ ...listens, host: b, exchange, byManager: true, domain })
      const left = session.serve()
      const data = await next()
      // Its keys come meanwhile.
      await sleep(200)
      t.ok(session.awaitsConnection)
      session.take(data)
      return await left
    }
    const served = serve()
    const more = { op: 'write', byManager: true, size: 4096, iterations: 30, bidirectional: true } as const
    const { messages, remote } = await runClient(a, b.about.address, options(more))
    t.equal(messages, 30)
    t.match(remote, { size: 2000, iterations: 30 })
    t.match(await served, { report: { size: 4096, iterations: 30 }, error: null })
    await listener.close()
  })

  t.test('queue pairs that share their receives, at both ends', async t => {
    const runs: [test: 'bw' | 'lat', more: Partial<ClientOptions>][] = [
      ['bw', { qps: 3 }],
      ['bw', { qps: 2, byManager: true }],
      ['bw', { qps: 2, bidirectional: true, iterations: 300 }],
      ['lat', { size: 64 }],
      ['lat', { size: 64, byManager: true }],
      ['lat', { size: 64, service: 'UC' }],
    ]
    for (const [test, more] of runs) {
      const { iterations = 300, bidirectional = false, service = 'RC', qps = 1 } = more
      const sends = bidirectional ? { sends: { iterations, size: 500 } } : {}
      const sharesReceives = true
      const about = { test, op: 'send', service, sharesReceives } as const
      const { messages } = await exchanged(
        t,
        [a, b],
        { ...about, ...sends },
        { ...about, iterations, ...more },
      )
      t.equal(messages, iterations * qps, JSON.stringify(more))
    }
  })

  t.test('unreliable connections', async t => {
    for (const test of ['bw', 'lat'] as const) {
      for (const op of ['write', 'send'] as const) {
        const size = test === 'lat' ? 200 : SIZE
        const more = { test, op, size: 200, service: 'UC', depth: 4 } as const
        const { messages, stats } = await exchanged(t, [a, b], { test, op, size, service: 'UC' }, more)
        t.same([messages, stats], [20, null], `${op} ${test}`)
      }
    }
  })

  t.test('an end with another service than the other one: both learn it, where the exchange is', async t => {
    for (const op of ['write', 'send'] as const) {
      for (const test of ['bw', 'any'] as const) {
        const at = await serving(t, b, { test, op })
        const run = runClient(a, b.about.address, options({ op, service: 'UC', iterations: 500 }))
        await t.rejects(run, { code: 'WEIR_CONNECTION_LOST' }, `${op}: unreliable against ${test}`)
        const error = { code: 'WEIR_PROTOCOL', message: /has sent \d+ packets of another service than RC, / }
        t.match(await at.left(), { error, report: null })
        await at.close()
      }
    }
    // Nobody acknowledges a reliable one: it would end by its retries.
    const at = await serving(t, b, { service: 'UC' })
    const ended = new AbortController()
    const onMeasuring = () => setTimeout(() => ended.abort('SIGINT'), 300)
    const run = runClient(a, b.about.address, options({ signal: ended.signal, onMeasuring }))
    await t.rejects(run, { code: 'WEIR_CANCELLED' })
    t.match(await at.left(), { error: { code: 'WEIR_PROTOCOL', message: /of another service than UC, / } })
    await at.close()
  })

  t.test('the messages of a client against those of a capture', async t => {
    // A server that is a script: it answers what the captured one did, with a queue pair that nobody has.
    const said: string[] = []
    const server = createServer(socket => {
      let at = 0
      socket.on('error', () => {})
      socket.on('data', bytes => {
        said.push(bytes.toString('hex'))
        const answer = SERVER_SAID[at++]!
        // It says that its queue pair is at the scripted host's own address.
        const gid = Buffer.from(
          b.about.address
            .split('.')
            .map(Number)
            .map(byte => byte.toString(16).padStart(2, '0'))
            .join(':'),
        )
        socket.write(
          Buffer.from(answer.replace(Buffer.from('0a:63:00:01').toString('hex'), gid.toString('hex')), 'hex'),
        )
      })
    })
    server.listen(PORT, b.about.address)
    await once(server, 'listening')
    const ended = new AbortController()
    const run = runClient(a, b.about.address, options({ signal: ended.signal }))
    run.catch(() => {})
    while (said.length < 7) await new Promise(resolve => setTimeout(resolve, 10))
    ended.abort('SIGINT')
    await t.rejects(run, { code: 'WEIR_CANCELLED' })
    t.same(said.slice(0, 3), CLIENT_SAID.slice(0, 3))
    for (const i of [3, 4, 5, 6]) t.equal(said[i]!.length, CLIENT_SAID[i]!.length, `message ${i}`)
    server.close()
  })

  t.test('a client that is cancelled before it dials does not dial', async t => {
    let dialled = 0
    const server = createServer(socket => {
      dialled++
      socket.destroy()
    })
    server.listen(PORT, b.about.address)
    await once(server, 'listening')
    const ended = new AbortController()
    ended.abort('SIGINT')
    const run = runClient(a, b.about.address, options({ signal: ended.signal }))
    await t.rejects(run, { code: 'WEIR_CANCELLED' })
    // A connection that was begun has arrived before a later one.
    const later = connect(PORT, b.about.address)
    await once(later, 'close')
    t.equal(dialled, 1)
    server.close()
  })

  t.test('a client that is cancelled amid the data ends, though its peer lives and says nothing', async t => {
    const pair = await b.createQueuePair(a.about.address, {})
    const { gid } = HostAddress.parse(b.about.address)
    const keys = keysText({ outReads: 1, qpn: pair.qpn, psn: pair.psn, rkey: 1, address: 0, gid })
    const { region } = await memory(b, 4096)
    let [at, connected] = [0, false]
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.on('data', async bytes => {
        if (at < 4) return socket.write(Buffer.from(SERVER_SAID[at++]!, 'hex'))
        if (bytes.length < KEYS_TEXT_BYTES) return
        if (!connected) {
          connected = true
          const { qpn, psn } = readKeysText(bytes)
          await pair.connect({ qpn, psn })
          pair.connection.postReceive({ id: 1, region, offset: 0, length: 4096 })
        }
        socket.write(keys)
      })
    })
    server.listen(PORT, b.about.address)
    await once(server, 'listening')
    const ended = new AbortController()
    const run = runClient(a, b.about.address, options({ test: 'lat', op: 'send', signal: ended.signal }))
    run.catch(() => {})
    const completion = new Completion()
    t.ok(await pair.connection.next(completion), 'its message has come, and is not answered')
    ended.abort('SIGINT')
    await t.rejects(run, { code: 'WEIR_CANCELLED' })
    server.close()
    await pair.close()
  })

  t.test('a server whose queue pair is elsewhere, or that leaves before it has one', async t => {
    // It answers as the captured one, whose queue pair is at its own address, and leaves after so many messages.
    const answering = async (messages: number) => {
      const server = createServer(socket => {
        let at = 0
        socket.on('error', () => {})
        socket.on('data', () => {
          if (at === messages) socket.destroy()
          else socket.write(Buffer.from(SERVER_SAID[at++]!, 'hex'))
        })
      })
      server.listen(PORT, b.about.address)
      await once(server, 'listening')
      return server
    }
    for (const [messages, error] of [
      [5, { code: 'WEIR_PROTOCOL', message: /the queue pair of .* is at 10\.99\.0\.1/ }],
      [4, { code: 'WEIR_CONNECTION_LOST' }],
    ] as const) {
      const server = await answering(messages)
      await t.rejects(runClient(a, b.about.address, options({})), error)
      server.close()
    }
  })

  t.test('nobody listens, and a server that falls silent or leaves', async t => {
    await t.rejects(runClient(a, b.about.address, options({})), {
      code: 'WEIR_UNREACHABLE',
      message: /TCP port 18515 \(ECONNREFUSED\)/,
    })
    await t.rejects(runClient(a, b.about.address, options({ byManager: true })), { code: 'WEIR_REJECTED' })
    const server = createServer(socket => socket.end(Buffer.from(VERSION.slice(0, 8), 'hex')))
    server.listen(PORT, b.about.address)
    await once(server, 'listening')
    await t.rejects(runClient(a, b.about.address, options({})), {
      code: 'WEIR_CONNECTION_LOST',
      message: /16 bytes was awaited, 4 came/,
    })
    server.close()
  })
})
