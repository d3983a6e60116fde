/**
 * `npm run test:interop`: Weir against Linux's rdma_rxe and the programs of rdma-core, in two guests under QEMU.
 *
 *   npm run test:interop [-- --quick] [--only TEXT] [--minutes 40]
 *
 * It sets the guests up, if they are not there (`RXE_HOME`, default ~/.cache/rxe-guests: 600 MB of Debian's packages), boots them, runs the
 * matrix, prints a table, and takes the guests down. Where there can be no guests it says why and ends with success.
 */
import { parseArgs } from 'node:util'
import { type Case, commandCases } from './command-cases.js'
import { type Family, GUEST, Guests, HERE, type Ran } from './guests.js'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    minutes: { type: 'string', default: '40' },
  },
})
const ends = performance.now() + Number(values.minutes) * 60_000
const guests = new Guests()

const LIMIT_SECONDS = 60
const LOSSY_SECONDS = 150
const OPS = 'wrsiIaR'
/** Bytes and number of each operation: several packets of either path MTU. */
const SIZE = 8000
const TIMES = 64

/** A guest and Weir do every operation: the guest drives and connects, or Weir does. */
function operations(
  io: string,
  family: Family,
  driver: 'guest' | 'weir',
  lossy: boolean,
): () => Promise<Ran> {
  const seconds = lossy ? LOSSY_SECONDS : LIMIT_SECONDS
  const work = [`ops=${OPS}`, `n=${TIMES}`, `size=${SIZE}`, 'depth=16']
  const memory = ['nrecv=128', `cycle=${TIMES}`]
  return async () => {
    if (driver === 'guest') {
      const target = guests.weir(
        seconds,
        'weir-peer.js',
        HERE[family],
        'listen',
        'target',
        '7480',
        `io=${io}`,
        ...memory,
      )
      await target.listening
      const driven = await guests.inGuest(
        `timeout ${seconds} /share/peer c d ${HERE[family]} 7480 ${work.join(' ')} mib=8`,
        seconds,
      )
      const served = await target.ended
      return {
        ok: driven.ok && served.ok && driven.text.includes('all exact'),
        text: driven.text + served.text,
      }
    }
    const any = family === 4 ? '0.0.0.0' : '::'
    await guests.inGuest(
      `timeout ${seconds} /share/peer s t ${any} 7480 ${memory.join(' ')} >/tmp/t.log 2>&1 &`,
    )
    await guests.inGuest('for i in $(seq 40); do grep -q listening /tmp/t.log && break; sleep 0.2; done')
    const to = `to=${GUEST[family]}`
    const drives = guests.weir(
      seconds,
      'weir-peer.js',
      HERE[family],
      'connect',
      'driver',
      '7480',
      to,
      `io=${io}`,
      ...work,
    )
    const driven = await drives.ended
    const served = await guests.inGuest('sleep 1; cat /tmp/t.log; kill $(pidof peer) 2>/dev/null; true')
    return {
      ok: driven.ok && served.text.includes(`${2 * TIMES} messages exact`),
      text: driven.text + served.text,
    }
  }
}

/** The programs of rdma-core: what listens, what connects, and what says that it has worked. */
const PROGRAMS = {
  rping: {
    listens: 'rping -s -a 0.0.0.0 -p 7471 -V -C 10 -S 65535',
    connects: `rping -c -a ${HERE[4]} -p 7471 -V -v -C 10 -S 4096`,
    says: /ping data: rdma-ping-9/,
  },
  ucmatose: {
    listens: 'ucmatose -C 10 -S 100',
    connects: `ucmatose -s ${HERE[4]} -C 10 -S 100`,
    says: /test complete\s+return status 0/,
  },
  rdma: { listens: 'rdma_server -p 7471', connects: `rdma_client -s ${HERE[4]} -p 7471`, says: /end 0/ },
} as const

