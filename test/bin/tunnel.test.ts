/** What the command line of weir tunnel refuses before it asks a daemon. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type TunnelFlags, tunnelRequestOf } from '../../bin/commands/tunnel.js'
import { refusal } from '../nic/pair.js'
import { scratch } from '../support/daemon-process.js'

const request = (listen: string, target?: string, flags: Partial<TunnelFlags> = {}) =>
  tunnelRequestOf(listen, target, { socket: '', ...flags })

t.test('requests', async t => {
  t.same(request('8080', 'web.example:80'), {
    listenAddress: '127.0.0.1',
    listenPort: 8080,
    host: 'web.example',
    port: 0,
    targetHost: 'web.example',
    targetPort: 80,
  })
  t.match(request('[::1]:0', '10.0.0.1:22', { via: 'weir://gate:5000' }), {
    listenAddress: '::1',
    listenPort: 0,
    host: 'gate',
    port: 5000,
    targetHost: '10.0.0.1',
  })
  t.match(request('10.0.0.9:1', 'a:1'), { listenAddress: '10.0.0.9' }, 'a tunnel may be open to others')
  const file = join(await scratch(t), 'auth')
  writeFileSync(file, 'me:my:pass\n', { mode: 0o600 })
  const socks = { socks: true, via: 'h' }
  t.match(request('10.0.0.9:1080', undefined, { ...socks, socksAuth: file }), {
    host: 'h',
    name: 'me',
    password: 'my:pass',
  })
  chmodSync(file, 0o644)
  t.match(
    refusal(() => request('1080', undefined, { ...socks, socksAuth: file }), 'WEIR_BAD_ARGUMENT'),
    /chmod 0600/,
  )
  t.match(
    refusal(() => request('1080', undefined, { ...socks, socksAuth: `${file}x` }), 'WEIR_NO_FILE'),
    /ENOENT/,
  )
})

t.test('what is refused', async t => {
  const wrong: [RegExp, () => unknown][] = [
    [/name a TARGET/, () => request('80')],
    [/leave TARGET out/, () => request('80', 'a:1', { socks: true, via: 'h' })],
    [/by --via/, () => request('80', undefined, { socks: true })],
    [/is for --socks/, () => request('80', 'a:1', { socksAuth: 'x' })],
    [/open to other hosts/, () => request('0.0.0.0:80', undefined, { socks: true, via: 'h' })],
    [/LISTEN is PORT/, () => request('65536', 'a:1')],
    [/LISTEN is PORT/, () => request('name:80', 'a:1')],
    [/LISTEN is PORT/, () => request('::1:80', 'a:1')],
    [/TARGET: HOST:PORT/, () => request('80', 'a')],
  ]
  for (const [what, does] of wrong) t.match(refusal(does, 'WEIR_BAD_ARGUMENT'), what)
})
