/** Options that only some ports obey: which are refused, and how messages call them. */
import { Command } from 'commander'
import t from 'tap'
import { addValueOptions, valuesOf } from '../../bin/commands/value-options.js'
import { closeNic, openNic } from '../../lib/open-nic/open-nic.js'
import { checkPortOptions, PORT_OPTIONS } from '../../lib/open-nic/port-options.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { loopbackAddress } from '../support/loopback.js'

const DEFAULT_DSCPS = [0, 8, 16, 24, 32, 40, 48, 56]

t.test('a default asks for nothing, so no port refuses it', async t => {
  const given = { priority: 0, dscpOfPriority: DEFAULT_DSCPS, ifaProtocol: 253 }
  for (const io of ['batch', 'dgram', 'raw', 'packet']) t.doesNotThrow(() => checkPortOptions(io, given), io)
  const typed = { priority: '0', dscpOfPriority: DEFAULT_DSCPS.join(','), ifaProtocol: '253' }
  for (const io of ['batch', 'dgram', 'raw', 'packet'])
    t.match(valuesOf(PORT_OPTIONS, { io, ...typed }), { io, priority: 0, ifaProtocol: 253 })
})

t.test('another value is refused, by the name that a program or a command line has for it', async t => {
  const dscpOfPriority = [...DEFAULT_DSCPS.slice(0, 7), 57]
  for (const [io, given, name, flag] of [
    ['dgram', { priority: 1 }, 'priority', '--priority'],
    ['dgram', { dscpOfPriority }, 'dscpOfPriority', '--dscp-of-priority'],
    ['batch', { ifaProtocol: 131 }, 'ifaProtocol', '--ifa-protocol'],
  ] as const) {
    const refused = (byFlags: boolean) => () => checkPortOptions(io, { ...given, byFlags })
    t.throws(refused(false), {
      code: 'WEIR_BAD_ARGUMENT',
      message: new RegExp(`daemon: ${name} has no effect while io is ${io}: leave it out, or set io to `),
    })
    t.throws(refused(true), {
      message: new RegExp(`${flag} has no effect while --io is ${io}: leave it out, or set --io to `),
    })
  }
})

t.test('a value that the environment has given is blamed on its variable', async t => {
  const values = (env: string | undefined, ...words: string[]) => {
    const command = addValueOptions(new Command(), PORT_OPTIONS).exitOverride()
    const before = process.env.WEIR_IO
    t.teardown(() => {
      if (before === undefined) delete process.env.WEIR_IO
      else process.env.WEIR_IO = before
    })
    if (env === undefined) delete process.env.WEIR_IO
    else process.env.WEIR_IO = env
    command.parse(words, { from: 'user' })
    return valuesOf(PORT_OPTIONS, command.opts(), command)
  }
  t.throws(() => values('pigeon'), { message: /^WEIR_IO is one of .*, not "pigeon"/ })
  t.throws(() => values('pigeon', '--io', 'dove'), { message: /^--io is one of .*, not "dove"/ })
  t.throws(() => values('pigeon', '--io', 'pigeon'), { message: /^--io is one of .*, not "pigeon"/ })
  t.throws(() => values('dgram', '--priority', '3'), {
    message: /^--priority has no effect while WEIR_IO is dgram: leave it out, or set WEIR_IO to batch/,
  })
  t.throws(() => values('dgram', '--io', 'dgram', '--priority', '3'), {
    message: /^--priority has no effect while --io is dgram: leave it out, or set --io to batch/,
  })
})

t.test('a daemon has as many connections as it was given', async t => {
  const onStopped = (error: unknown) => t.fail(String(error))
  const opened = await openNic({ address: loopbackAddress(), io: 'dgram', connections: 2 }, { onStopped })
  t.teardown(() => closeNic(opened))
  const { nic, loop } = opened
  const handler = { onEstablished() {}, onCompletion() {}, onClosed() {} }
  const connect = () => nic.connect(loop.now(), HostAddress.parse(loopbackAddress()), 1, handler)
  connect()
  connect()
  t.throws(connect, { code: 'WEIR_FULL', message: /all 2 connections are in use.*--connections/ })
  const none = { address: loopbackAddress(), io: 'dgram', connections: 0 }
  await t.rejects(openNic(none, { onStopped }), { code: 'WEIR_BAD_ARGUMENT', message: /connectionsMax/ })
})
