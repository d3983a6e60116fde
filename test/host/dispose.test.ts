/** `await using`: what is declared by it is closed where its block ends, also by a throw. */
import t from 'tap'
import { connect, Host, listen } from '../../lib/index.js'
import { loopbackAddress } from '../support/loopback.js'
import { PORT } from './hosts.js'

const openHost = async () => {
  const io = process.env.WEIR_IO ? { io: process.env.WEIR_IO } : {}
  return await Host.open({ address: loopbackAddress(), ...io })
}

t.test('hosts, a listener, connections and queue pairs end with their block', async t => {
  const all: { isClosed: boolean }[] = []
  const hosts: Host[] = []
  const work = async () => {
    await using here = await openHost()
    await using there = await openHost()
    hosts.push(here, there)
    await using listener = await there.listen(PORT)
    await using connection = await here.connect(there.about.address, PORT)
    await using shared = await here.createSharedReceiveQueue()
    await using datagrams = await here.createDatagramPair({ qkey: 1 })
    await using pair = await here.createQueuePair(there.about.address)
    await using unreliable = await here.createQueuePair(there.about.address, { type: 'uc' })
    all.push(shared, connection, datagrams, pair.connection, unreliable.connection)
    t.notOk(all.some(({ isClosed }) => isClosed))
    t.equal(listener.port, PORT)
    throw new Error('the block fails')
  }
  await t.rejects(work(), { message: 'the block fails' })
  t.ok(all.every(({ isClosed }) => isClosed))
  for (const host of hosts) await t.rejects(host.listen(PORT), { code: 'WEIR_BAD_STATE' })
})

t.test('a listener for streams', async t => {
  await using here = await openHost()
  await using there = await openHost()
  {
    await using listener = await listen(PORT, { host: there })
    const [stream, accepted] = await Promise.all([
      connect(there.about.address, PORT, { host: here }),
      listener.accept(),
    ])
    accepted.end()
    stream.end()
    for await (const _ of stream) t.fail('nothing is sent')
  }
  await t.rejects(connect(there.about.address, PORT, { host: here }), { code: 'WEIR_REJECTED' })
})
