/** TCP over two daemons: what flows, ends and resets; what is refused; how many at once. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { TunnelFigures, TunnelRequest } from '../../lib/client/daemon-client.js'
import type { DaemonOptions } from '../../lib/daemon/daemon.js'
import { connect as connectStream } from '../../lib/net/connect.js'
import { encodeMessage, TUNNEL_PORT } from '../../lib/tunnel/messages.js'
import { errorOf, type Host, start } from '../daemon/hosts.js'
import { pattern } from '../nic/pair.js'
import { variants } from '../support/long.js'
import { loopbackAddress } from '../support/loopback.js'
import { without } from '../support/tools.js'
import { CommandRun } from './curl.js'

interface Tunnel {
  here: Host
  there: Host
  target: Server
  port: number
  /** Connections that the target has accepted. */
  sockets: Socket[]
  figures: TunnelFigures
  end(): Promise<string>
}

async function tunnel(
  t: Test,
  {
    allow,
    ask = {},
    more = {},
  }: { allow?: (port: number) => string[]; ask?: Partial<TunnelRequest>; more?: Partial<DaemonOptions> } = {},
): Promise<Tunnel> {
  const sockets: Socket[] = []
  const target = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    sockets.push(socket)
  })
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    target.close()
  })
  const { port: targetPort } = target.address() as AddressInfo
  const allowTunnel = allow?.(targetPort) ?? [`127.0.0.1:${targetPort}`]
  const [here, there] = await Promise.all([start(t, true, more), start(t, true, { ...more, allowTunnel })])
  const cancel = new AbortController()
  const made: Tunnel = {
    here,
    there,
    target,
    port: 0,
    sockets,
    figures: {} as TunnelFigures,
    end: async () => '',
  }
  const request = {
    listenAddress: '127.0.0.1',
    host: there.options.address,
    targetHost: '127.0.0.1',
    targetPort,
    ...ask,
  }
  await new Promise<void>((resolve, reject) => {
    const onProgress = ({ tunnel }: { tunnel?: TunnelFigures | null }) => {
      made.figures = tunnel!
      made.port = Number(tunnel!.listening.split(':').at(-1))
      resolve()
    }
    const running = here.client.tunnel(request, { signal: cancel.signal, onProgress })
    running.catch(reject)
    made.end = async () => {
      cancel.abort()
      return (await errorOf(running)).code
    }
  })
  return made
}

async function dialled(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

async function all(socket: Socket): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of socket.iterator({ destroyOnReturn: false })) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>(resolve => socket.once('close', () => resolve()))
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 5))
}

t.test('bytes both ways, and each direction ends by itself', async t => {
  const { port, sockets, here, there, end } = await tunnel(t)
  const client = await dialled(port)
  client.end('question')
  await until(() => sockets.length === 1)
  t.equal(String(await all(sockets[0]!)), 'question')
  const { tunnels, tunnelCount } = await there.client.status()
  t.match(tunnels, [{ direction: 'in', peer: here.options.address, receivedBytes: 8 }])
  t.equal(tunnelCount, 1)
  t.match((await here.client.status()).tunnels, [{ direction: 'out', peer: there.options.address }])
  const answer = pattern(1, 3_000_000)
  sockets[0]!.end(answer)
  t.ok((await all(client)).equals(answer))
  await until(() => client.destroyed)
  for (;;) {
    const [a, b] = await Promise.all([here.client.status(), there.client.status()])
    if (a.tunnelCount + b.tunnelCount + a.connectionCount + b.connectionCount === 0) break
  }
  t.equal(await end(), 'WEIR_CANCELLED')
  await t.rejects(dialled(port), { code: 'ECONNREFUSED' }, 'nobody listens any more')
})

t.test('a reset at one end is one at the other', async t => {
  const { port, sockets, here } = await tunnel(t)
  const outcome = async (socket: Socket) => {
    const [error] = (await Promise.race([
      once(socket, 'error'),
      once(socket, 'close').then(() => [null]),
    ])) as [NodeJS.ErrnoException]
    return error?.code
  }
  const byClient = await dialled(port)
  byClient.write('x')
  await until(() => sockets.length === 1)
  await once(sockets[0]!, 'data')
  const atTarget = outcome(sockets[0]!)
  byClient.resetAndDestroy()
  t.equal(await atTarget, 'ECONNRESET')
  const byTarget = await dialled(port)
  byTarget.write('x')
  await until(() => sockets.length === 2)
  await once(sockets[1]!, 'data')
  const atClient = outcome(byTarget)
  sockets[1]!.resetAndDestroy()
  t.equal(await atClient, 'ECONNRESET')
  const { drops } = await here.client.status()
  t.equal(drops['tunnel.reset'], 2)
})

