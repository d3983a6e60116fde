/** iNOF in a lab: daemons announce themselves, `weir inof show` tells who is there, a transfer leaves a link that fails. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { InofResult } from '../../lib/scenario/result/inof-result.js'
import type { LabStatus } from '../../switch-emu/lab/lab-status.js'
import { noLabs, Place, SMALL } from './support.js'

const skip = noLabs()
const WAIT_MS = 60_000

const TWO_WAYS = `
name: known
link: { rate: 50Mbps, delay: 100us }
hosts: [h1, h2, h3]
switches: [s1, s2, s3, s4]
links: [h1--s1, h3--s1, s1--s2, s2--s4, s1--s3, s3--s4, s4--h2]
transport: { pathMtu: 4096 }
inof: { zones: [{ zone: 7, hosts: [h1, h2] }], storage: [h2], silence: 30s }
`

/** Sends files from h1 to h2, each twice as long as the last, until a link fails under one. Returns its report. */
async function cutUnder(t: Test, place: Place): Promise<{ pathMoves: number; attempts: number }> {
  const links = async () => {
    const [lab] = JSON.parse((await place.weir(['lab', 'status', 'known', '--json'])).stdout) as LabStatus[]
    return lab!.ports!.filter(port => port.switch === 's1' && ['s2', 's3'].includes(port.peer))
  }
  for (let bytes = 16_000_000; ; bytes *= 2) {
    const before = await links()
    let hasEnded = false
    const words = ['weir', 'send', place.file(`big${bytes}`, Buffer.alloc(bytes, 7)), 'h2', '--json']
    const sent = place.process(['lab', 'exec', 'known', 'h1', '--', ...words]).finally(() => {
      hasEnded = true
    })
    for (let peer: string | undefined; peer === undefined && !hasEnded; ) {
      const now = await links()
      peer = now.find((port, i) => port.txBytes > before[i]!.txBytes + 500_000)?.peer
      if (peer !== undefined) await place.weir(['lab', 'set', 'known', `s1--${peer}`, 'down'])
    }
    const wasUnder = !hasEnded
    const { code, stdout, stderr } = await sent
    t.equal(code, 0, stderr)
    const events = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    if (wasUnder) return events.find(({ event }) => event === 'file')
    await place.weir(['lab', 'set', 'known', 's1--s2..s3', 'up'])
  }
}