function program(name: keyof typeof PROGRAMS, connects: 'guest' | 'weir'): () => Promise<Ran> {
  const { listens, connects: asks, says } = PROGRAMS[name]
  const size = name === 'ucmatose' ? 'size=100' : 'size=4096'
  return async () => {
    if (connects === 'guest') {
      const here = guests.weir(LIMIT_SECONDS, 'weir-rdma.js', HERE[4], name, 'listen', size)
      await here.listening
      const there = await guests.inGuest(`timeout 40 ${asks}`, 50)
      const { ok, text } = await here.ended
      return { ok: ok && there.ok && says.test(there.text), text: there.text + text }
    }
    await guests.inGuest(`timeout 50 ${listens} >/tmp/s.log 2>&1 & sleep 2`)
    const here = await guests.weir(
      LIMIT_SECONDS,
      'weir-rdma.js',
      HERE[4],
      name,
      'connect',
      `to=${GUEST[4]}`,
      size,
    ).ended
    const there = await guests.inGuest(
      'sleep 1; cat /tmp/s.log; kill $(pidof rping ucmatose rdma_server) 2>/dev/null; true',
    )
    return { ok: here.ok, text: here.text + there.text }
  }
}

/** ibv_rc_pingpong, which connects its queue pairs itself. */
function pingpong(connects: 'guest' | 'weir'): () => Promise<Ran> {
  const options = '-d rxe0 -g 1 -m 1024 -s 4096 -n 100'
  return async () => {
    if (connects === 'guest') {
      const here = guests.weir(LIMIT_SECONDS, 'weir-pingpong.js', HERE[4], 'listen')
      await here.listening
      const there = await guests.inGuest(`timeout 40 ibv_rc_pingpong ${options} ${HERE[4]}`, 50)
      const { ok, text } = await here.ended
      return { ok: ok && there.ok, text: there.text + text }
    }
    await guests.inGuest(`timeout 50 ibv_rc_pingpong ${options} >/tmp/s.log 2>&1 & sleep 2`)
    const here = await guests.weir(LIMIT_SECONDS, 'weir-pingpong.js', HERE[4], 'connect', `to=${GUEST[4]}`)
      .ended
    const there = await guests.inGuest(
      'sleep 1; cat /tmp/s.log; kill $(pidof ibv_rc_pingpong) 2>/dev/null; true',
    )
    return { ok: here.ok && there.text.includes('100 iters in'), text: here.text + there.text }
  }
}

/** Programs of datagrams: Weir's end, what the guest runs to listen and to connect, and what says that it has worked. */
const DATAGRAMS = {
  udaddy: {
    module: 'weir-udaddy.js',
    listens: 'udaddy -C 10 -S 100',
    connects: `udaddy -s ${HERE[4]} -C 10 -S 100`,
    says: /test complete\s+return status 0/,
  },
  ibv_ud_pingpong: {
    module: 'weir-ud-pingpong.js',
    listens: 'ibv_ud_pingpong -d rxe0 -g 1 -s 1024 -n 100',
    connects: `ibv_ud_pingpong -d rxe0 -g 1 -s 1024 -n 100 ${HERE[4]}`,
    says: /100 iters in/,
  },
} as const

function datagrams(name: keyof typeof DATAGRAMS, connects: 'guest' | 'weir'): () => Promise<Ran> {
  const { module, listens, connects: asks, says } = DATAGRAMS[name]
  return async () => {
    if (connects === 'guest') {
      const here = guests.weir(LIMIT_SECONDS, module, HERE[4], 'listen')
      await here.listening
      const there = await guests.inGuest(`timeout 40 ${asks}`, 50)
      const { ok, text } = await here.ended
      return { ok: ok && there.ok && says.test(there.text), text: there.text + text }
    }
    await guests.inGuest(`timeout 50 ${listens} >/tmp/s.log 2>&1 & sleep 2`)
    const here = await guests.weir(LIMIT_SECONDS, module, HERE[4], 'connect', `to=${GUEST[4]}`).ended
    const there = await guests.inGuest(`sleep 1; cat /tmp/s.log; kill $(pidof ${name}) 2>/dev/null; true`)
    return { ok: here.ok && says.test(there.text), text: here.text + there.text }
  }
}