t.test('back-pressure reaches the client', async t => {
  const { port, sockets } = await tunnel(t)
  const client = await dialled(port)
  const block = Buffer.alloc(1 << 20)
  let sent = 0
  const pump = () => {
    while (sent < 64 && client.write(block)) sent++
  }
  client.on('drain', pump)
  pump()
  await until(() => sockets.length === 1)
  let before = -1
  // The target reads nothing: what is under way stops to grow.
  for (let same = 0; same < 20; ) {
    await new Promise(resolve => setTimeout(resolve, 20))
    same = sent === before ? same + 1 : 0
    before = sent
  }
  t.ok(sent < 64, `${sent} MiB were taken`)
  client.end()
  sockets[0]!.resume()
  await once(sockets[0]!, 'end')
})

async function turnedAway(made: Tunnel): Promise<string> {
  await closed(await dialled(made.port))
  await until(() => made.figures.refused === 1)
  return made.figures.lastRefusal
}

// Each has daemons of its own, which end with it: many at once would take the threads of the pool.
t.test('what no rule allows', async t => {
  const made = await tunnel(t, { allow: () => ['127.0.0.1:1'] })
  t.match(await turnedAway(made), /dials no 127\.0\.0\.1:\d+ for others \(--allow-tunnel\)/)
  t.equal(made.sockets.length, 0)
})

t.test('a peer that was refused and does not end is reset', async t => {
  const there = await start(t, true, { allowTunnel: ['127.0.0.1:1'] })
  const stream = await connectStream(there.options.address, TUNNEL_PORT, {
    open: { address: loopbackAddress() },
  })
  const failed = once(stream, 'error')
  stream.write(encodeMessage({ open: { version: 1, host: '127.0.0.1', port: 2 } }))
  stream.resume()
  await new Promise(resolve => stream.once('end', resolve))
  t.match(await failed.catch((error: Error) => [error]), [{ code: 'WEIR_STREAM_RESET' }])
  while ((await there.client.status()).connectionCount > 0);
  t.pass('its connection is gone, and its memory with it')
})

t.test('a daemon without rules dials nothing', async t => {
  const made = await tunnel(t, { allow: () => [] })
  t.match(await turnedAway(made), /dials nothing for other hosts/)
})

t.test('a target that refuses', async t => {
  const made = await tunnel(t, { allow: () => ['127.0.0.1:*'] })
  made.target.close()
  await once(made.target, 'close')
  t.match(await turnedAway(made), /ECONNREFUSED/)
  t.equal((await made.there.client.status()).drops['tunnel.refused'], 1)
})

t.test('names: of a rule, and by the address that they have', async t => {
  const rules = [(port: number) => `LOCALHOST:${port}`, (port: number) => `127.0.0.0/8:${port}`]
  for (const rule of rules) {
    await t.test(rule(0), async t => {
      const { port, sockets } = await tunnel(t, {
        allow: port => [rule(port)],
        ask: { targetHost: 'localhost' },
      })
      const client = await dialled(port)
      client.write('x')
      await until(() => sockets.length === 1)
      client.destroy()
    })
  }
  await t.test('another address', async t => {
    const made = await tunnel(t, { allow: port => [`10.0.0.0/8:${port}`], ask: { targetHost: 'localhost' } })
    t.match(await turnedAway(made), /dials no localhost/)
    t.equal(made.sockets.length, 0)
  })
})

t.test('many at once, each with bytes of its own', async t => {
  const { port, target } = await tunnel(t)
  target.on('connection', (socket: Socket) => socket.pipe(socket))
  const [count] = variants([40, 200], 1) as [number]
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  const outcomes = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const bytes = pattern(i, 100_000)
      const client = await dialled(port)
      client.end(bytes)
      return digest(await all(client)) === digest(bytes)
    }),
  )
  t.ok(outcomes.every(Boolean), `${count} connections`)
})

t.test('a daemon that stops resets its connections', async t => {
  for (const stops of ['there', 'here'] as const) {
    const { port, sockets, ...hosts } = await tunnel(t)
    const client = await dialled(port)
    client.write('x')
    await until(() => sockets.length === 1)
    await once(sockets[0]!, 'data')
    const ends = [once(client, 'error'), once(sockets[0]!, 'error')]
    await hosts[stops].daemon.close()
    for (const end of ends) t.match(await end, [{ code: 'ECONNRESET' }], `the daemon ${stops}`)
  }
})

