import { existsSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import { ControlClient } from '../../lib/control/client.js'
import { delimit } from '../../lib/control/framing.js'
import { type Progress, requests, responses } from '../../lib/control/messages.js'
import { ControlServer } from '../../lib/control/server.js'
import { SilenceWatch } from '../../lib/control/silence.js'
import { WeirError } from '../../lib/errors.js'

/** The folder of a test's sockets: short, as a socket's path has to be. */
async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'weir-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

async function serve(t: Test): Promise<{ server: ControlServer; path: string; malformed: WeirError[] }> {
  const path = join(await folder(t), 's')
  const malformed: WeirError[] = []
  const server = new ControlServer(path, { onMalformed: error => malformed.push(error) })
  await server.listen()
  t.teardown(() => server.close())
  return { server, path, malformed }
}

async function client(t: Test, path: string): Promise<ControlClient> {
  const made = await ControlClient.connect(path)
  t.teardown(() => made.close())
  return made
}

t.test('requests, progress, answers and errors find their way, several at a time', async t => {
  const { server, path } = await serve(t)
  server.registerHandler('traffic', async (request, { progress }) => {
    for (let i = 1; i <= 3; i++) progress({ bytes: i * request.bytes, state: request.name })
    await sleep(request.bytes)
    return { traffic: { name: request.name, fctNs: 1.5, bytes: request.bytes } }
  })
  server.registerHandler('send', async request => {
    throw new WeirError('WEIR_NO_FILE', `no ${request.path}`)
  })
  server.registerHandler('get', async () => {
    throw new TypeError('a defect')
  })
  const made = await client(t, path)
  const seen: Progress[] = []
  const flow = (name: string, bytes: number) =>
    made.request({ traffic: { name, bytes, options: { eta: 0.95 } } }, 'traffic', {
      onProgress: p => seen.push(p),
    })
  const [slow, fast] = await Promise.all([flow('slow', 40), flow('fast', 1)])
  t.match(
    [slow, fast],
    [
      { name: 'slow', bytes: 40, fctNs: 1.5 },
      { name: 'fast', bytes: 1 },
    ],
  )
  t.same(
    seen.filter(p => p.state === 'slow').map(p => p.bytes),
    [40, 80, 120],
  )
  await t.rejects(made.request({ send: { path: '/x' } }, 'transfer'), {
    code: 'WEIR_NO_FILE',
    message: 'no /x',
  })
  await t.rejects(made.request({ get: {} }, 'transfer'), { code: 'WEIR_INTERNAL', message: 'a defect' })
  await t.rejects(made.request({ status: {} }, 'status'), { code: 'WEIR_PROTOCOL', message: /"status"/ })
})

t.test('large numbers survive', async t => {
  const { server, path } = await serve(t)
  server.registerHandler('traffic', async request => ({
    traffic: { bytes: request.bytes, startUnixMs: request.startUnixMs },
  }))
  const made = await client(t, path)
  const sent = { bytes: Number.MAX_SAFE_INTEGER, startUnixMs: 1_795_237_779_671.125 }
  t.match(await made.request({ traffic: sent }, 'traffic'), sent)
})

t.test('a request ends when it is cancelled, and when its client goes away', async t => {
  const { server, path } = await serve(t)
  let aborted = 0
  server.registerHandler('send', async (_request, { signal, progress }) => {
    progress({ state: 'begun' })
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    aborted++
    throw new WeirError('WEIR_CANCELLED', 'as you wish')
  })
  const made = await client(t, path)
  const abort = new AbortController()
  const cancelled = made.request({ send: {} }, 'transfer', {
    signal: abort.signal,
    onProgress: () => abort.abort(),
  })
  await t.rejects(cancelled, { code: 'WEIR_CANCELLED', message: 'as you wish' })
  t.equal(aborted, 1)
  await t.rejects(made.request({ send: {} }, 'transfer', { signal: AbortSignal.abort() }), {
    code: 'WEIR_CANCELLED',
  })
  const left = made.request({ send: {} }, 'transfer', { onProgress: () => made.close() })
  await t.rejects(left, { code: 'WEIR_DAEMON_UNREACHABLE' })
  while (aborted < 2) await sleep(5)
  t.same(await (await client(t, path)).request({ cancel: { transferId: 's1' } }, 'cancel'), { found: false })
})

t.test('malformed input costs the client its connection, and nobody else anything', async t => {
  const { server, path, malformed } = await serve(t)
  server.registerHandler('status', async () => ({ status: { pid: 7 } }))
  const bystander = await client(t, path)
  const bad = [
    Buffer.from('ffffffffffff', 'hex'),
    delimit(Buffer.from('ffff', 'hex')),
    delimit(Buffer.from('0a', 'hex')),
    delimit(requests.encode({ id: 0, status: {} })),
    // Groups that never end.
    delimit(Buffer.from('0b0b0b0b', 'hex')),
  ]
  for (const bytes of bad) {
    const socket = connect(path)
    const answer: Buffer[] = []
    socket.on('data', piece => answer.push(piece))
    socket.write(bytes)
    await new Promise(resolve => socket.once('close', resolve))
    const all = Buffer.concat(answer)
    t.match(responses.decode(all.subarray(1 + Number(all[0]! >= 0x80))), {
      id: 0,
      error: { code: 'WEIR_PROTOCOL' },
    })
  }
  t.equal(malformed.length, bad.length)
  t.match(await bystander.request({ status: {} }, 'status'), { pid: 7 })
})

t.test('the socket is for its owner alone, and is removed at the end', async t => {
  const { server, path } = await serve(t)
  t.equal(statSync(path).mode & 0o777, 0o600)
  const made = await client(t, path)
  const waiting = made.request({ status: {} }, 'status').catch(error => error.code)
  await waiting
  await server.close()
  t.notOk(existsSync(path))
  await t.rejects(made.request({ status: {} }, 'status'), { code: 'WEIR_DAEMON_UNREACHABLE' })
  await t.rejects(ControlClient.connect(path), { code: 'WEIR_DAEMON_UNREACHABLE', message: /weir daemon/ })
})

t.test('a socket left behind is replaced; one that is served, or another file, is not', async t => {
  const path = join(await folder(t), 's')
  // As a killed process leaves it: bound and not removed.
  const { execFileSync } = await import('node:child_process')
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  try {
    execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' })
  } catch {}
  t.ok(existsSync(path), 'a stale socket is there')
  const server = new ControlServer(path)
  await server.listen()
  t.teardown(() => server.close())
  await t.rejects(new ControlServer(path).listen(), { code: 'WEIR_BAD_STATE', message: /already/ })
  t.ok(existsSync(path), 'the live one is still there')
  const other = createServer()
  t.teardown(() => other.close())
  const plain = join(await folder(t), 'file')
  writeFileSync(plain, 'mine')
  await t.rejects(new ControlServer(plain).listen(), { code: 'WEIR_BAD_ARGUMENT', message: /no socket/ })
  t.equal(statSync(plain).size, 4)
})

t.test('paths that cannot be a socket', async t => {
  await t.rejects(new ControlServer(`/tmp/${'x'.repeat(100)}`).listen(), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /103/,
  })
  const open = await folder(t)
  const { chmodSync } = await import('node:fs')
  chmodSync(open, 0o777)
  await t.rejects(new ControlServer(join(open, 's')).listen(), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /others may write/,
  })
})

