/** Programs of rdma-core that are no measurements, each as the end that listens and as the end that connects. */
import type { Case } from './case.js'
import { GUEST, type Guests, HERE, type Ran } from './guests.js'

const LIMIT_SECONDS = 60

interface Program {
  name: string
  /** Weir's end, and what it has to know. */
  module: string
  given: readonly string[]
  /** The guest's commands. */
  listens: string
  connects: string
  /** What the guest's end prints, whichever it is, when all has come. */
  says: RegExp
}

function pingpong(type: 'rc' | 'uc' | 'srq' | 'ud', module: string, ...given: string[]): Program {
  const name = `ibv_${type}_pingpong`
  const listens = `${name} -d rxe0 -g 1 -n 100 ${type === 'ud' ? '-s 1024' : '-m 1024 -s 4096'}`
  return { name, module, given, listens, connects: `${listens} ${HERE[4]}`, says: /100 iters in/ }
}

const PROGRAMS: readonly Program[] = [
  {
    name: 'rping',
    module: 'weir-rdma.js',
    given: ['program=rping', 'size=4096'],
    listens: 'rping -s -a 0.0.0.0 -p 7471 -V -v -C 10 -S 65535',
    connects: `rping -c -a ${HERE[4]} -p 7471 -V -v -C 10 -S 4096`,
    // What Weir's end writes as its tenth text.
    says: /ping data: (rdma-ping-9|JKLM)/,
  },
  {
    name: 'ucmatose',
    module: 'weir-rdma.js',
    given: ['program=ucmatose', 'size=100'],
    listens: 'ucmatose -C 10 -S 100',
    connects: `ucmatose -s ${HERE[4]} -C 10 -S 100`,
    says: /test complete\s+return status 0/,
  },
  {
    name: 'rdma_client, rdma_server',
    module: 'weir-rdma.js',
    given: ['program=rdma'],
    listens: 'rdma_server -p 7471',
    connects: `rdma_client -s ${HERE[4]} -p 7471`,
    says: /end 0/,
  },
  pingpong('rc', 'weir-pingpong.js'),
  pingpong('uc', 'weir-pingpong.js', 'type=uc'),
  pingpong('srq', 'weir-srq-pingpong.js'),
  {
    name: 'rstream',
    module: 'weir-rstream.js',
    given: [],
    listens: 'rstream -S 4096 -C 20 -I 4 -T v -T b',
    connects: `rstream -s ${HERE[4]} -S 4096 -C 20 -I 4 -T v -T b`,
    says: /^custom +4k/m,
  },
  {
    name: 'udaddy',
    module: 'weir-udaddy.js',
    given: [],
    listens: 'udaddy -C 10 -S 100',
    connects: `udaddy -s ${HERE[4]} -C 10 -S 100`,
    says: /test complete\s+return status 0/,
  },
  pingpong('ud', 'weir-ud-pingpong.js'),
]

async function guestConnects(guests: Guests, { module, given, connects, says }: Program): Promise<Ran> {
  const here = guests.weir(LIMIT_SECONDS, module, HERE[4], 'listen', ...given)
  await here.listening
  const there = await guests.inGuest(`timeout 40 ${connects}`, 50)
  const { ok, text } = await here.ended
  return { ok: ok && there.ok && says.test(there.text), text: there.text + text }
}

async function weirConnects(guests: Guests, { module, given, listens, says }: Program): Promise<Ran> {
  await guests.inGuest(`timeout 50 ${listens} >/tmp/s.log 2>&1 & echo $! >/tmp/s.pid; sleep 2`)
  const to = `to=${GUEST[4]}`
  const here = await guests.weir(LIMIT_SECONDS, module, HERE[4], 'connect', to, ...given).ended
  const there = await guests.inGuest('sleep 1; cat /tmp/s.log; kill $(cat /tmp/s.pid) 2>/dev/null; true')
  return { ok: here.ok && says.test(there.text), text: here.text + there.text }
}

/** All of them, by batch, over IPv4 and without loss: nothing retransmits datagrams. */
export function programCases(guests: Guests): Case[] {
  return PROGRAMS.flatMap(program => [
    {
      name: program.name,
      column: 'guest drives, clean',
      seconds: 2 * LIMIT_SECONDS,
      run: () => guestConnects(guests, program),
    },
    {
      name: program.name,
      column: 'weir drives, clean',
      seconds: 2 * LIMIT_SECONDS,
      run: () => weirConnects(guests, program),
    },
  ])
}
