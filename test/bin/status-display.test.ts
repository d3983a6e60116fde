/** `weir status` in windows that have no room for all of it: what changes comes first. */
import t from 'tap'
import { statusText } from '../../bin/commands/status-display.js'
import type { ConnectionInfo, StatusReply } from '../../lib/client/daemon-client.js'
import { widthOf } from '../../lib/text-width.js'

const CONNECTION = {
  peer: '10.0.0.7',
  port: 4791,
  state: 'established',
  congestionControl: 'cubic',
  controllerReason: 'no switch on the path has written telemetry',
  feedbackRefused: [],
  rateBps: 1.23e9,
  windowBytes: 123_456,
  retransmittedBytes: 0,
  baseRttNs: 100_000,
  rttNs: 1_234_567,
  pathMoves: 0,
  withoutIcrc: false,
} as unknown as ConnectionInfo

const TUNNEL = {
  direction: 'out',
  peer: '10.0.0.7',
  target: '10.0.0.9:8080',
  client: '127.0.0.1:50000',
  seconds: 65,
  sentBytes: 1e6,
  receivedBytes: 0,
}

function statusOf(connections: number, tunnels: number, more: Partial<StatusReply> = {}): StatusReply {
  return {
    ...{ version: '0.1.0', pid: 7, address: '10.0.0.1', port: 4791, intPort: 4792, io: 'batch', mtu: 1500 },
    ...{ inbox: '/srv/inbox', share: '', congestionControl: 'auto', lineRateBps: 10e9, pathMtu: 1024 },
    ...{ filledPayload: 1308, icrc: 'always', uptimeSeconds: 75, residentBytes: 95e6, transfers: 2 },
    ...{ sentBytes: 5e9, receivedBytes: 0, damagedChunks: 0, drops: {}, sealsBy: '', perftestPort: 0 },
    ...{ allowTunnel: [], inof: null },
    connections: Array.from({ length: connections }, (_, i) => ({ ...CONNECTION, peer: `10.0.0.${i + 2}` })),
    connectionCount: connections,
    tunnels: Array<unknown>(tunnels).fill(TUNNEL),
    tunnelCount: tunnels,
    ...more,
  } as unknown as StatusReply
}

const WINDOWS = [
  [59, 15],
  [79, 23],
  [159, 49],
] as const

const linesIn = (text: string) => text.trimEnd().split('\n')

t.test('as many connections as there are rows, below two lines of the daemon', async t => {
  for (const [columns, rows] of WINDOWS) {
    const lines = linesIn(statusText(statusOf(60, 0), columns, rows))
    t.equal(lines.length, rows)
    t.same(
      lines.filter(line => widthOf(line) > columns),
      [],
    )
    t.match(lines[0], 'weir 0.1.0 at 10.0.0.1, up 1min 15s, 95MB in memory')
    t.equal(lines[1], '2 transfers under way; since the start 5GB sent')
    t.match(lines[2], columns === 59 ? /^control .*rate +peer$/ : /^control +RTT +base +window +rate +peer$/)
    t.equal(lines.filter(line => line.startsWith('cubic  ')).length, rows - 5)
    t.match(lines[4], /10\.0\.0\.2$/)
    t.equal(lines.at(-1), `and ${60 - (rows - 5)} more connections`)
  }
})

t.test('what was retransmitted and dropped is shown once there is some', async t => {
  const [columns, rows] = WINDOWS[0]
  const status = statusOf(20, 0, { drops: { 'nic.malformed': 3, 'nic.badIcrc': 0 } })
  status.connections[0]!.retransmittedBytes = 5e6
  const lines = linesIn(statusText(status, columns, rows))
  t.equal(lines.length, rows)
  t.match(lines[2], 'retrans')
  t.equal(lines.at(-1), 'dropped or ignored: nic.malformed 3')
})

t.test('TCP connections have half of the rows, or what is left', async t => {
  const [columns, rows] = WINDOWS[1]
  const countIn = (lines: string[], word: string) => lines.filter(line => line.startsWith(word)).length
  const both = linesIn(statusText(statusOf(60, 60), columns, rows))
  t.equal(both.length, rows)
  t.ok(countIn(both, 'cubic  ') >= 6 && countIn(both, 'out  ') >= 6, both.join('\n'))
  const few = linesIn(statusText(statusOf(2, 60), columns, rows))
  t.equal(countIn(few, 'cubic  '), 2)
  t.equal(countIn(few, 'out  '), rows - 2 - 4 - 3)
})

t.test(
  'what the daemon is comes last, as far as there is room; with room for all it comes first',
  async t => {
    const [columns, rows] = WINDOWS[0]
    const lines = linesIn(statusText(statusOf(1, 0), columns, rows))
    t.ok(lines.length <= rows)
    t.match(lines[2], /^control/)
    t.match(lines[5], /^cubic: no switch/, 'why this controller')
    t.equal(lines.filter(line => /^(daemon|transfers) /.test(line)).length, 0, 'said above')
    t.ok(lines.some(line => line.startsWith('address ')))
    t.match(statusText(statusOf(1, 0), columns), /^daemon /)
    t.match(statusText(statusOf(1, 0), 159, 49), /^daemon /)
    const idle = linesIn(statusText(statusOf(0, 0, { transfers: 0, sentBytes: 0 }), columns, 5))
    t.same(idle.slice(1, 3), ['no transfers under way', 'no connections'])
    for (let few = 1; few < 6; few++) t.ok(linesIn(statusText(statusOf(9, 9), columns, few)).length <= 6)
  },
)
