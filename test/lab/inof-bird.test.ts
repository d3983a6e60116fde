/** iNOF in a lab whose reflectors are two BIRDs: presence and zones, one of them killed, a departure, and mistakes. */
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { InofResult } from '../../lib/scenario/result/inof-result.js'
import { md5Unsupported } from '../inof/md5.js'
import { without } from '../support/tools.js'
import { noLabs, Place } from './support.js'

const WAIT_MS = 60_000

const BIRDS = `
name: birds
link: { rate: 50Mbps, delay: 100us }
hosts: [h1, h2, h3]
switches: [s1, s2]
links: [h1..h2--s1, s1--s2, s2--h3]
inof: { external: true, ttlSecurity: true, hold: 30s, silence: 30s, zones: [{ zone: 7, hosts: [h1, h3] }] }
`

t.test('two BIRDs reflect for a lab; one is killed', { skip: noLabs() || without('bird') }, async t => {
  const place = new Place(t)
  // Sessions are signed where the system can do it.
  const signed = BIRDS.replace('ttlSecurity: true,', 'ttlSecurity: true, password: weir and dam,')
  const file = place.file('birds.yaml', md5Unsupported() === false ? signed : BIRDS)
  const up = await place.weir(['lab', 'up', file])
  t.equal(up.code, 0, up.stderr)
  for (const n of [1, 2]) {
    const printed = await place.weir(['inof', 'bird', file, `${n}`])
    t.equal(printed.code, 0, printed.stderr)
    place.file(`bird${n}.conf`, printed.stdout)
    const words = ['bird', '-c', `bird${n}.conf`, '-s', `bird${n}.ctl`, '-P', `bird${n}.pid`]
    const bird = await place.exec('birds', 's1', words)
    t.equal(bird.code, 0, bird.stderr)
  }
  const show = async <What extends keyof InofResult>(what: What): Promise<InofResult[What]> =>
    JSON.parse((await place.weir(['inof', 'show', what, 'birds', '--json'])).stdout)
  const until = async (holds: () => Promise<boolean>, what: string) => {
    const end = Date.now() + WAIT_MS
    while (!(await holds()) && Date.now() < end) await sleep(50)
    t.ok(await holds(), what)
  }
  const established = async () => (await show('peers')).filter(({ state }) => state === 'established').length
  await until(async () => (await established()) === 4, 'both switches have sessions with both')
  await until(
    async () => (await show('hosts')).filter(({ knownBy }) => knownBy === 2).length === 3,
    'all are known',
  )
  await until(async () => (await show('hosts'))[0]!.zones.includes(7), 'the zones are those of the BIRDs')
  t.match(await show('hosts'), [{ zones: [7] }, { zones: [0] }, { zones: [7] }])
  const zone = await place.weir(['inof', 'zone', 'birds', '7', 'h1'])
  t.match(
    [zone.code, zone.stderr],
    [1, /reflectors, which are your own \(inof\.external\): change their configuration/],
  )
  await place.exec('birds', 's1', ['sh', '-c', 'kill -9 $(cat bird1.pid)'])
  await until(async () => (await established()) === 2, 'one is gone')
  t.match(await show('hosts'), [{ knownBy: 2 }, { knownBy: 2 }, { knownBy: 2 }], 'nothing is lost')
  await place.exec('birds', 'h3', ['weir', 'stop'])
  const departed = async () =>
    (await show('changes')).find(({ host, event }) => host === 'h3' && event === 'departed')
  await until(async () => (await departed())?.heard === 1, 'h1 hears by the other one that h3 has left')
  t.comment(`heard within ${((await departed())!.lastNs ?? 0) / 1e6} ms`)
  t.equal((await place.weir(['lab', 'down', 'birds'])).code, 0)
})

t.test('where it cannot be, and which reflectors there are', { skip: noLabs() }, async t => {
  const place = new Place(t)
  const file = place.file('birds.yaml', `${BIRDS}traffic: [{ from: h1, to: h2, size: 1KB }]\n`)
  const own = place.file('own.yaml', BIRDS.replace('external: true, ttlSecurity: true, ', ''))
  for (const [words, message] of [
    [['run', file], /inof\.external.*need a lab.*WEIR_BAD_ARGUMENT/],
    [['inof', 'bird', file, '3'], /has the reflectors 1 to 2.*WEIR_BAD_ARGUMENT/],
    [['inof', 'bird', own, '1'], /reflectors of its own.*external: true.*WEIR_BAD_ARGUMENT/],
  ] as const) {
    const refused = await place.weir([...words])
    t.not(refused.code, 0)
    t.match(refused.stderr, message)
  }
  writeFileSync(own, BIRDS.replace('external: true, ', ''))
  t.match(
    (await place.weir(['inof', 'bird', own, '1'])).stderr,
    /own\.yaml:7:22: ttlSecurity protects sessions with reflectors of your own: set external to true/,
  )
  writeFileSync(own, BIRDS.replace('hold: 30s', 'delay: 1ms'))
  t.match((await place.weir(['inof', 'bird', own, '1'])).stderr, /delay has no effect.*leave it out/)
})
