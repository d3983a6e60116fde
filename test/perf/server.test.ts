/** The end that is measured, and peers that are malformed, greedy or gone. */
import t from 'tap'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { ControlChannel } from '../../lib/perf/control-channel.js'
import { CONTROL_MARK, DATA_MARK, type Open, PERF_PORT, type PerfMessage } from '../../lib/perf/messages.js'
import { makeWorld, SETTINGS } from './world.js'

type World = ReturnType<typeof makeWorld>

const OPEN: Open = {
  version: 1,
  op: 'WRITE',
  mode: 'STREAM',
  size: 4096,
  qps: 1,
  depth: 4,
  bidirectional: false,
  busyPoll: false,
  memory: { rkey: 1, address: 65_536, bytes: 4096 },
}

/** A client that sends what the test says. */
class Client implements ConnectionHandler {
  readonly heard: PerfMessage[] = []
  readonly connection: Connection
  closed: string | null = null
  established = false
  readonly #world: World
  readonly #channel: ControlChannel

  constructor(world: World, privateData: Uint8Array = Uint8Array.of(CONTROL_MARK)) {
    this.#world = world
    const { nics, network } = world
    this.#channel = new ControlChannel(nics[0], 0)
    this.connection = nics[0].connect(network.now, nics[1].address, PERF_PORT, this, { privateData })
    world.until(() => this.established || this.closed !== null, null)
  }

  say(message: PerfMessage): PerfMessage | undefined {
    const before = this.heard.length
    this.#channel.send(this.#world.network.now, message)
    this.#world.until(() => this.heard.length > before || this.closed !== null, null)
    return this.heard[before]
  }

  sayBytes(bytes: Buffer): void {
    const { nics, network } = this.#world
    const region = nics[0].memory.register(bytes, bytes.length, 0)
    const work = { id: 9, opcode: 0, region, offset: 0, length: bytes.length, signaled: false } as const
    this.connection.postSend(network.now, work)
    this.#world.until(() => this.closed !== null, null, 1e9)
  }

  onCreated(_now: number, connection: Connection): void {
    this.#channel.attach(connection)
  }

  onEstablished(): void {
    this.established = true
  }

  onCompletion(now: number, _connection: Connection, completion: never): void {
    const message = this.#channel.onCompletion(now, completion)
    if (message !== null) this.heard.push(message)
  }

  onClosed(_now: number, _connection: Connection, error: Error | null): void {
    this.closed = error === null ? 'in order' : error.message
  }
}

const data = (session: Uint8Array) => Uint8Array.of(DATA_MARK, ...session)

t.test('what cannot be served is refused, and says why', async t => {
  for (const [more, text] of [
    [{ version: 2 }, /version 1 is spoken here, not 2/],
    [{ op: 'OP_UNSPECIFIED' }, /not known/],
    [{ op: 77 }, /not known/],
    [{ mode: 0 }, /not known/],
    [{ size: 0 }, /size/],
    [{ size: 0xffffffff }, /size/],
    [{ qps: 0 }, /qps/],
    [{ qps: 100_000 }, /qps/],
    [{ depth: 0 }, /depth/],
    [{ memory: null }, /no memory/],
    [{ mode: 'PING_PONG', depth: 4 }, /depth/],
  ] as const) {
    const world = makeWorld({ storage: true })
    const server = world.serve()
    const client = new Client(world)
    const answer = client.say({ body: 'open', open: { ...OPEN, ...more } as Open })
    t.equal(answer?.body, 'refuse', JSON.stringify(more))
    t.match((answer as { refuse?: { text: string } }).refuse?.text, text, JSON.stringify(more))
    for (const session of server.sessions) t.equal(session.memoryBytes, 0, 'no memory was taken')
    client.connection.disconnect(world.network.now)
    t.ok(
      world.until(() => server.sessions.size === 0, null),
      'the session ends with its connection',
    )
  }
})

t.test('out of turn and malformed: the connection ends, and others go on', async t => {
  const world = makeWorld({ storage: true })
  const server = world.serve()
  const answers: PerfMessage = {
    body: 'figures',
    figures: {
      elapsedNs: 0,
      cpuUs: 0,
      messages: 0,
      bytes: 0,
      retransmittedBytes: 0,
      spuriousRetransmissions: 0,
      peakBps: 0,
    },
  }
  const wrong = new Client(world)
  wrong.say(answers)
  t.equal(wrong.closed, 'in order')
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(300, 0xff), Buffer.from('0a02ffff', 'hex')]) {
    const client = new Client(world)
    client.sayBytes(bytes)
    t.equal(client.closed, 'in order', bytes.subarray(0, 4).toString('hex'))
  }
  const long = new Client(world)
  long.sayBytes(Buffer.alloc(600))
  t.type(long.closed, 'string', 'longer than any message')
  t.ok(
    world.until(() => server.sessions.size === 0, null),
    'no session is left',
  )
  const run = world.begin()
  t.ok(world.until(() => run.state === 'closed', run))
  t.equal(run.error, null)
})