t.test(
  'hosts are there, in their zones; one leaves; a transfer leaves a link that fails',
  { skip },
  async t => {
    const place = new Place(t)
    const up = await place.weir(['lab', 'up', place.file('known.yaml', TWO_WAYS)])
    t.equal(up.code, 0, up.stderr)
    const text = async (what: string) => (await place.weir(['inof', 'show', what, 'known'])).stdout
    const show = async <What extends keyof InofResult>(what: What): Promise<InofResult[What]> =>
      JSON.parse((await place.weir(['inof', 'show', what, 'known', '--json'])).stdout)
    const until = async (holds: () => Promise<boolean>, what: string) => {
      const end = Date.now() + WAIT_MS
      while (!(await holds()) && Date.now() < end) await sleep(50)
      t.ok(await holds(), what)
    }
    await until(
      async () => (await show('hosts')).every(({ knownBy }) => knownBy === 4),
      'all switches know all hosts',
    )
    t.match(await show('hosts'), [
      { name: 'h1', port: 's1:h1', state: 'up', storage: false, zones: [7] },
      { name: 'h3', port: 's1:h3', state: 'up', storage: false, zones: [0] },
      { name: 'h2', port: 's4:h2', state: 'up', storage: true, zones: [7] },
    ])
    t.match(await text('hosts'), /h2 +10\.0\.0\.2 +s4:h2 +up +storage +7 +4/)
    const zones = /0 \(default\) +1 +10\.0\.0\.3\n7 +2 +10\.0\.0\.1 10\.0\.0\.2/
    await until(async () => zones.test(await text('zones')), 'all hosts in their zones')
    t.match(await text('peers'), /172\.30\.0\.1 +s1 +client +established/)
    // Who is there first hears of the other.
    await until(
      async () => (await show('changes')).some(({ heard }) => heard === 1),
      'one of them has heard of the other',
    )
    t.match(await text('changes'), /h[12] arrived .* 1 of 1/)
    const status = async (host: string) =>
      JSON.parse((await place.exec('known', host, ['weir', 'status', '--json'])).stdout)
    await until(async () => (await status('h1')).inof.peers.length === 1, 'the daemon knows its peer')
    t.same((await status('h1')).inof, { peers: ['10.0.0.2'], linkFailures: 0, moves: 0 })
    t.same((await status('h3')).inof.peers, [], 'and no host of another zone')

    const set = await place.weir(['inof', 'zone', 'known', '9', 'h1', 'h3..h3'])
    t.match([set.code, set.stdout], [0, 'zone 9: h1 h3\n'], set.stderr)
    await until(
      async () => (await status('h1')).inof.peers.length === 2,
      'h1 has a peer in each of two zones',
    )
    t.match(await show('hosts'), [{ zones: [7, 9] }, { zones: [9] }, { zones: [7] }])
    t.match((await place.weir(['inof', 'zone', 'known', '9'])).stdout, 'zone 9: no members of its own')
    await until(async () => (await status('h1')).inof.peers.length === 1, 'the zone is gone')
    t.match(await show('hosts'), [{ zones: [7] }, { zones: [0] }, { zones: [7] }])
    for (const [words, message] of [
      [['9', 'h4'], /no host is called 'h4'; there are h1, h2, h3.*WEIR_BAD_ARGUMENT/],
      [['1024', 'h1'], /a whole number from 0 to 1023.*WEIR_BAD_ARGUMENT/],
      [['x', 'h1'], /a whole number from 0 to 1023.*WEIR_BAD_ARGUMENT/],
    ] as const) {
      const refused = await place.weir(['inof', 'zone', 'known', ...words])
      t.not(refused.code, 0)
      t.match(refused.stderr, message)
    }

    const file = await cutUnder(t, place)
    t.equal(file.attempts, 1, 'no other connection')
    const { moves, linkFailures } = (await status('h1')).inof
    // Both ends of the link are heard of. Each notice has the flow look for a path, and on a busy machine its own may answer too late.
    const { pathMoves } = file
    t.ok(
      1 <= pathMoves && pathMoves <= moves && moves <= linkFailures,
      `${pathMoves}, ${moves}, ${linkFailures}`,
    )
    t.match(
      (await place.exec('known', 'h1', ['weir', 'status'])).stdout,
      new RegExp(`since the start ${linkFailures} notices of failed links, ${moves} flows\\s+moved`),
    )

    await place.exec('known', 'h2', ['weir', 'stop'])
    await until(async () => (await show('hosts')).length === 2, 'h2 has left')
    t.ok((await show('changes')).some(({ host, event }) => host === 'h2' && event === 'departed'))
    t.equal((await place.weir(['lab', 'down', 'known'])).code, 0)
  },
)

t.test('without inof there is nothing to show; mistakes are explained', { skip }, async t => {
  const place = new Place(t)
  const up = await place.weir(['lab', 'up', place.file('small.yaml', SMALL)])
  t.equal(up.code, 0, up.stderr)
  for (const [words, message] of [
    [['hosts', 'small'], /hosts of lab small do not announce themselves; add inof: \{\}.*WEIR_BAD_STATE/],
    [['hosts', 'other'], /other.*WEIR_/],
    [['host', 'small'], /host.*hosts, zones, peers, changes/],
  ] as const) {
    const refused = await place.weir(['inof', 'show', ...words])
    t.not(refused.code, 0)
    t.match(refused.stderr, message)
  }
  const zone = await place.weir(['inof', 'zone', 'small', '7', 'h1'])
  t.match([zone.code, zone.stderr], [1, /hosts of lab small do not announce themselves/])
  t.equal((await place.weir(['lab', 'down', 'small'])).code, 0)
})
