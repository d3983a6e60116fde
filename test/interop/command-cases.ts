/** The command `weir` against the programs of perftest, and rping: each listens once, and connects once. */
import type { Case, Conditions } from './case.js'
import { type Family, GUEST, type Guests, HERE, type Ran } from './guests.js'

const LIMIT_SECONDS = 90
/** A message may be lost, and the guest's timer is of 2 to 4 s. */
const LOSSY_SECONDS = 150
/** perftest's defaults but for the number of messages: the guests are emulated. */
const TIMES = 100
const DEFAULT_TIMES: Readonly<Record<string, number>> = { ib_write_bw: 5000 }
const PINGS = 10
const PINGS_BY: readonly (readonly [io: string, family: Family])[] = [
  ['batch', 4],
  ['batch', 6],
  ['packet', 4],
  ['packet', 6],
  ['raw', 4],
]

/**
 * A program of perftest under conditions. `-x 1` names the guest's IPv4 address among its GIDs. perftest 4.5 of Debian 12 finds no IPv6
 * address by name (it resolves IPv4 alone), so none is tried.
 */
interface Tool {
  op: string
  test: string
  io: string
  byManager: boolean
  qps: number
  bidirectional: boolean
  /** Unreliable connections. */
  isUnreliable: boolean
  /** Both ends take the receives of all queue pairs from one queue. */
  sharesReceives: boolean
  /** Null: as many as the program has by default. */
  times: number | null
  seconds: number
}

const USUAL: Omit<Tool, 'op' | 'test'> = {
  io: 'batch',
  byManager: false,
  qps: 1,
  bidirectional: false,
  isUnreliable: false,
  sharesReceives: false,
  times: TIMES,
  seconds: LIMIT_SECONDS,
}

function tool(name: string, more: Partial<Tool> = {}): Tool {
  const [, op, test] = name.split('_')
  return { ...USUAL, op: op!, test: test!, ...more }
}

const NAMES = ['write', 'send', 'read', 'atomic'].flatMap(op => ['bw', 'lat'].map(test => `ib_${op}_${test}`))
const OTHER_IO = ['ib_write_bw', 'ib_send_lat', 'ib_read_bw'] as const

/** All of them as they are used first, and some of each kind under other conditions. */
function toolsUnder({ pathMtu, lossy }: Conditions): Tool[] {
  const seconds = lossy ? LOSSY_SECONDS : LIMIT_SECONDS
  const some = ['ib_write_bw', 'ib_send_bw', 'ib_read_bw', 'ib_atomic_bw', 'ib_send_lat']
  if (pathMtu !== 4096 || lossy)
    return [...some.map(name => tool(name, { seconds })), tool('ib_read_bw', { byManager: true, seconds })]
  return [
    ...NAMES.flatMap(name => [tool(name), tool(name, { byManager: true })]),
    ...['ib_write_bw', 'ib_send_bw'].map(name => tool(name, { qps: 2 })),
    ...['ib_write_bw', 'ib_send_bw', 'ib_read_bw'].map(name => tool(name, { bidirectional: true })),
    ...['ib_write_bw', 'ib_write_lat', 'ib_send_lat'].map(name => tool(name, { isUnreliable: true })),
    ...[tool('ib_send_bw'), tool('ib_send_lat'), tool('ib_send_bw', { qps: 2 })].map(each => ({
      ...each,
      sharesReceives: true,
    })),
    tool('ib_send_bw', { sharesReceives: true, bidirectional: true }),
    tool('ib_send_lat', { sharesReceives: true, byManager: true }),
    ...['packet', 'raw'].flatMap(io => OTHER_IO.map(name => tool(name, { io }))),
    ...['ib_write_bw', 'ib_atomic_bw'].map(name => tool(name, { times: null, seconds: 300 })),
  ]
}

function nameOf(
  { op, test, io, byManager, qps, bidirectional, isUnreliable, sharesReceives, times }: Tool,
  { pathMtu }: Conditions,
): string {
  const options = [
    byManager && '-R',
    qps > 1 && `-q ${qps}`,
    bidirectional && '-b',
    isUnreliable && '-c UC',
    sharesReceives && '--use-srq',
  ]
  const words = [`ib_${op}_${test}`, ...options.filter(Boolean)].join(' ')
  const where = [io !== 'batch' && io, pathMtu !== 4096 && `MTU ${pathMtu}`]
  return [words, ...where.filter(Boolean), ...(times === null ? ['default messages'] : [])].join(', ')
}

export function commandCases(guests: Guests, conditions: Conditions): Case[] {
  const loss = conditions.lossy ? '2 % loss' : 'clean'
  const cases = toolsUnder(conditions).flatMap(each => {
    const about = { name: nameOf(each, conditions), seconds: 2 * each.seconds }
    return [
      { ...about, column: `guest drives, ${loss}`, run: () => guestMeasures(guests, each) },
      { ...about, column: `weir drives, ${loss}`, run: () => weirMeasures(guests, each) },
    ]
  })
  if (conditions.pathMtu !== 4096 || conditions.lossy) return cases
  const pings = PINGS_BY.flatMap(([io, family]) => {
    const name = ['weir ping, rping', ...(io === 'batch' ? [] : [io]), ...(family === 4 ? [] : ['IPv6'])]
    const about = { name: name.join(', '), seconds: 2 * LIMIT_SECONDS }
    return [
      { ...about, column: 'guest drives, clean', run: () => guestPings(guests, io, family) },
      { ...about, column: 'weir drives, clean', run: () => weirPings(guests, io, family) },
    ]
  })
  return [...cases, ...pings]
}

