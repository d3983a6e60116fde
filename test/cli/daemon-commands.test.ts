/** The commands that ask a running daemon: `weir status`, `transfers`, `cancel` and `stop`. */
import { createSocket } from 'node:dgram'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { findTransfers } from '../../bin/commands/cancel.js'
import { dropWords } from '../../bin/commands/drop-words.js'
import { statusText } from '../../bin/commands/status-display.js'
import { uptime } from '../../bin/commands/status-parts.js'
import { transfersText } from '../../bin/commands/transfers-display.js'
import { connectDaemon, type StatusReply, type TransferInfo } from '../../lib/client/daemon-client.js'
import { widthOf } from '../../lib/text-width.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, Run, scratch, send, untilIdle, untilMoved } from '../support/daemon-process.js'
import { undocumented } from '../support/documented.js'
import type { CommandEnd } from '../support/end-mark.js'

const COLUMNS = 80
/** Too many for the test to see their end, at a rate that leaves CPU time to other tests. */
const MANY_BYTES = 20e9
const SLOW = ['--line-rate', '20Mbps', '--mtu', '4096']

const lines = new CommandLines(t)

async function weir(daemon: DaemonProcess, ...words: string[]): Promise<CommandEnd> {
  return await lines.run([...words, '--socket', daemon.socket])
}

/** Two daemons, between which the tests that come first let a file go slowly, one after the other. */
const both = Promise.all([DaemonProcess.start(t, SLOW), DaemonProcess.start(t, SLOW)])
const file = join(await scratch(t), `a file ${'with a long name '.repeat(4)}`)

async function slowSend(): Promise<{ from: DaemonProcess; to: DaemonProcess; run: Run }> {
  const [from, to] = await both
  await writeFile(file, '')
  await truncate(file, MANY_BYTES)
  const run = send(t, from, [file, to.address])
  await untilMoved(run, from, 'send', 1)
  return { from, to, run }
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map(line => [...line].length))
}

t.test('as JSON, once and again until a signal', async t => {
  const { from, to, run } = await slowSend()
  const clients = await Promise.all([from, to].map(({ socket }) => connectDaemon(socket)))
  t.teardown(() => clients.map(client => client.close()))
  const receiver = await clients[1]!.status()
  t.match(receiver.connections, [{ peer: from.address, active: false, state: 'established' }])
  t.ok(receiver.connections[0]!.receivedBytes > 0)
  const sender = JSON.parse((await weir(from, 'status', '--json')).stdout) as StatusReply
  t.match(sender.connections, [{ peer: to.address, active: true, congestionControl: 'cubic' }])
  t.ok(sender.connections[0]!.sentBytes > 0)
  for (const fields of [sender, sender.connections[0]!]) t.same(undocumented('transfers.md', fields), [])
  const watch = new Run(t, ['transfers', '--watch', '--json', '--socket', from.socket])
  await watch.until(() => watch.stdout.split('\n').length > 2, 'two lines')
  watch.child.kill('SIGINT')
  const { code, stdout, stderr } = await watch.ended
  t.equal(code, 130, stderr)
  t.equal(stderr, '')
  const listed = { transferId: 'send-1', direction: 'send', progress: { totalBytes: MANY_BYTES } }
  for (const line of stdout.trim().split('\n')) {
    const { transfers } = JSON.parse(line)
    t.match(transfers, [listed])
    for (const fields of [transfers[0], transfers[0].progress])
      t.same(undocumented('transfers.md', fields), [])
  }
  await clients[0]!.cancel('send-1')
  t.match((await run.ended).stderr, /WEIR_CANCELLED/)
  await untilIdle(to)
})

t.test('status, transfers and cancel of a transfer that runs', async t => {
  const { from, to, run } = await slowSend()
  const status = await weir(from, 'status')
  t.equal(status.code, 0, status.stderr)
  t.match(status.stdout, new RegExp(`^address +${from.address}, UDP ports 4791 .* 4792 `, 'm'))
  t.match(status.stdout, new RegExp(`^cubic .* ${to.address}$`, 'm'), 'the connection, with its controller')
  t.match(status.stdout, /^cubic: no switch on the path has written telemetry/m, 'and why it is that one')
  t.ok(widest(status.stdout) <= COLUMNS, status.stdout)
  const lists = await weir(to, 'transfers')
  t.match(lists.stdout, new RegExp(`^receive-2 .* from ${from.address}$`, 'm'))
  t.ok(widest(lists.stdout) <= COLUMNS, lists.stdout)

  const cancelled = await weir(from, 'cancel', 'nothing', 'se')
  t.equal(cancelled.code, 1)
  t.match(cancelled.stdout, /^cancelled send-2: a file .* to /, 'what there is, by the beginning of its id')
  t.match(cancelled.stderr, /there is no transfer "nothing".*\(WEIR_NO_TRANSFER\)/)
  t.match((await run.ended).stderr, /cancelled \(WEIR_CANCELLED\)/)
  await untilIdle(to)
})

