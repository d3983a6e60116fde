/** Mistakes of users: each command is parsed within the test's process. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemonCommand } from '../../bin/commands/daemon.js'
import { getCommand } from '../../bin/commands/get.js'
import { sendCommand } from '../../bin/commands/send.js'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { Daemon } from '../../lib/daemon/daemon.js'
import { createLog } from '../../lib/log.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'

t.test('commands that cannot work say why', async t => {
  const folder = await scratch(t)
  const socketPath = join(folder, 's')
  const file = join(folder, 'a')
  writeFileSync(file, 'x')
  const privateFolder = join(folder, 'private')
  mkdirSync(privateFolder, { mode: 0o700 })
  const log = createLog('silent', 'test')
  const daemon = await Daemon.start({
    address: loopbackAddress(),
    inbox: join(folder, 'in'),
    socketPath,
    log,
  })
  t.teardown(() => daemon.close())

  const send = (...args: string[]) =>
    sendCommand().parseAsync([...args, '--socket', socketPath], { from: 'user' })
  const sends: [string[], string, RegExp][] = [
    [[join(folder, 'missing'), '127.0.0.1'], 'WEIR_NO_FILE', /missing: no such file/],
    [[join(folder, 'missing'), file, '127.0.0.1'], 'WEIR_NO_FILE', /cannot read .*missing: /],
    [[file, '127.0.0.1', '--links', 'skip'], 'WEIR_BAD_ARGUMENT', /--links and --delete are for folders/],
    [['a'], 'WEIR_BAD_ARGUMENT', /name at least one file and then the host/],
    [['a', ':dir'], 'WEIR_BAD_ARGUMENT', /":dir" is no host/],
    [[file, '0.0.0.0'], 'WEIR_BAD_ARGUMENT', /0\.0\.0\.0 is the unspecified address: name/],
    [[file, '239.1.2.3'], 'WEIR_BAD_ARGUMENT', /239\.1\.2\.3 is a multicast address/],
    [[file, '255.255.255.255'], 'WEIR_BAD_ARGUMENT', /is the broadcast address/],
    [[file, '::1'], 'WEIR_BAD_ARGUMENT', /IPv6 address, this daemon has 127/],
    [[file, 'no-such-host.invalid'], 'WEIR_UNREACHABLE', /no-such-host\.invalid has no IPv4 address/],
    [
      [file, '192.0.2.1'],
      'WEIR_UNREACHABLE',
      /no route to 192\.0\.2\.1 from 127.*: this daemon has the address 127.* --address of an interface/,
    ],
    [[file, loopbackAddress()], 'WEIR_UNREACHABLE', /nothing listens on UDP port 4791 of 127.*--address 127/],
    [
      [file, '127.0.0.1:65535'],
      'WEIR_BAD_ARGUMENT',
      /from 1 to 65534; for the path write 127\.0\.0\.1:\.\/65535/,
    ],
    [
      [file, '127.0.0.1', '--port', 'x'],
      'WEIR_BAD_ARGUMENT',
      /--port is a whole number from 1 to 65534, not "x"/,
    ],
  ]
  await Promise.all(
    sends.map(([args, code, message]) => t.rejects(send(...args), { code, message }, args.join(' '))),
  )

  const get = (...args: string[]) =>
    getCommand().parseAsync([...args, '--socket', socketPath], { from: 'user' })
  const gets: [string[], string, RegExp][] = [
    [['here'], 'WEIR_BAD_ARGUMENT', /"here" names no host: .*HOST:PATH/],
    [['./h1:a'], 'WEIR_BAD_ARGUMENT', /names no host/],
    [['127.0.0.1:'], 'WEIR_BAD_ARGUMENT', /names no file/],
    [['127.0.0.1:22'], 'WEIR_BAD_ARGUMENT', /no file: 127.0.0.1:22:PATH is expected, or 127.0.0.1:.\/22 for/],
    [[':a', folder], 'WEIR_BAD_ARGUMENT', /":a" is no host/],
    [['a', '127.0.0.1:b'], 'WEIR_BAD_ARGUMENT', /"a" is no host|names no file/],
    [['127.0.0.1:a', `${join(folder, 'missing')}/`], 'WEIR_NO_FILE', /missing: there is no such folder/],
    [['127.0.0.1:a', join(folder, 'missing', 'a')], 'WEIR_NO_FILE', /missing: there is no such folder/],
    [['127.0.0.1:a', `${file}/`], 'WEIR_NO_FILE', /it is no folder/],
    [['127.0.0.1:a/..', folder], 'WEIR_REJECTED', /"a\/\.\." cannot be a path in the share/],
    [['[::1]:a', folder], 'WEIR_BAD_ARGUMENT', /IPv6 address, this daemon has 127/],
  ]
  for (const [args, code, message] of gets) await t.rejects(get(...args), { code, message }, args.join(' '))

  // worker.test.ts has what a thread of its own refuses. Each would cost half a second.
  const serve = (...args: string[]) => daemonCommand().parseAsync([...args, '--no-worker'], { from: 'user' })
  const where = ['--address', loopbackAddress(), '--inbox', join(folder, 'i'), '--socket', `${socketPath}2`]
  const daemons: [string[], string, RegExp][] = [
    [['--line-rate', 'fast'], 'WEIR_BAD_ARGUMENT', /--line-rate: 'fast' is not understood: .*100Mbps/],
    [['--base-rtt', '5'], 'WEIR_BAD_ARGUMENT', /--base-rtt: '5' is not understood: its unit is missing/],
    [['--ack-timeout', 'x'], 'WEIR_BAD_ARGUMENT', /--ack-timeout: /],
    [['--chunk', '1XB'], 'WEIR_BAD_ARGUMENT', /--chunk: /],
    [['--port', '0'], 'WEIR_BAD_ARGUMENT', /--port is a whole number from 1 to 65534/],
    [
      ['--share', join(folder, 'missing')],
      'WEIR_NO_FILE',
      /cannot share .*missing: there is no such folder; name/,
    ],
    [['--share', file], 'WEIR_NO_FILE', /it is no folder; name/],
    [['--share', join(file, 'below')], 'WEIR_NO_FILE', /a part of its path is no directory/],
    [
      ['--inbox', file],
      'WEIR_NO_FILE',
      /for the inbox: there is something else of that name; choose .* --inbox/,
    ],
    [['--inbox', join(file, 'below')], 'WEIR_NO_FILE', /for the inbox: a part of its path is no directory/],
    [['--key-file', join(folder, 'missing')], 'WEIR_NO_FILE', /--key-file .*missing: there is no such file$/],
    [
      ['--key-file', privateFolder],
      'WEIR_BAD_ARGUMENT',
      /--key-file .* is no file: a secret is read from a file alone$/,
    ],
    [['--socket', file], 'WEIR_BAD_ARGUMENT', /is there and is no socket/],
    [
      ['--socket', join(file, 'below')],
      'WEIR_BAD_ARGUMENT',
      /for the control socket: .*; choose .* --socket/,
    ],
    [
      ['--io', 'raw', '--icrc', 'none'],
      'WEIR_BAD_ARGUMENT',
      /--icrc has no effect while io is raw, whose packets nothing else checks: .* set --io to batch or dgram/,
    ],
    [['--mtu', '1500'], 'WEIR_BAD_ARGUMENT', /--mtu is one of 256, 512/],
    [
      ['--no-host-hop', '--telemetry', 'hostHop=true'],
      'WEIR_BAD_ARGUMENT',
      /--no-host-hop and --telemetry hostHop=true contradict/,
    ],
    [
      ['--io', 'dgram', '--telemetry', 'hostHop=true'],
      'WEIR_BAD_ARGUMENT',
      /hostHop has no effect while --io is dgram, which does not tell.*set --io to batch/,
    ],
    [
      ['--io', 'raw', '--source-ports', '8'],
      'WEIR_BAD_ARGUMENT',
      /--source-ports has no effect while --io is raw: leave it out, or set --io to batch or dgram/,
    ],
    [
      ['--io', 'packet', '--source-ports', '8'],
      'WEIR_BAD_ARGUMENT',
      /--source-ports .* while --io is packet/,
    ],
    [['--io', 'batch', '--interface', 'lo'], 'WEIR_BAD_ARGUMENT', /--interface .* while --io is batch/],
    [['--interface', 'lo'], 'WEIR_BAD_ARGUMENT', /--interface .*set (--io|WEIR_IO) to packet/],
    [
      ['--io', 'dgram', '--priority', '3'],
      'WEIR_BAD_ARGUMENT',
      /--priority .* while --io is dgram.*set --io to batch, raw or packet/,
    ],
    [
      ['--io', 'dgram', '--dscp-of-priority', '0,8,16,24,32,40,48,57'],
      'WEIR_BAD_ARGUMENT',
      /--dscp-of-priority .* while --io is dgram/,
    ],
    [
      ['--io', 'raw', '--ifa-protocol', '131'],
      'WEIR_BAD_ARGUMENT',
      /--ifa-protocol .* while --io is raw.*set --io to packet/,
    ],
    [
      ['--ifa-protocol', '131'],
      'WEIR_BAD_ARGUMENT',
      /--ifa-protocol has no effect while (--io|WEIR_IO) is (batch|dgram|raw)/,
    ],
    [
      ['--io', 'batch', '--dscp-of-priority', '0,8,16'],
      'WEIR_BAD_ARGUMENT',
      /--dscp-of-priority is a list of 8 DSCPs, each 0 to 63, as in 0,8,16,.*, not "0,8,16"/,
    ],
    [
      ['--io', 'batch', '--dscp-of-priority', '0,8,16,24,32,40,48,64'],
      'WEIR_BAD_ARGUMENT',
      /a list of 8 DSCPs, each 0 to 63/,
    ],
    [['--int', 'wide'], 'WEIR_BAD_ARGUMENT', /--int is FORMAT:HOPS.*, not "wide"; formats: wide, compact, /],
    [
      ['--cc', 'fixed-window', '--cc-option', 'window=1e6'],
      'WEIR_BAD_ARGUMENT',
      /window: '1e6' .* without an exponent or 0x, as in 1000000;/,
    ],
    [['--cc-option', 'eta'], 'WEIR_BAD_ARGUMENT', /NAME=VALUE/],
    [['--cc-option', 'eta=2'], 'WEIR_BAD_ARGUMENT', /eta is a number from 0\.1 to 1, not 2/],
    [['--cc-option', 'zeta=1'], 'WEIR_BAD_ARGUMENT', /zeta/],
    [['--chunk', '1B'], 'WEIR_BAD_ARGUMENT', /--chunk is a size from 4KiB to 1600KiB, not "1B"/],
    [['--chunk', '2MiB'], 'WEIR_BAD_ARGUMENT', /--chunk is a size from 4KiB to 1600KiB/],
    [['--line-rate', '2Tbps'], 'WEIR_BAD_ARGUMENT', /--line-rate is a rate from 1Kbps to 1Tbps, not "2Tbps"/],
    [['--ack-timeout', '3h'], 'WEIR_BAD_ARGUMENT', /--ack-timeout is a time from 0 to 2h, not "3h"/],
    [['--base-rtt', '0'], 'WEIR_BAD_ARGUMENT', /--base-rtt is a time from 1ns to 1min, not "0"/],
    [['--port', '1e3'], 'WEIR_BAD_ARGUMENT', /--port is .*, not "1e3": write it in decimal digits, as 1000$/],
    [['--cc', 'bbr'], 'WEIR_BAD_ARGUMENT', /--cc is one of hpcc, .*, not "bbr"/],
    [['--log-level', 'loud'], 'WEIR_BAD_ARGUMENT', /--log-level is one of fatal, /],
    [
      ['--ifa-protocol', '17'],
      'WEIR_BAD_ARGUMENT',
      /--ifa-protocol is a whole number from 0 to 255, except 0, 1, 6, 17 and 58, not 17/,
    ],
    [['--overlay', 'vni=1'], 'WEIR_BAD_ARGUMENT', /ADDRESS:PORT/],
    [['--address', '192.0.2.1'], 'WEIR_BAD_ARGUMENT', /192\.0\.2\.1/],
    [['--socket', socketPath], 'WEIR_BAD_STATE', /serves .* already/],
  ]
  for (const [args, code, message] of daemons) {
    await t.rejects(serve(...where, ...args), { code, message }, args.join(' '))
  }
  const client = await connectDaemon(socketPath)
  t.match(await client.status(), { transfers: 0 }, 'the daemon that was there is unharmed')
  client.close()
})
