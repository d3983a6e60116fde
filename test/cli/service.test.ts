/** The daemon as a service: what it tells systemd, its unit, its socket for a group, its config file, and `--watch`. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { weirProgram } from '../../lib/package-file.js'
import { INJECTOR, noThread } from '../daemon/defects.js'
import { without as withoutPackages } from '../support/absent.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, Run, scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'
import { NotifySocket } from '../support/notify-socket.js'
import { without } from '../support/tools.js'

const lines = new CommandLines(t)
const noCalls = libcFault() ?? false

t.test('a service manager hears that the daemon is ready, and that it stops', { skip: noCalls }, async t => {
  const folder = await scratch(t)
  for (const name of [join(folder, 'n'), `@weir-svc-${process.pid}`]) {
    const manager = new NotifySocket(t, name)
    const daemon = await DaemonProcess.startWith(t, { NOTIFY_SOCKET: name })
    await daemon.until(() => manager.count('READY=1') === 1, 'READY=1')
    t.match(
      manager.lines.find(line => line.startsWith('STATUS=')),
      daemon.address,
    )
    t.notOk(manager.lines.includes('WATCHDOG=1'), 'there is no watchdog')
    daemon.child.kill('SIGTERM')
    t.equal((await daemon.ended).code, 0)
    t.equal(manager.count('STOPPING=1'), 1, name)
  }
})

t.test('the watchdog is fed while the thread of the NIC answers', { skip: noCalls || noThread }, async t => {
  const folder = await scratch(t)
  const manager = new NotifySocket(t, join(folder, 'n'))
  const trigger = join(folder, 'now')
  const daemon = await DaemonProcess.startWith(t, {
    NOTIFY_SOCKET: join(folder, 'n'),
    WATCHDOG_USEC: '100000',
    NODE_OPTIONS: `--import=${INJECTOR}`,
    WEIR_TEST_DEFECT: 'hang',
    WEIR_TEST_TRIGGER: trigger,
  })
  await daemon.until(() => manager.count('WATCHDOG=1') >= 3, 'three times')
  writeFileSync(trigger, '')
  await daemon.until(() => existsSync(`${trigger}.hangs`), 'its thread hung')
  await daemon.until(() => daemon.stderr.includes('is not fed'), 'it noticed')
  // What was asked before the thread hung has been answered: nothing more is heard from here on.
  const fed = manager.count('WATCHDOG=1')
  const warned = () => daemon.stderr.split('is not fed').length
  const before = warned()
  await daemon.until(() => warned() > before, 'it noticed again')
  t.equal(manager.count('WATCHDOG=1'), fed)
  daemon.child.kill('SIGKILL')
})

t.test("another process's watchdog is not ours", { skip: noCalls }, async t => {
  const name = join(await scratch(t), 'n')
  const manager = new NotifySocket(t, name)
  const env = { NOTIFY_SOCKET: name, WATCHDOG_USEC: '20000', WATCHDOG_PID: '1' }
  const daemon = await DaemonProcess.startWith(t, env)
  await daemon.until(() => manager.count('READY=1') === 1, 'READY=1')
  const client = await connectDaemon(daemon.socket)
  // Each answer takes several of its intervals, if it had any.
  for (let i = 0; i < 20; i++) await client.status()
  client.close()
  t.equal(manager.count('WATCHDOG=1'), 0)
})

t.test('without koffi the program systemd-notify tells it', async t => {
  const folder = await scratch(t)
  const said = join(folder, 'said')
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(
    join(bin, 'systemd-notify'),
    `#!${process.execPath}\nrequire('fs').appendFileSync(${JSON.stringify(said)}, [process.env.NOTIFY_SOCKET, ...process.argv.slice(2)].join('|') + '\\n')\n`,
  )
  chmodSync(join(bin, 'systemd-notify'), 0o755)
  const daemon = await DaemonProcess.startWith(t, {
    ...withoutPackages(['koffi'], folder),
    PATH: `${bin}:${process.env.PATH}`,
    NOTIFY_SOCKET: '/nowhere/s',
    WEIR_IO: 'dgram',
  })
  await daemon.until(() => existsSync(said) && readFileSync(said, 'utf8').endsWith('\n'), 'it was told')
  t.match(readFileSync(said, 'utf8'), /^\/nowhere\/s\|READY=1\|STATUS=serves /)
})

t.test('the unit is one that systemd takes', { skip: without('systemd-analyze') }, async t => {
  const folder = await scratch(t)
  for (const [name, words] of [
    ['weir.service', []],
    ['weir-group.service', ['--group', 'adm']],
    ['weir-user.service', ['--user']],
  ] as const) {
    const { stdout, code } = await lines.run(['service', 'print', ...words])
    t.equal(code, 0)
    const unit = join(folder, name)
    writeFileSync(unit, stdout)
    const user = name === 'weir-user.service' ? ['--user'] : []
    // Manual pages that are named are looked for: none is that is not installed here.
    const args = ['verify', ...user, unit]
    // That of a user asks for the user's folder.
    const env = { ...process.env, XDG_RUNTIME_DIR: folder }
    const run = () => execFileSync('systemd-analyze', args, { stdio: 'pipe', env })
    t.equal(run().toString(), '', name)
    t.match(stdout, `${process.execPath} ${weirProgram()} daemon`)
    t.match(stdout, /^Documentation=(man:weir-daemon\(1\) )?file:\/\/\S+\/docs\/service\.md$/m)
  }
  writeFileSync(join(folder, 'wrong.service'), '[Service]\nType=notify\nExecStart=/nowhere/weir\n')
  t.throws(() =>
    execFileSync('systemd-analyze', ['verify', join(folder, 'wrong.service')], { stdio: 'pipe' }),
  )
})

t.test('a socket for a group', async t => {
  const gid = process.getgid!()
  const daemon = await DaemonProcess.start(t, ['--group', String(gid)])
    .then(() => null)
    .catch((error: Error) => error)
  t.match(
    daemon?.message,
    /cannot enter its folder .*chgrp .*WEIR_BAD_ARGUMENT/s,
    'the folder is closed to it',
  )
  const folder = join(await scratch(t), 'made')
  const socket = join(folder, 's')
  const words = ['daemon', '--address', loopbackAddress(), '--inbox', `${folder}-inbox`, '--socket', socket]
  const run = new Run(t, [...words, '--group', String(gid)])
  await run.until(() => run.stderr.includes('"ready"'), 'it was ready')
  t.equal(statSync(socket).mode & 0o777, 0o660)
  t.equal(statSync(socket).gid, gid)
  t.equal(statSync(folder).mode & 0o777, 0o710)
  run.child.kill('SIGTERM')
  await run.ended
  const none = await lines.run([...words, '--group', 'weir-no-such-group'])
  t.match(none.stderr, /--group weir-no-such-group: this system has no such group.*WEIR_BAD_ARGUMENT/)
})

t.test('what makes no sense is refused by the names that were typed', async t => {
  const folder = await scratch(t)
  const open = join(folder, 'open')
  writeFileSync(open, 'a secret of many bytes', { mode: 0o644 })
  const places = ['--no-config', '--socket', join(folder, 's'), '--inbox', join(folder, 'in')]
  const cases: [string[], RegExp][] = [
    [['--keep-alive', '500ms'], /--keep-alive is 0, or at least 1s, not 500ms/],
    [['--untagged-cnps', '0.5'], /--untagged-cnps has no effect without --key-file/],
    [
      ['--identity', join(folder, 'none')],
      /--identity \S+none: .*make a key with weir key new \(WEIR_NO_FILE\)/,
    ],
    [['--identity', open], /--identity \S+open: others may use it/],
    [['--paths', 'count=4', '--source-ports', '2'], /set --source-ports to 4 at least, or count to 2/],
    [['--port', 'abc', '--print-config'], /--port is a whole number/],
    [['--cc-option', 'nosuch=1', '--print-config'], /auto has no option nosuch/],
  ]
  for (const [words, message] of cases) {
    const { code, stdout, stderr } = await lines.run(['daemon', ...places, ...words])
    t.match([code, stdout, stderr], [1, '', message], words.join(' '))
  }
})

t.test('settings of a config file: the command line and the environment have precedence', async t => {
  const folder = await scratch(t)
  const file = join(folder, 'weir.yaml')
  const address = loopbackAddress()
  writeFileSync(
    file,
    `# A comment
address: ${address}
socket: ${folder}/s
inbox: ${folder}/inbox
io: dgram
line-rate: 2Gbps
connections: 77
cc: hpcc
cc-option: {eta: 0.9, maxStage: 3}
allow-tunnel: ['db:5432', localhost:22]
perf: false
worker: false
`,
  )
  const words = ['daemon', '--config', file]
  const env = { WEIR_IO: 'raw' }
  const print = new Run(t, [...words, '--line-rate', '3Gbps', '--print-config'], undefined, [], env)
  const { stdout } = await print.ended
  for (const line of [
    `address: "${address}"  # ${file}:2:10`,
    'line-rate: "3Gbps"  # command line',
    'io: "raw"  # environment: WEIR_IO',
    'cc-option: ["eta=0.9","maxStage=3"]',
    'perf: false  # ',
    'keep-alive: "20s"  # default',
  ])
    t.ok(stdout.includes(line), `${line}\n${stdout}`)
  // What is printed is a config file.
  writeFileSync(join(folder, 'again.yaml'), stdout)
  const again = new Run(t, ['daemon', '--config', join(folder, 'again.yaml'), '--print-config'])
  t.equal(
    (await again.ended).stdout.replace(/ {2}#.*/g, ''),
    stdout.replace(/ {2}#.*/g, ''),
    (await again.ended).stderr,
  )
  const run = new Run(t, words)
  await run.until(() => run.stderr.includes('"ready"'), 'it was ready')
  const client = await connectDaemon(join(folder, 's'))
  const status = await client.status()
  t.match(status, { address, io: 'dgram', lineRateBps: 2e9, congestionControl: 'hpcc' })
  t.same(status.allowTunnel, ['db:5432', 'localhost:22'])
  await client.stop()
  client.close()
  t.equal((await run.ended).code, 0)
})