t.test('stop ends the daemon and waits for that', async t => {
  const { from, run } = await slowSend()
  const ended = await weir(from, 'stop')
  t.equal(ended.code, 0, ended.stderr)
  t.match(ended.stdout, new RegExp(`pid ${from.child.pid}\\) has stopped; it interrupted 1 `))
  t.equal(from.child.exitCode, 0, 'the process is gone')
  t.notOk(from.served)
  t.match((await run.ended).stderr, /WEIR_/)
  const again = await weir(from, 'stop')
  t.match(again, { code: 1, stderr: /no daemon answers/ })
  // Its ports and its socket are free.
  await DaemonProcess.start(t, [], from)
})

t.test('what is dropped is seen', async t => {
  const daemon = await DaemonProcess.start(t)
  const before = await weir(daemon, 'status')
  t.match(before.stdout, /^nothing was dropped$/m)
  const socket = createSocket('udp4')
  t.teardown(() => socket.close())
  await new Promise(resolve => socket.send('no RoCEv2', 4791, daemon.address, resolve))
  const client = await connectDaemon(daemon.socket)
  t.teardown(() => client.close())
  while ((await client.status()).drops['nic.malformed'] === 0)
    await new Promise(resolve => setTimeout(resolve, 10))
  t.match((await weir(daemon, 'status')).stdout, /^nic\.malformed +1 +no sound RoCEv2 packet$/m)
  for (const reason of Object.keys((await client.status()).drops)) {
    t.ok(dropWords(reason) !== '' && dropWords(reason).length <= 50, `${reason} has words`)
  }
})

t.test('tables keep within their columns, whatever they hold', async t => {
  const long = '2001:db8:1111:2222:3333:4444:5555:6666'
  const connection = {
    id: 1,
    peer: long,
    state: 'connecting',
    active: true,
    congestionControl: 'hpcc',
    controllerReason: 'as configured',
    feedbackRefused: ['telemetry', 'windows by rx-hpcc'],
    rateBps: 12.34e9,
    windowBytes: Number.POSITIVE_INFINITY,
    retransmittedBytes: 123_456_789,
    inFlightBytes: 123_456_789,
    baseRttNs: 1_234_567,
    rttNs: 1_234_567,
  }
  const status = {
    address: long,
    connections: [connection, { ...connection, windowBytes: 999_900_000 }],
    connectionCount: 300,
    drops: Object.fromEntries([['port.kernelFull', 2 ** 50]]),
    tunnels: [
      {
        direction: 'out',
        peer: long,
        target: `[${long}]:65535`,
        client: `[${long}]:65535`,
        seconds: 1e6,
        sentBytes: 123_456_789,
        receivedBytes: 1,
      },
    ],
    tunnelCount: 7,
    allowTunnel: [`[${long}]:65535`, '10.0.0.0/8:*'],
    inof: { peers: [long], linkFailures: 123_456, moves: 123_456 },
  } as unknown as StatusReply
  const text = statusText({ ...status, inbox: '', share: '' }, COLUMNS)
  t.match(text, '298 more connections')
  t.ok(widest(text) <= COLUMNS, text)
  t.match(text, ` ${long}\n`, 'the whole peer')
  const refusals = text
    .replaceAll(/\s+/g, ' ')
    .split('does not give telemetry, windows by rx-hpcc: hpcc goes on without')
  t.equal(refusals.length, 2, 'once for all connections alike')
  t.match(text, /^hpcc: as configured \(2 connections\)$/m, 'which controller is in force, and why')
  const many = { ...status, inbox: '', share: '', connectionCount: 60 }
  many.connections = Array(60).fill(status.connections[0]!)
  const linesFor = (rows: number) => statusText(many, 200, rows).trimEnd().split('\n').length
  const all = linesFor(Number.POSITIVE_INFINITY)
  t.equal(linesFor(all), all)
  t.equal(linesFor(all - 20), all - 20, 'as many connections as there are rows for')
  const narrow = statusText({ ...status, inbox: '', share: '' }, 60)
  t.ok(widest(narrow) <= 60, narrow)
  t.match(narrow, long)
  const progress = {
    bytes: 1,
    totalBytes: 3,
    goodputBps: 1e9,
    state: 'connecting',
    retry: 999,
    retries: 1000,
  }
  const transfer = {
    transferId: 'receive-1234',
    direction: 'receive',
    name: 'ü'.repeat(200),
    peer: long,
    progress,
  }
  t.ok(widest(transfersText([transfer as unknown as TransferInfo], 100)) <= 100)
  const list = transfersText([{ ...transfer, peer: '10.0.0.7' } as unknown as TransferInfo], 40)
  t.ok(widest(list) <= 40, list)
  t.match(list, /from 10\.0\.0\.7$/m, 'below the other columns where it does not fit beside them')
  t.equal(transfersText([]), 'no transfers\n')
})