function cases(pathMtu: 1024 | 4096, lossy: boolean): Case[] {
  const all: Case[] = []
  for (const io of ['batch', 'packet', 'raw']) {
    for (const family of [4, 6] as const) {
      if (io === 'raw' && family === 6) continue
      for (const driver of ['guest', 'weir'] as const) {
        const name = `${io}, IPv${family}, MTU ${pathMtu}`
        const column = `${driver} drives, ${lossy ? '2 % loss' : 'clean'}`
        all.push({ name, column, run: operations(io, family, driver, lossy) })
      }
    }
  }
  if (pathMtu === 4096 && !lossy) {
    for (const name of Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])
      for (const by of ['guest', 'weir'] as const)
        all.push({ name, column: `${by} drives, clean`, run: program(name, by) })
    for (const by of ['guest', 'weir'] as const)
      all.push({ name: 'ibv_rc_pingpong', column: `${by} drives, clean`, run: pingpong(by) })
    all.push(...commandCases(guests))
  }
  // Nothing retransmits what these send.
  if (pathMtu === 4096 && !lossy) {
    for (const name of Object.keys(DATAGRAMS) as (keyof typeof DATAGRAMS)[])
      for (const by of ['guest', 'weir'] as const)
        all.push({ name, column: `${by} drives, clean`, run: datagrams(name, by) })
  }
  return all.filter(({ name, column }) => `${name}, ${column}`.includes(values.only))
}

const results = new Map<string, Map<string, string>>()
let failures = 0

async function check({ name, column, run }: Case): Promise<void> {
  const row = results.get(name) ?? new Map<string, string>()
  results.set(name, row)
  if (performance.now() > ends) {
    row.set(column, 'no time')
    return
  }
  const began = performance.now()
  const { ok, text } = await run()
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  row.set(column, ok ? `ok ${seconds} s` : 'FAILED')
  console.log(`${ok ? 'ok' : 'FAILED'} - ${name}, ${column}, ${seconds} s`)
  if (ok) return
  failures++
  console.log(
    text
      .trim()
      .split('\n')
      .slice(-12)
      .map(line => `    ${line}`)
      .join('\n'),
  )
}

function printTable(): void {
  const columns = ['guest', 'weir'].flatMap(who => ['clean', '2 % loss'].map(how => `${who} drives, ${how}`))
  console.log(`\n| | ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length + 1)}`)
  for (const [name, row] of results)
    console.log(`| ${name} | ${columns.map(column => row.get(column) ?? '').join(' | ')} |`)
}

async function matrix(): Promise<void> {
  for (const pathMtu of values.quick ? ([4096] as const) : ([4096, 1024] as const)) {
    await guests.setMtu(pathMtu)
    for (const lossy of values.quick ? [false] : [false, true]) {
      await guests.lose(lossy)
      for (const each of cases(pathMtu, lossy)) await check(each)
    }
    await guests.lose(false)
  }
}

async function main(): Promise<void> {
  const fault = guests.fault()
  if (fault !== null) {
    console.log(`skipped: ${fault}`)
    return
  }
  for (const [what, step] of [
    ['setting the guests up', guests.setUp()],
    ['booting them', null],
  ] as const) {
    console.log(`${what}, in ${guests.home}`)
    const { ok, text } = await (step ?? guests.up())
    if (ok) continue
    console.log(`skipped: ${what} failed:\n${text.trim()}`)
    await guests.down()
    return
  }
  const stop = () => void guests.down().finally(() => process.exit(130))
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  try {
    await matrix()
  } finally {
    await guests.down()
  }
  printTable()
  if (failures > 0) process.exitCode = 1
}

await main()