t.test(
  'the log says why: what was refused, and resets that no end of a connection has asked for',
  async t => {
    const lines: { level: number; msg: string; err?: { message: string } }[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const warnings = () => lines.filter(({ level }) => level >= 40).map(({ msg, err }) => [msg, err?.message])
    const refused = await tunnel(t, { allow: () => ['127.0.0.1:1'], more: { log, worker: false } })
    await turnedAway(refused)
    t.match(warnings(), [
      ['a TCP connection was not carried for another host', /dials no 127/],
      ['a TCP connection was not carried', /dials no 127/],
    ])
    lines.length = 0
    const { port, sockets, here } = await tunnel(t, { more: { log, worker: false } })
    const usual = await dialled(port)
    usual.write('x')
    await until(() => sockets.length === 1)
    await once(sockets[0]!, 'data')
    usual.resetAndDestroy()
    await until(() => lines.filter(({ msg }) => msg === 'a TCP connection was reset').length === 2)
    t.same(warnings(), [], 'a reset by an end is usual')
    const lost = await dialled(port)
    lost.write('x')
    await until(() => sockets.length === 2)
    await once(sockets[1]!, 'data')
    await here.daemon.close()
    await until(() => warnings().length > 0)
    t.match(warnings()[0], ['a TCP connection was reset', /ended/])
  },
)

t.test('SOCKS5, with a name and a password', async t => {
  const { port, target, sockets } = await tunnel(t, {
    ask: { targetHost: '', targetPort: 0, name: 'me', password: 'pass' },
  })
  const { port: targetPort } = target.address() as AddressInfo
  const client = await dialled(port)
  client.write(
    Buffer.concat([
      Buffer.from('050102', 'hex'),
      Buffer.from([1, 2, ...Buffer.from('me'), 4, ...Buffer.from('pass')]),
    ]),
  )
  const request = Buffer.from('05010001 7f000001 0000'.replaceAll(' ', ''), 'hex')
  request.writeUInt16BE(targetPort, 8)
  client.write(Buffer.concat([request, Buffer.from('early')]))
  await until(() => sockets.length === 1)
  const [early] = (await once(sockets[0]!, 'data')) as [Buffer]
  t.equal(String(early), 'early', 'bytes behind the request are not lost')
  sockets[0]!.end('answer')
  client.end()
  const answer = await all(client)
  t.equal(answer.subarray(0, 4).toString('hex'), '05020100')
  t.equal(answer.subarray(4, 6).toString('hex'), '0500')
  t.equal(answer.subarray(14).toString(), 'answer')
  const wrong = await dialled(port)
  wrong.write(Buffer.concat([Buffer.from('050102', 'hex'), Buffer.from([1, 1, 0x61, 1, 0x62])]))
  t.equal((await all(wrong)).toString('hex'), '05020101')
})

t.test('curl through SOCKS5', { skip: without('curl') }, async t => {
  const { port, target } = await tunnel(t, { ask: { targetHost: '', targetPort: 0 } })
  const { port: targetPort } = target.address() as AddressInfo
  target.on('connection', (socket: Socket) =>
    socket.once('data', () => socket.end('HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nhello\n')),
  )
  const proxy = ['--proxy', `socks5h://127.0.0.1:${port}`, '--silent', '--show-error']
  t.same(await CommandRun.of('curl', [...proxy, `http://127.0.0.1:${targetPort}/`]), {
    code: 0,
    stdout: 'hello\n',
    stderr: '',
  })
  const denied = await CommandRun.of('curl', [...proxy, 'http://127.0.0.1:1/'])
  t.match([denied.code, denied.stderr], [97, /SOCKS5 connection.*\(2\)/])
})

t.test('requests that are refused', async t => {
  const host = await start(t, true)
  const ask = { listenAddress: '127.0.0.1', host: host.options.address, targetHost: 'x', targetPort: 1 }
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  t.match(await errorOf(host.client.tunnel({ ...ask, listenPort: port })), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /EADDRINUSE/,
  })
  t.match(await errorOf(host.client.tunnel({ ...ask, listenAddress: '203.0.113.1' })), {
    code: 'WEIR_BAD_ARGUMENT',
  })
  t.match(await errorOf(host.client.tunnel({ ...ask, targetHost: '', name: 'x' })), {
    code: 'WEIR_BAD_ARGUMENT',
  })
  const ends = Array.from({ length: 16 }, () => {
    const cancel = new AbortController()
    const up = new Promise<void>(resolve => {
      host.client.tunnel(ask, { signal: cancel.signal, onProgress: () => resolve() }).catch(() => {})
    })
    return { cancel, up }
  })
  await Promise.all(ends.map(({ up }) => up))
  t.match(await errorOf(host.client.tunnel(ask)), { code: 'WEIR_FULL' })
  for (const { cancel } of ends) cancel.abort()
})
