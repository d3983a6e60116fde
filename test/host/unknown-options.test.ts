/** Every call of the package that takes options refuses a name that it does not read. Which calls there are is read from their declarations. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import t from 'tap'
import { parseCapture, readCapture } from '../../lib/capture/index.js'
import type { ControlClient } from '../../lib/control/client.js'
import {
  Completion,
  connect,
  connectMessages,
  DaemonClient,
  Host,
  listen,
  listenMessages,
} from '../../lib/index.js'
import { runScenario, scenarioFrom, withLab } from '../../switch-emu/index.js'
import { repositoryRoot } from '../support/fixtures.js'
import { loopbackAddress } from '../support/loopback.js'
import { open, PORT } from './hosts.js'

const FILES = [
  'host/host',
  'host/host-end',
  'host/host-connection',
  'host/host-datagrams',
  'host/host-listener',
  'host/host-queue-pair',
  'host/host-shared-receive-queue',
  'host/host-unreliable',
  'host/datagram-source',
  'net/connect',
  'net/listen',
  'client/daemon-client',
  'interop/rsocket/stream-socket',
  'stream/message-stream',
  'capture/index',
  '../switch-emu/index',
]
/** The call and the name of each of its parameters that is an object of options. */
const DECLARED = /(\w+)(?:<\w+>)?\((?:[^()]|\([^()]*\))*\)(?=: )/g
const OBJECTS = /\b(options|flow|request)\??: /g

function declared(): string[] {
  const found = FILES.flatMap(file => {
    const text = readFileSync(join(repositoryRoot, 'dist', 'lib', `${file}.d.ts`), 'utf8')
    const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/ \[INSPECT\].*/g, '')
    return [...code.matchAll(DECLARED)].flatMap(([whole, name]) =>
      [...whole.matchAll(OBJECTS)].map(([, parameter]) => `${file}: ${name} ${parameter}`),
    )
  })
  return [...new Set(found)].sort()
}

/** Says that it was asked. */
const asked = { request: async () => ({ asked: true }) } as unknown as ControlClient

t.test('names that nothing reads', async t => {
  const host = await open(t)
  const { address } = host.about
  const client = new DaemonClient(asked)
  const connecting = host.listen(PORT)
  const [connection] = await Promise.all([
    connecting.then(() => host.connect(address, PORT)),
    connecting.then(listener => listener.accept()),
  ])
  const [from, into] = [Readable.from([]), new Writable()]
  const scenario = scenarioFrom({ hosts: ['h1', 'h2'], switches: ['s1'], links: ['h1..h2--s1'] })
  // biome-ignore lint/suspicious/noExplicitAny: that is what is tested
  const calls: Record<string, (odd: any) => Promise<unknown>> = {
    'host/host: open options': odd =>
      Host.open(Object.assign(odd, { address: loopbackAddress() })).then(other => other.close()),
    'host/host: connect options': odd => host.connect(address, PORT, odd),
    'host/host: createQueuePair options': odd => host.createQueuePair(address, odd),
    'host/host: createDatagramPair options': odd =>
      host.createDatagramPair(Object.assign(odd, { qkey: 1 })).then(pair => pair.close()),
    'host/host: createSharedReceiveQueue options': odd => host.createSharedReceiveQueue(odd),
    'host/host: createAddress options': odd => host.createAddress(address, odd),
    'host/host: resolveDatagrams options': odd => host.resolveDatagrams(address, 9, odd),
    'host/host: listen options': odd => host.listen(PORT + 1, odd),
    'host/host-end: next options': odd => connection.next(new Completion(), odd),
    'net/connect: connect options': odd => connect(address, PORT, Object.assign(odd, { host })),
    'net/connect: connectMessages options': odd =>
      connectMessages(address, PORT, Object.assign(odd, { host })),
    'net/listen: listen options': odd => listen(PORT + 2, Object.assign(odd, { host })),
    'net/listen: listenMessages options': odd => listenMessages(PORT + 2, Object.assign(odd, { host })),
    'client/daemon-client: send options': odd => client.send('a', address, odd),
    'client/daemon-client: sendTree options': odd => client.sendTree([], address, odd),
    'client/daemon-client: get options': odd => client.get(address, 'a', odd),
    'client/daemon-client: getTree options': odd => client.getTree(address, ['a'], odd),
    'client/daemon-client: sendStream options': odd => client.sendStream(from, address, 'a', odd),
    'client/daemon-client: getStream options': odd => client.getStream(address, 'a', into, odd),
    'client/daemon-client: traffic flow': odd => client.traffic(odd),
    'client/daemon-client: traffic options': odd => client.traffic({}, odd),
    'client/daemon-client: perf request': odd => client.perf(odd),
    'client/daemon-client: perf options': odd => client.perf({}, odd),
    'client/daemon-client: tunnel request': odd => client.tunnel(odd),
    'client/daemon-client: tunnel options': odd => client.tunnel({}, odd),
    'capture/index: readCapture options': async odd => readCapture('a.pcap', odd),
    'capture/index: parseCapture options': async odd => parseCapture(new Uint8Array(), 'a', odd),
    '../switch-emu/index: runScenario options': odd => runScenario(scenario, odd),
    '../switch-emu/index: withLab options': odd => withLab(scenario, odd, async () => {}),
  }
  t.same(Object.keys(calls).sort(), declared(), 'all calls that are declared with options')
  for (const [name, call] of Object.entries(calls))
    for (const odd of [{ fnord: 1 }, Object.create({ fnord: undefined }), { constructor: 1 }]) {
      const message = /: there is no option '(fnord|constructor)'; there are [a-z]/
      await t.rejects(call(odd), { code: 'WEIR_BAD_ARGUMENT', message }, name)
    }
})

