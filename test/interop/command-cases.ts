/** The command `weir` against the programs of perftest, and rping: each listens once, and connects once. */
import { GUEST, type Guests, HERE, type Ran } from './guests.js'

/** A cell of the table. */
export interface Case {
  name: string
  column: string
  run: () => Promise<Ran>
}

const LIMIT_SECONDS = 90
/** perftest's defaults but for the number of messages: the guests are emulated. */
const TIMES = 100
const PINGS = 10

/** perftest: the tool's name is its operation and test. `-x 1` is the IPv4 address among the guest's. */
const TOOLS = ['write', 'send', 'read', 'atomic'].flatMap(op => ['bw', 'lat'].map(test => ({ op, test })))

export function commandCases(guests: Guests): Case[] {
  const cases: Case[] = []
  for (const { op, test } of TOOLS) {
    for (const byManager of [false, true]) {
      const tool = `ib_${op}_${test}`
      const how = `${tool} -d rxe0 -F -n ${TIMES} ${byManager ? '-R' : '-x 1'}`
      const name = byManager ? `${tool} -R` : tool
      cases.push(
        { name, column: 'guest drives, clean', run: () => guestMeasures(guests, { op, test, how }) },
        {
          name,
          column: 'weir drives, clean',
          run: () => weirMeasures(guests, { op, test, how, byManager }),
        },
      )
    }
  }
  for (const op of ['write', 'send']) {
    const name = `ib_${op}_bw -q 2`
    const tool = { op, test: 'bw', how: `ib_${op}_bw -d rxe0 -F -n ${TIMES} -x 1 -q 2`, qps: 2 }
    cases.push(
      { name, column: 'guest drives, clean', run: () => guestMeasures(guests, tool) },
      { name, column: 'weir drives, clean', run: () => weirMeasures(guests, { ...tool, byManager: false }) },
    )
  }
  cases.push(
    { name: 'weir ping, rping', column: 'guest drives, clean', run: () => guestPings(guests) },
    { name: 'weir ping, rping', column: 'weir drives, clean', run: () => weirPings(guests) },
  )
  return cases
}

interface Tool {
  op: string
  test: string
  qps?: number
  /** The guest's command line, but for the server's address. */
  how: string
}

async function guestMeasures(guests: Guests, { op, test, how, qps = 1 }: Tool): Promise<Ran> {
  const here = guests.command(
    LIMIT_SECONDS,
    ...['perf', test, '--listen', '--perftest', '--op', op, '--address', HERE[4]],
  )
  await here.listening
  const there = await guests.inGuest(`timeout 60 ${how} ${HERE[4]}`, LIMIT_SECONDS)
  // It prints what it has served when the client has left.
  await new Promise(resolve => setTimeout(resolve, 500))
  here.stop()
  const { ok, text } = await here.ended
  const isServed = new RegExp(`^ 10\\.99\\.0\\.1: (done|${qps * TIMES} of .* Mpps)$`, 'm').test(text)
  return { ok: ok && there.ok && isServed && hasResult(there.text, qps), text: there.text + text }
}

async function weirMeasures(
  guests: Guests,
  { op, test, how, byManager, qps = 1 }: Tool & { byManager: boolean },
): Promise<Ran> {
  await guests.inGuest(`timeout 80 ${how} >/tmp/s.log 2>&1 & echo $! >/tmp/s.pid; sleep 2`)
  const here = await guests.command(
    LIMIT_SECONDS,
    ...['perf', test, GUEST[4], '--perftest', '--op', op, '--iters', String(TIMES), '--json'],
    ...(qps > 1 ? ['--qps', String(qps)] : []),
    ...(byManager ? ['--rdma-cm'] : []),
  ).ended
  const there = await guests.inGuest(
    'for i in $(seq 20); do kill -0 $(cat /tmp/s.pid) 2>/dev/null || break; sleep 0.2; done; cat /tmp/s.log; kill $(cat /tmp/s.pid) 2>/dev/null && exit 1; true',
  )
  return {
    ok: here.ok && there.ok && here.text.includes(`"messages": ${qps * TIMES}`),
    text: here.text + there.text,
  }
}

/** A row of perftest's table: bytes and the number of messages. */
function hasResult(text: string, qps: number): boolean {
  return new RegExp(`^ +\\d+ +${qps * TIMES} +\\d`, 'm').test(text)
}

async function guestPings(guests: Guests): Promise<Ran> {
  const here = guests.command(LIMIT_SECONDS, 'ping', '--listen', '--address', HERE[4])
  await here.listening
  const there = await guests.inGuest(`timeout 40 rping -c -a ${HERE[4]} -v -V -C ${PINGS} -S 4096`, 50)
  await new Promise(resolve => setTimeout(resolve, 500))
  here.stop()
  const { ok, text } = await here.ended
  const isWhole = there.text.includes(`ping data: rdma-ping-${PINGS - 1}`) && text.includes(`${PINGS} pings`)
  return { ok: ok && there.ok && isWhole, text: there.text + text }
}

async function weirPings(guests: Guests): Promise<Ran> {
  await guests.inGuest('timeout 60 rping -s -a 0.0.0.0 -v -V -S 65535 >/tmp/s.log 2>&1 & sleep 2')
  const here = await guests.command(
    LIMIT_SECONDS,
    ...[
      'ping',
      GUEST[4],
      '--verify',
      '--count',
      String(PINGS),
      '--interval',
      '0',
      '--size',
      '4096',
      '--json',
    ],
  ).ended
  const there = await guests.inGuest('sleep 1; cat /tmp/s.log; kill $(pidof rping) 2>/dev/null; true')
  const isWhole = here.text.includes(`"pings": ${PINGS}`) && there.text.includes(`rdma-ping-${PINGS - 1}`)
  return { ok: here.ok && isWhole, text: here.text + there.text }
}
