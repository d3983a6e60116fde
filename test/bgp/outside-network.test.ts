/** Connections to routers outside: the commands that sockets get, and what a speaker hears of them. */
import t from 'tap'
import type { ByteStream } from '../../lib/bgp/byte-stream.js'
import { OutsideNetwork, type StreamCommand } from '../../lib/bgp/outside-network.js'
import type { BgpSession } from '../../lib/bgp/session.js'
import type { Speaker } from '../../lib/bgp/speaker.js'

const HERE = '172.31.0.1'
const SESSION = {} as BgpSession

/** A network with one speaker, which writes down what it hears. */
function place() {
  const commands: StreamCommand[] = []
  const heard: unknown[][] = []
  const streams: ByteStream[] = []
  const network = new OutsideNetwork(command => commands.push(command))
  const note =
    (what: string) =>
    (now: number, ...of: unknown[]) =>
      heard.push([what, now, ...of.filter(one => one !== SESSION)])
  const speaker = {
    neighbours: [{ options: { address: '172.30.0.1' } }],
    onConnected: (_now: number, _neighbour: number, stream: ByteStream) => {
      streams.push(stream)
      return SESSION
    },
    onConnectFailed: note('failed'),
    onClosed: note('closed'),
    onBytes: note('bytes'),
    onWritable: note('writable'),
  }
  network.add(HERE, speaker as unknown as Speaker)
  const connect = () => {
    network.connect(0, HERE, 0)
    return commands.at(-1)!.id
  }
  return { network, commands, heard, streams, connect }
}

t.test('bytes both ways, and a window that is full until the system has taken them', async t => {
  const { network, commands, heard, streams, connect } = place()
  const id = connect()
  t.same(commands, [{ op: 'connect', id, from: HERE, to: '172.30.0.1' }])
  network.onEvent(1, { op: 'connected', id })
  const room = streams[0]!.room()
  const bytes = new Uint8Array(room)
  streams[0]!.write(2, bytes)
  bytes[0] = 1
  t.equal((commands[1] as { bytes: Uint8Array }).bytes[0], 0, 'the buffer may be used again')
  t.equal(streams[0]!.room(), 0)
  network.onEvent(3, { op: 'taken', id, bytes: 100 })
  t.equal(streams[0]!.room(), 100)
  network.onEvent(4, { op: 'bytes', id, bytes: Uint8Array.of(7) })
  t.same(commands.at(-1), { op: 'used', id, bytes: 1 }, 'more may come')
  network.onEvent(5, { op: 'closed', id })
  network.onEvent(6, { op: 'bytes', id, bytes: Uint8Array.of(8) })
  t.same(heard, [
    ['writable', 3],
    ['bytes', 4, Uint8Array.of(7)],
    ['closed', 5],
  ])
})

t.test('a connection that fails, and one that this end closes', async t => {
  const { network, commands, heard, streams, connect } = place()
  network.onEvent(1, { op: 'failed', id: connect() })
  const id = connect()
  network.onEvent(2, { op: 'connected', id })
  for (let i = 0; i < 2; i++) streams[0]!.close(3)
  t.same(commands.slice(2), [{ op: 'close', id }], 'once')
  t.equal(streams[0]!.room(), 0)
  streams[0]!.write(4, Uint8Array.of(1))
  network.onEvent(5, { op: 'bytes', id, bytes: Uint8Array.of(1) })
  network.onEvent(6, { op: 'closed', id })
  t.same(heard, [['failed', 1, 0]], 'nothing of what it has closed')
  t.same(commands.slice(3), [{ op: 'used', id, bytes: 1 }])
})

t.test(
  'a speaker that ends without a word: its connections are closed, also those that come after that',
  async t => {
    const { network, commands, heard, streams, connect } = place()
    const [up, comes] = [connect(), connect()]
    network.onEvent(1, { op: 'connected', id: up })
    network.kill(2, HERE)
    t.same(
      commands.slice(2),
      [up, comes].map(id => ({ op: 'close', id })),
    )
    network.onEvent(3, { op: 'connected', id: comes })
    network.onEvent(4, { op: 'closed', id: up })
    t.same([heard, streams.length, network.nextTimeout()], [[], 1, Number.POSITIVE_INFINITY])
  },
)
