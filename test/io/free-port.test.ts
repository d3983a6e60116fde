/** Ports that tests take are free for TCP too. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { freePort } from './helpers.js'

t.test('all ports of a block', async t => {
  const ports = new Set(Array.from({ length: 64 }, freePort))
  t.equal(ports.size, 31)
  for (const port of ports) {
    const server = createServer().listen({ port, host: '127.0.0.1' })
    await once(server, 'listening')
    server.close()
  }
})
