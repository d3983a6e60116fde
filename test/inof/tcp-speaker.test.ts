/** What the BGP speaker on TCP says where its port is taken. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { TcpSpeaker } from '../../lib/inof/tcp-speaker.js'
import { loopbackAddress } from '../support/loopback.js'

t.test('address and port stand apart, so that an IPv6 address is read as one', async t => {
  for (const address of [loopbackAddress(), '::1']) {
    const server = createServer().listen({ host: address, port: 0 })
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    await t.rejects(
      TcpSpeaker.start({
        address,
        port,
        speaker: { as: 65_001, identifier: 1, neighbours: [], random: Math.random },
        routeChanged: () => {},
      }),
      { code: 'WEIR_BAD_ARGUMENT', message: `cannot listen for BGP on ${address}, port ${port}: ` },
    )
  }
})