t.test('keys in a config file: paths are printed, no secrets, and the user has a file too', async t => {
  const folder = await scratch(t)
  const [key, peers, secret] = ['key', 'known', 'secret'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const made = await lines.run(['key', 'new', '--if-missing', key])
  t.match(made.stdout, /^x25519:\S{43}\n$/)
  const hidden = readFileSync(key, 'utf8').split('private-x25519:')[1]!.trim()
  t.same(await lines.run(['key', 'new', '--if-missing', key]), made, 'it stays')
  t.match((await lines.run(['key', 'new', key])).stderr, /WEIR_FILE_EXISTS/)
  writeFileSync(secret, 'a secret of many bytes', { mode: 0o600 })
  mkdirSync(join(folder, 'weir'))
  const address = loopbackAddress()
  const keys = `identity: ${key}\npeers: ${peers}\naccept-new: true\nkey-file: ${secret}\nallow-clear: [127.0.0.7, 127.1.0.0/16]\n`
  const file = join(folder, 'weir', 'daemon.yaml')
  writeFileSync(file, `address: ${address}\nsocket: ${folder}/s\ninbox: ${folder}/in\n${keys}`)
  const env = { XDG_CONFIG_HOME: folder }
  const print = await new Run(t, ['daemon', '--config', file, '--print-config'], undefined, [], env).ended
  for (const line of [
    `identity: "${key}"  # ${file}:4:11`,
    `peers: "${peers}"`,
    'accept-new: true',
    `key-file: "${secret}"`,
    'allow-clear: ["127.0.0.7","127.1.0.0/16"]',
  ])
    t.ok(print.stdout.includes(line), `${line}\n${print.stdout}`)
  // The user's own file is the usual one.
  const run = new Run(t, ['daemon'], undefined, [], env)
  await run.until(() => run.stderr.includes('"ready"'), 'it was ready')
  t.match(run.stderr, `"config":"${file}"`)
  const client = await connectDaemon(join(folder, 's'))
  t.match(await client.status(), { sealsBy: 'key and secret', publicKey: made.stdout.trim() })
  await client.stop()
  client.close()
  await run.ended
  for (const text of [print.stdout, run.stderr])
    t.notOk(text.includes(hidden) || text.includes('a secret of'), 'no secrets')
  writeFileSync(file, 'address: 198.51.100.1\n')
  const bare = await new Run(t, ['daemon', '--config', file, '--socket', `${folder}/s`]).ended
  t.match(bare.stderr, /--address 198\.51\.100\.1: other hosts may reach it.*weir key new.*WEIR_BAD_ARGUMENT/)
})

t.test('what is wrong in a config file: its place, and the nearest name', async t => {
  const folder = await scratch(t)
  const file = join(folder, 'weir.yaml')
  const said = async (text: string, more: string[] = []) => {
    writeFileSync(file, text)
    const { stderr, code } = await lines.run(['daemon', '--config', file, '--socket', `${folder}/s`, ...more])
    t.equal(code, 1)
    return stderr
  }
  const names = await said('adress: 127.0.0.9\nperf: maybe\nline-rate: fast\nconnections: 0\nsocket: [a]\n')
  for (const words of [
    `${file}:1:1: unknown key 'adress'`,
    "did you mean 'address'?",
    `${file}:2:7: is true or false`,
    `${file}:3:12: line-rate`,
    `${file}:4:14: connections`,
    `${file}:5:9: is one value`,
    'WEIR_BAD_ARGUMENT',
  ])
    t.ok(names.includes(words), `${words}\n${names}`)
  t.match(await said('a: [\n'), `${file}:`)
  t.match(await said('- a\n'), `${file}:1:1: the file is a mapping`)
  t.match(await said('address: 1\naddress: 2\n'), `${file}:2`)
  t.match(await said('io: dgram\npriority: 3\n'), `${file}:2:11: priority`, 'no effect beside another option')
  t.match(await said('cc-option: {eta: 7}\n'), `settings come from ${file} too`)
  const missing = await lines.run(['daemon', '--config', join(folder, 'none.yaml')])
  t.match(missing.stderr, /--config .*none\.yaml: .*WEIR_NO_FILE/)
})

t.test('status and transfers that go on: in a pipe a block whenever something has changed', async t => {
  const daemon = await DaemonProcess.start(t)
  const words = ['--watch', '--socket', daemon.socket]
  const status = new Run(t, ['status', ...words])
  const transfers = new Run(t, ['transfers', ...words])
  const json = new Run(t, ['status', '--json', ...words])
  await json.until(() => json.stdout.split('\n').length > 3, 'three lines')
  for (const line of json.stdout.trim().split('\n')) t.match(JSON.parse(line), { address: daemon.address })
  await status.until(() => status.stdout !== '', 'a block')
  await transfers.until(() => transfers.stdout !== '', 'a block')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const run = signal === 'SIGINT' ? status : transfers
    run.child.kill(signal)
    const { code, stdout } = await run.ended
    t.equal(code, signal === 'SIGINT' ? 130 : 143)
    t.equal(stdout.match(signal === 'SIGINT' ? /^daemon /gm : /no transfers/g)?.length, 1, 'nothing changed')
    t.notMatch(stdout, '\u001b', 'no control sequences')
  }
  json.child.kill('SIGKILL')
})