t.test('what is near, what belongs to another kind, and members', async t => {
  const host = await open(t)
  const { address } = host.about
  const cc = { name: 'cubic', option: {} }
  const scenario = scenarioFrom({ hosts: ['h1', 'h2'], switches: ['s1'], links: ['h1..h2--s1'] })
  const wrong: [() => Promise<unknown>, RegExp][] = [
    [() => host.connect(address, PORT, { privatData: 1 } as object), /did you mean 'privateData'\?/],
    [() => host.listen(PORT, { backLog: 5 } as object), /did you mean 'backlog'\?/],
    [() => host.createQueuePair(address, { signal: 1 } as object), /no option 'signal'/],
    [() => host.createQueuePair(address, { type: 'uc', cc } as never), /of type uc: .* no option 'cc'/],
    [() => host.connect(address, PORT, { cc } as never), /connect, cc: .*did you mean 'options'\?/],
    [() => host.connect(address, PORT, { telemetry: { colect: 'data' } } as never), /mean 'collect'\?/],
    [() => host.connect(address, PORT, { paths: { counts: 2 } } as never), /did you mean 'count'\?/],
    [() => connect(address, PORT, { host, receives: [] } as never), /no option 'receives'/],
    [() => connect(address, PORT, { host, open: { address } }), /not both/],
    [() => connect(address, PORT, { host: {} } as never), /host is a Host/],
    [() => new DaemonClient(asked).perf({ duration: 1 } as never), /did you mean 'durationNs'\?|there are/],
    [
      () => runScenario(scenario, { captures: { foldr: 'a' } } as never),
      /runScenario, captures: .*'folder'\?/,
    ],
    [() => runScenario(scenario, { on: 'vett' as never }), /on is virtual or overlay or veth, not vett/],
    [
      () => withLab(scenario, { on: 'virtual' as never }, async () => {}),
      /on is overlay or veth, not virtual/,
    ],
  ]
  for (const [call, message] of wrong) await t.rejects(call(), { code: 'WEIR_BAD_ARGUMENT', message })
})

t.test('inherited options count', async t => {
  const host = await open(t)
  const { address } = host.about
  const wrong: (() => Promise<unknown>)[] = [
    () => host.connect(address, PORT, Object.create({ priority: 9 })),
    () => host.listen(PORT, Object.create({ backlog: 0 })),
    () => host.createDatagramPair(Object.create({ qkey: -1 })),
    () => connect(address, PORT, Object.create({ host, segmentBytes: 1 })),
  ]
  for (const call of wrong) await t.rejects(call(), { code: 'WEIR_BAD_ARGUMENT' })
})