t.test('transfers: what is left out is counted, and nothing is said of nothing', async t => {
  const progress = { bytes: 1, totalBytes: 3, goodputBps: 1e9, state: 'streaming', retry: 0, retries: 0 }
  const one = { transferId: 'send-1', direction: 'send', name: 'a', peer: '10.0.0.7', progress }
  const list = (count: number, rows: number) =>
    transfersText(Array<unknown>(count).fill(one) as TransferInfo[], 120, rows)
  t.notMatch(list(1, 1), '…')
  t.match(list(2, 3), /^… 1 more transfer$/m)
  t.match(list(3, 3), /^… 2 more transfers$/m)
})

t.test('transfers: as many as a terminal has rows for, and names of two columns a character', async t => {
  const progress = { bytes: 1, totalBytes: 3, goodputBps: 1e9, state: 'streaming', retry: 0, retries: 0 }
  const names = ['文件'.repeat(50), '✅🎉'.repeat(40), 'e\u0301'.repeat(90), 'a\u001b[31m\nb', 'plain.bin']
  const transfers = Array.from({ length: 200 }, (_, i) => ({
    transferId: `send-${i}`,
    direction: 'send',
    name: names[i % names.length]!,
    peer: '10.0.0.7',
    progress,
  })) as unknown as TransferInfo[]
  for (const columns of [40, 60, 80, 120])
    for (const rows of [10, 23, 49]) {
      const lines = transfersText(transfers, columns, rows).trimEnd().split('\n')
      const wide = lines.filter(line => widthOf(line) > columns)
      t.same(wide, [], `${columns} columns`)
      t.ok(lines.length <= rows && lines.length > rows - 4, `${lines.length} lines for ${rows}`)
      t.match(lines.at(-1), /^… 1\d\d more transfers$/)
      t.equal(lines.filter(line => /^send-0 /.test(line)).length, columns < 60 ? 2 : 1, 'in each band')
      const at = lines.find(line => line.includes('  file'))!.indexOf('file')
      const shown = lines.filter(line => / to 10\.0\.0\.7$/.test(line))
      t.ok(
        shown.length > 0 && shown.every(line => /^ \S$/.test(line.slice(at - 1, at + 1))),
        'one below the other',
      )
    }
  const few = transfersText(transfers.slice(0, 5), 120, 7)
  t.equal(few, transfersText(transfers.slice(0, 5), 120), 'all, if they have room')
})

t.test('status says what packets carry, and why', async t => {
  const status = {
    ...{
      address: '10.0.0.1',
      inbox: '',
      share: '',
      io: 'batch',
      drops: {},
      connections: [],
      connectionCount: 0,
    },
    ...{ congestionControl: 'auto', lineRateBps: 10e9, mtu: 1500, pathMtu: 1024, filledPayload: 1308 },
    icrc: 'always',
    tunnels: [],
    tunnelCount: 0,
    allowTunnel: [],
    sealsBy: '',
    publicKey: '',
    sealedConnections: 0,
    refusedHandshakes: 0,
    perftestPort: 0,
    inof: null,
  } as unknown as StatusReply
  const said = (more: object) => statusText({ ...status, ...more }, 200)
  t.match(said({}), 'batch, MTU 1500: packets of 1308 bytes, 1024 to others than Weir hosts, controller auto')
  t.match(said({ filledPayload: 0 }), 'batch, MTU 1500: packets of 1024 bytes, controller auto')
  t.notMatch(said({}), 'inof')
  t.match(
    said({ inof: { peers: ['10.0.0.2'], linkFailures: 2, moves: 1 } }),
    /^inof +1 peers known; since the start 2 notices of failed links, 1 flows moved$/m,
  )
  t.match(said({ icrc: 'none' }), 'without ICRC to Weir hosts that agree, controller')
  const connection = {
    peer: '10.0.0.2',
    state: 'established',
    feedbackRefused: [],
    congestionControl: 'cubic',
  }
  const two = [true, false].map((withoutIcrc, i) => ({ ...connection, peer: `10.0.0.${i + 2}`, withoutIcrc }))
  const text = said({ connections: two, connectionCount: 2 })
  t.match(text, /^10\.0\.0\.2: packets have no ICRC, as both hosts say$/m)
  t.notMatch(text, /^10\.0\.0\.3: packets/m)
})

t.test('small things', async t => {
  const transfers = ['send-1', 'send-12', 'get-1'].map(transferId => ({ transferId }) as TransferInfo)
  const found = (id: string) => findTransfers(id, transfers).map(({ transferId }) => transferId)
  t.same(found('send-1'), ['send-1'], 'the whole id goes before the beginning of another')
  t.same(found('send'), ['send-1', 'send-12'])
  t.same(found('g'), ['get-1'])
  t.same([0.5, 61, 3600, 93_784].map(uptime), ['0s', '1min 1s', '1h', '1d 2h'])
})