t.test('data connections: of a session that is open, and no more than it said', async t => {
  const world = makeWorld({ storage: true })
  world.serve()
  t.match(new Client(world, data(Buffer.alloc(8))).closed, /no such session/)
  t.match(new Client(world, Uint8Array.of(DATA_MARK, 1, 2)).closed, /neither/)
  t.match(new Client(world, new Uint8Array(0)).closed, /neither/)
  const client = new Client(world)
  const answer = client.say({ body: 'open', open: { ...OPEN, qps: 2 } })
  t.equal(answer?.body, 'opened')
  const { session, memory } = (answer as { opened: { session: Uint8Array; memory: { bytes: number } } })
    .opened
  t.equal(session.length, 8)
  t.equal(memory.bytes, 4096)
  const made = [1, 2, 3].map(() => new Client(world, data(session)))
  t.same(
    made.map(qp => qp.established),
    [true, true, false],
  )
  t.match(made[2]!.closed, /2 data connections already/)
  client.say({ body: 'open', open: OPEN })
  t.match(client.heard.at(-1), { body: 'refuse', refuse: { text: /open already/ } })
  client.connection.disconnect(world.network.now)
  t.ok(
    world.until(() => made[0]!.closed !== null && made[1]!.closed !== null, null),
    'they end with the session',
  )
})

t.test('memory and sessions are bounded', async t => {
  const world = makeWorld({ storage: false })
  const server = world.serve()
  const big = { body: 'open', open: { ...OPEN, size: 64 << 20 } } as const
  const clients = [0, 1, 2].map(() => new Client(world))
  t.same(
    clients.map(client => client.say(big)?.body),
    ['opened', 'opened', 'refuse'],
    '128 MiB in all',
  )
  const more = Array.from({ length: 20 }, () => new Client(world))
  t.equal(server.sessions.size, 16)
  t.match(more.at(-1)!.closed, /16 runs are being served already/)
  const run = world.begin({ ...SETTINGS })
  t.ok(world.until(() => run.state === 'closed', run))
  t.equal(run.error?.code, 'WEIR_FULL')
})

t.test('a client that has fallen silent is forgotten', async t => {
  const world = makeWorld({ storage: false })
  const server = world.serve()
  const client = new Client(world)
  client.say({ body: 'open', open: OPEN })
  const { network } = world
  network.runUntil(network.now + 29e9)
  server.onTick(network.now)
  t.equal(server.sessions.size, 1, 'half a minute is given')
  network.runUntil(network.now + 2e9)
  server.onTick(network.now)
  t.ok(world.until(() => server.sessions.size === 0, null))
  t.ok(world.until(() => client.closed !== null, null))
  t.equal(world.nics[1].memory.size, 0)
})

t.test('a peer that answers out of its own head', async t => {
  // The measuring end with a server that sends anything.
  const opened = { session: Buffer.alloc(8), memory: { rkey: 1, address: 4096, bytes: 1 << 30 } }
  const answers: [PerfMessage, string, RegExp][] = [
    [{ body: 'refuse', refuse: { text: 'go \u001b[31maway' } }, 'WEIR_REJECTED', /^go \?\[31maway$/],
    [{ body: 'ask', ask: { what: 'STOP' } }, 'WEIR_PROTOCOL', /out of turn/],
    [{ body: 'opened', opened: { ...opened, session: Buffer.alloc(3) } }, 'WEIR_PROTOCOL', /no session/],
    [{ body: 'opened', opened: { ...opened, memory: null } }, 'WEIR_PROTOCOL', /no session or memory/],
    [
      { body: 'opened', opened: { ...opened, memory: { rkey: 1, address: 0, bytes: 9 } } },
      'WEIR_PROTOCOL',
      /memory/,
    ],
  ]
  for (const [answer, code, message] of answers) {
    const world = makeWorld({ storage: true })
    const channel = new ControlChannel(world.nics[1], 0)
    world.nics[1].listen(PERF_PORT, {
      accept: () => ({
        onCreated: (_now, connection) => channel.attach(connection),
        onEstablished() {},
        onCompletion(now, _connection, completion) {
          if (channel.onCompletion(now, completion) !== null) channel.send(now, answer)
        },
        onClosed: () => channel.close(),
      }),
    })
    const run = world.begin()
    t.ok(world.until(() => run.state === 'closed', run))
    t.equal(run.error?.code, code)
    t.match(run.error?.message, message)
    t.equal(world.nics[0].memory.size, 0)
  }
})