t.test('a client that never reads is dropped, not buffered for', async t => {
  const { server, path } = await serve(t)
  let sent = 0
  let ended = false
  server.registerHandler('send', async (_request, { signal, progress }) => {
    while (!signal.aborted && sent < 100_000) {
      progress({ state: 'x'.repeat(1000) })
      if (++sent % 100 === 0) await sleep(0)
    }
    ended = true
    return { transfer: {} }
  })
  const socket = connect(path)
  socket.pause()
  socket.write(delimit(requests.encode({ id: 1, send: {} } as never)))
  while (!ended) await sleep(5)
  t.ok(process.memoryUsage().external < 200e6, 'progress that nobody reads is left out')
  socket.destroy()
})

/** A process that accepts and never answers, like a stopped one. */
async function deaf(t: Test): Promise<string> {
  const path = join(await folder(t), 's')
  const server = createServer(socket => socket.on('error', () => {}))
  await new Promise<void>(resolve => server.listen(path, resolve))
  t.teardown(() => server.close())
  return path
}

/** The request's outcome as far as it is known now. */
function watched(request: Promise<unknown>): { error: unknown } {
  const state = { error: null as unknown }
  request.catch(error => {
    state.error = error
  })
  return state
}

const HANGS = { code: 'WEIR_DAEMON_UNREACHABLE', message: /has not answered for 15 s: end its process/ }

t.test('a daemon that hangs is given up, and a request that it does not cancel', async t => {
  const daemon = await connectDaemon(await deaf(t))
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const ask: Promise<unknown>[] = [
    daemon.status(),
    daemon.transfers(),
    daemon.cancel('send-1'),
    daemon.stop(),
  ]
  const cancelled = new AbortController()
  const send = daemon.send('/a', 'h', { signal: cancelled.signal })
  const refused = Promise.all(ask.map(each => t.rejects(each, HANGS)))
  mock.timers.tick(15_000)
  await refused
  cancelled.abort()
  const ended = t.rejects(send, HANGS)
  mock.timers.tick(15_000)
  await ended
  daemon.close()
})