/** The guest's command line, but for the server's address. */
function commandLine(tool: Tool): string {
  const { op, test, byManager, qps, bidirectional, isUnreliable, sharesReceives, times } = tool
  const options = [
    byManager ? '-R' : '-x 1',
    ...(times === null ? [] : [`-n ${times}`]),
    ...(qps > 1 ? [`-q ${qps}`] : []),
    ...(bidirectional ? ['-b'] : []),
    ...(isUnreliable ? ['-c UC'] : []),
    ...(sharesReceives ? ['--use-srq'] : []),
  ]
  return `ib_${op}_${test} -d rxe0 -F ${options.join(' ')}`
}

function messagesOf({ op, test, qps, times }: Tool): number {
  return qps * (times ?? DEFAULT_TIMES[`ib_${op}_${test}`] ?? 1000)
}

/** Options of `weir perf` in both roles. */
function options({ test, io, times, bidirectional, isUnreliable, sharesReceives }: Tool): string[] {
  const both = ['--bidirectional', ...(times === null ? [] : ['--iters', String(times)])]
  return [
    'perf',
    test,
    '--perftest',
    '--io',
    io,
    ...(bidirectional ? both : []),
    ...(isUnreliable ? ['--connection', 'UC'] : []),
    ...(sharesReceives ? ['--use-srq'] : []),
  ]
}

/** A listening end serves the clients of several operations, unless it does something itself. */
function operation({ op, test, bidirectional }: Tool): string[] {
  return bidirectional || (test === 'lat' && op === 'write') ? ['--op', op] : []
}

async function guestMeasures(guests: Guests, tool: Tool): Promise<Ran> {
  const { qps, seconds } = tool
  const here = guests.command(seconds, ...options(tool), ...operation(tool), '--listen', '--address', HERE[4])
  await here.listening
  const there = await guests.inGuest(`timeout ${seconds - 10} ${commandLine(tool)} ${HERE[4]}`, seconds)
  // It prints what it has served when the client has left.
  await new Promise(resolve => setTimeout(resolve, 500))
  here.stop()
  const { ok, text } = await here.ended
  const messages = messagesOf(tool)
  const isServed = new RegExp(`^ ${GUEST[4]}: (done|${messages} of .* Mpps)$`, 'm').test(text)
  const isWhole = ok && there.ok && isServed && hasResult(there.text, messages, qps)
  return { ok: isWhole, text: there.text + text }
}

async function weirMeasures(guests: Guests, tool: Tool): Promise<Ran> {
  const { byManager, qps, seconds, times, bidirectional } = tool
  await guests.inGuest(
    `timeout ${seconds - 10} ${commandLine(tool)} >/tmp/s.log 2>&1 & echo $! >/tmp/s.pid; sleep 2`,
  )
  const here = await guests.command(
    seconds,
    ...[...options(tool), '--op', tool.op, GUEST[4], '--json'],
    ...(times !== null && !bidirectional ? ['--iters', String(times)] : []),
    ...(qps > 1 ? ['--qps', String(qps)] : []),
    ...(byManager ? ['--rdma-cm'] : []),
  ).ended
  const there = await guests.inGuest(
    'for i in $(seq 20); do kill -0 $(cat /tmp/s.pid) 2>/dev/null || break; sleep 0.2; done; cat /tmp/s.log; kill $(cat /tmp/s.pid) 2>/dev/null && exit 1; true',
  )
  const isWhole = here.ok && there.ok && here.text.includes(`"messages": ${messagesOf(tool)}`)
  return { ok: isWhole, text: here.text + there.text }
}

/** A row of perftest's table: bytes and the number of messages. With `-b` it may be that of one direction. */
function hasResult(text: string, messages: number, qps: number): boolean {
  return new RegExp(`^ +\\d+ +(${messages}|${messages / qps}) +\\d`, 'm').test(text)
}

async function guestPings(guests: Guests, io: string, family: Family): Promise<Ran> {
  const here = guests.command(LIMIT_SECONDS, 'ping', '--listen', '--address', HERE[family], '--io', io)
  await here.listening
  const there = await guests.inGuest(`timeout 40 rping -c -a ${HERE[family]} -v -V -C ${PINGS} -S 4096`, 50)
  await new Promise(resolve => setTimeout(resolve, 500))
  here.stop()
  const { ok, text } = await here.ended
  const isWhole = there.text.includes(`ping data: rdma-ping-${PINGS - 1}`) && text.includes(`${PINGS} pings`)
  return { ok: ok && there.ok && isWhole, text: there.text + text }
}

async function weirPings(guests: Guests, io: string, family: Family): Promise<Ran> {
  const any = family === 4 ? '0.0.0.0' : '::'
  await guests.inGuest(`timeout 60 rping -s -a ${any} -v -V -S 65535 >/tmp/s.log 2>&1 & sleep 2`)
  const pings = ['ping', GUEST[family], '--io', io, '--verify', '--count', String(PINGS)]
  const how = ['--interval', '0', '--size', '4096', '--json']
  const here = await guests.command(LIMIT_SECONDS, ...pings, ...how).ended
  const there = await guests.inGuest('sleep 1; cat /tmp/s.log; kill $(pidof rping) 2>/dev/null; true')
  const isWhole = here.text.includes(`"pings": ${PINGS}`) && there.text.includes(`rdma-ping-${PINGS - 1}`)
  return { ok: here.ok && isWhole, text: here.text + there.text }
}
