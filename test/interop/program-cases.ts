/** Programs of rdma-core that are no measurements, each as the end that listens and as the end that connects. */
import type { Case } from './case.js'
import { GUEST, type Guests, HERE, type Ran } from './guests.js'

const LIMIT_SECONDS = 60

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

function program(
  guests: Guests,
  name: keyof typeof PROGRAMS,
  connects: 'guest' | 'weir',
): () => Promise<Ran> {
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

/** ibv_rc_pingpong and ibv_uc_pingpong, which connect their queue pairs themselves. */
function pingpong(guests: Guests, type: 'rc' | 'uc', connects: 'guest' | 'weir'): () => Promise<Ran> {
  const program = `ibv_${type}_pingpong`
  const options = '-d rxe0 -g 1 -m 1024 -s 4096 -n 100'
  return async () => {
    if (connects === 'guest') {
      const here = guests.weir(LIMIT_SECONDS, 'weir-pingpong.js', HERE[4], 'listen', `type=${type}`)
      await here.listening
      const there = await guests.inGuest(`timeout 40 ${program} ${options} ${HERE[4]}`, 50)
      const { ok, text } = await here.ended
      return { ok: ok && there.ok, text: there.text + text }
    }
    await guests.inGuest(`timeout 50 ${program} ${options} >/tmp/s.log 2>&1 & sleep 2`)
    const here = await guests.weir(
      LIMIT_SECONDS,
      'weir-pingpong.js',
      HERE[4],
      'connect',
      `to=${GUEST[4]}`,
      `type=${type}`,
    ).ended
    const there = await guests.inGuest(`sleep 1; cat /tmp/s.log; kill $(pidof ${program}) 2>/dev/null; true`)
    return { ok: here.ok && there.text.includes('100 iters in'), text: here.text + there.text }
  }
}

/** rstream, which verifies what it gets. */
function streams(guests: Guests, connects: 'guest' | 'weir'): () => Promise<Ran> {
  const options = '-S 4096 -C 20 -I 4 -T v -T b'
  return async () => {
    if (connects === 'guest') {
      const here = guests.weir(LIMIT_SECONDS, 'weir-rstream.js', HERE[4], 'listen')
      await here.listening
      const there = await guests.inGuest(`timeout 40 rstream -s ${HERE[4]} ${options}`, 50)
      const { ok, text } = await here.ended
      return { ok: ok && there.ok && /^custom +4k/m.test(there.text), text: there.text + text }
    }
    await guests.inGuest(`timeout 50 rstream ${options} >/tmp/s.log 2>&1 & sleep 2`)
    const here = await guests.weir(LIMIT_SECONDS, 'weir-rstream.js', HERE[4], 'connect', `to=${GUEST[4]}`)
      .ended
    const there = await guests.inGuest('sleep 1; cat /tmp/s.log; kill $(pidof rstream) 2>/dev/null; true')
    return { ok: here.ok && /^custom +4k/m.test(there.text), text: here.text + there.text }
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

function datagrams(
  guests: Guests,
  name: keyof typeof DATAGRAMS,
  connects: 'guest' | 'weir',
): () => Promise<Ran> {
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

const ENDS = ['guest', 'weir'] as const

/** All of them, by batch, over IPv4 and without loss: nothing retransmits datagrams. */
export function programCases(guests: Guests): Case[] {
  const all = [
    ...Object.keys(PROGRAMS).map(name => ({
      name,
      of: program.bind(null, guests, name as keyof typeof PROGRAMS),
    })),
    { name: 'ibv_rc_pingpong', of: pingpong.bind(null, guests, 'rc') },
    { name: 'ibv_uc_pingpong', of: pingpong.bind(null, guests, 'uc') },
    { name: 'rstream', of: streams.bind(null, guests) },
    ...Object.keys(DATAGRAMS).map(name => ({
      name,
      of: datagrams.bind(null, guests, name as keyof typeof DATAGRAMS),
    })),
  ]
  return all.flatMap(({ name, of }) =>
    ENDS.map(by => ({ name, column: `${by} drives, clean`, seconds: 2 * LIMIT_SECONDS, run: of(by) })),
  )
}