t.test('a daemon that never says anything is given up, whatever was asked of it', async t => {
  const path = await deaf(t)
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  for (const ask of [
    (daemon: DaemonClient) => daemon.send('/a', 'h'),
    (daemon: DaemonClient) => daemon.get('h', 'a'),
    (daemon: DaemonClient) => daemon.perf({ host: 'h' }),
    (daemon: DaemonClient) => daemon.traffic({ host: 'h' }),
  ]) {
    const daemon = await connectDaemon(path)
    const request: Promise<unknown> = ask(daemon)
    const state = watched(request)
    mock.timers.tick(14_999)
    await settled()
    t.equal(state.error, null, 'not before')
    mock.timers.tick(1)
    await t.rejects(request, HANGS)
    await daemon.closed
    await t.rejects(daemon.status(), HANGS, 'the connection is closed')
  }
})

t.test('a daemon that is busy with a request is not given up: it answers pings', async t => {
  const { server, path } = await serve(t)
  let finish = () => {}
  server.registerHandler('send', async () => {
    await new Promise<void>(resolve => {
      finish = resolve
    })
    return { transfer: { path: 'here' } }
  })
  let pongs = 0
  const { onHeard } = SilenceWatch.prototype
  SilenceWatch.prototype.onHeard = function (this: SilenceWatch) {
    pongs++
    onHeard.call(this)
  }
  t.teardown(() => {
    SilenceWatch.prototype.onHeard = onHeard
  })
  const daemon = await connectDaemon(path)
  t.teardown(() => daemon.close())
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const request = daemon.send('/a', 'h')
  for (let look = 1; look <= 120; look++) {
    mock.timers.tick(5000)
    // A check that finds something does not ping, so every other one does. Without any pong the third check
    // gives up.
    for (let n = 0; n < 1000 && pongs < Math.ceil(look / 2); n++) await sleep(1)
  }
  finish()
  t.match(await request, { path: 'here' })
})

t.test('a daemon that falls silent amid a request is given up a minute later', async t => {
  const path = join(await folder(t), 's')
  const deafLater = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write(delimit(responses.encode({ id: 1, progress: {} } as never))))
  })
  await new Promise<void>(resolve => deafLater.listen(path, resolve))
  t.teardown(() => deafLater.close())
  const daemon = await connectDaemon(path)
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let heard = () => {}
  const progress = new Promise<void>(resolve => {
    heard = resolve
  })
  const request = daemon.send('/a', 'h', { onProgress: () => heard() })
  const state = watched(request)
  await progress
  mock.timers.tick(60_000)
  await settled()
  t.equal(state.error, null, 'the first look found something')
  mock.timers.tick(5000)
  await t.rejects(request, { code: 'WEIR_DAEMON_UNREACHABLE', message: /has not answered for 60 s/ })
})

t.test('signs of life are looked for only while something is waited for', async t => {
  let pings = 0
  const gaveUp: number[] = []
  const watch = new SilenceWatch(
    () => pings++,
    ms => gaveUp.push(ms),
  )
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  watch.start()
  mock.timers.tick(10_000)
  t.same([pings, gaveUp], [2, []], 'two looks in vain, of three')
  watch.onHeard()
  mock.timers.tick(5000)
  t.same([pings, gaveUp], [2, []], 'heard: no ping is needed')
  watch.stop()
  mock.timers.tick(600_000)
  t.same([pings, gaveUp], [2, []], 'nothing is looked for any more')
})

/** Waits until pending socket data and promises have been handled. */
async function settled(): Promise<void> {
  for (let n = 0; n < 20; n++) await new Promise(resolve => setImmediate(resolve))
}

t.test('an older daemon, which has no name for a request: what to do is said', async t => {
  const path = join(await folder(t), 's')
  const older = createServer(socket => {
    const text = 'this daemon does not answer "unknown" requests'
    socket.once('data', () => {
      const answer = { id: 1, error: { code: 'WEIR_PROTOCOL', message: text } }
      socket.write(delimit(responses.encode(answer as never)))
    })
  })
  await new Promise<void>(resolve => older.listen(path, resolve))
  t.teardown(() => older.close())
  const made = await client(t, path)
  await t.rejects(made.request({ getTree: {} }, 'transfer'), { code: 'WEIR_REJECTED', message: /weir stop/ })
  // The present one says the same of what it has no name for.
  const now = await serve(t)
  const socket = connect(now.path)
  t.teardown(() => socket.destroy())
  socket.write(delimit(Uint8Array.of(0x08, 1, 0xa2, 0x06, 0)))
  const said = await new Promise<Buffer>(resolve => socket.once('data', resolve))
  t.match(said.toString('latin1'), 'this daemon does not answer "unknown" requests')
})
