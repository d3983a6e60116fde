/** Hosts that cannot be reached are detected at once, but only while a connection is requested. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type ConnectAttempt, Reachability } from '../../lib/io/ports/reachability.js'
import { freePort } from '../io/helpers.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'
import { errorOf, start } from './hosts.js'

/** The watch over attempts does not keep the process alive. */
const alive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(alive))

/** An attempt that waits for ever, and how it was given up. */
function attemptAt(address: string, port: number) {
  const attempt = { address, port, waits: true, error: null as Error | null }
  const given = new Promise<Error>(resolve => {
    Object.assign(attempt, {
      giveUp: (why: Error) => {
        attempt.waits = false
        resolve(why)
      },
    })
  })
  return { attempt: attempt as unknown as ConnectAttempt & { waits: boolean }, given }
}

t.test('no route, and nobody who listens', async t => {
  const reachability = new Reachability('127.0.0.1')
  t.teardown(() => reachability.close())
  const noRoute = attemptAt('192.0.2.1', 4791)
  const deaf = attemptAt(loopbackAddress(), freePort())
  const alsoDeaf = attemptAt(deaf.attempt.address, deaf.attempt.port)
  for (const { attempt } of [noRoute, deaf, alsoDeaf]) reachability.watch(attempt)
  t.match(await noRoute.given, {
    code: 'WEIR_UNREACHABLE',
    message: /there is no route to 192\.0\.2\.1 from 127/,
  })
  const why = {
    code: 'WEIR_UNREACHABLE',
    message: new RegExp(`nothing listens on UDP port ${deaf.attempt.port}`),
  }
  t.match(await deaf.given, why)
  t.match(await alsoDeaf.given, why, 'all that wait for the same peer')
})

t.test('a peer that listens is knocked at, and left alone once it has answered', async t => {
  const reachability = new Reachability('127.0.0.1')
  t.teardown(() => reachability.close())
  const peer = createSocket('udp4').bind(0, '127.0.0.1')
  t.teardown(() => peer.close())
  await once(peer, 'listening')
  const { attempt, given } = attemptAt('127.0.0.1', peer.address().port)
  void given.then(error => t.fail(error.message))
  reachability.watch(attempt)
  const [bytes] = await once(peer, 'message')
  t.same(bytes, Buffer.alloc(16), 'a whole BTH: a shorter datagram can crash rdma_rxe')
  attempt.waits = false
  let more = 0
  peer.on('message', () => more++)
  await new Promise(resolve => setTimeout(resolve, 600))
  t.equal(more, 0)
})

t.test('a transfer hears why; an established connection does not', async t => {
  const folder = await scratch(t)
  await writeFile(join(folder, 'file'), 'x')
  const { client } = await start(t, false)
  const port = freePort()
  const error = await errorOf(client.send(join(folder, 'file'), loopbackAddress(), { port }))
  t.match(error, { code: 'WEIR_UNREACHABLE', message: /nothing listens on UDP port/ })
  const perf = client.perf({
    host: loopbackAddress(),
    port,
    test: 'lat',
    op: 'send',
    size: 8,
    qps: 1,
    depth: 1,
    iterations: 1,
  })
  t.match(await errorOf(perf), { message: /nothing listens/ })
  t.match((await client.status()).connections, [])
})
