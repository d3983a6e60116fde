/** iNOF in scenarios, in virtual time: who hears of what and when, flows that leave a failed path, what is refused, forged frames. */
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { presenceOf, writeNoticesFrame, writePresenceFrame } from '../../lib/inof/frames.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { HostState } from '../../lib/wire/weir/inof-tlv.js'
import { Inof } from '../../switch-emu/core/inof/inof.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { checkProblems } from '../scenario/problems-at.js'
import { drawnSeed } from '../support/seeds.js'

const US = 1000
const MS = 1_000_000

/** Three switches in a ring, two hosts at each. */
const RING = `
link: { rate: 10Gbps, delay: 1us }
hosts: [h1..h6]
switches: [s1..s3]
links: [h1..h2--s1, h3..h4--s2, h5..h6--s3, s1--s2, s2--s3, s1--s3]
`
/** Two ways from h1 to h2. */
const TWO_WAYS = `
link: { rate: 10Gbps, delay: 5us }
hosts: [h1, h2]
switches: [s1..s4]
links: [h1--s1, s1--s2, s2--s4, s1--s3, s3--s4, s4--h2]
`
/** From a host's switch over the reflector to the others, and to their hosts: two times 50 us, a link, and the acknowledgement. */
const HEARD_NS = 2 * 50 * US + 2 * US

function run(text: string, seed?: number): RunResult {
  return new VirtualRun(parseScenario(text, 'x.yaml'), { seed }).run()
}

t.test('hosts know each other by zones; a cut link is known everywhere after two hops of BGP', async t => {
  const result = run(`${RING}
inof: { zones: [{ zone: 7, hosts: [h1, h3] }], storage: [h4] }
events:
  - { at: 100ms, for: 100ms, link: h5--s3, down: true }
  - { at: 400ms, link: s1--s2, down: true }
traffic: [{ from: h1, to: h3, size: 1KB, start: 500ms }]
`)
  const inof = result.inof!
  t.same(
    inof.hosts.map(({ name, port, state, storage, zones, knownBy }) => [
      name,
      port,
      state,
      storage,
      zones,
      knownBy,
    ]),
    [
      ['h1', 's1:h1', 'up', false, [7], 3],
      ['h2', 's1:h2', 'up', false, [0], 3],
      ['h3', 's2:h3', 'up', false, [7], 3],
      ['h4', 's2:h4', 'up', true, [0], 3],
      ['h5', 's3:h5', 'up', false, [0], 3],
      ['h6', 's3:h6', 'up', false, [0], 3],
    ],
  )
  t.same(
    inof.zones.map(({ zone, hosts }) => [zone, hosts.length]),
    [
      [0, 4],
      [7, 2],
    ],
  )
  const later = inof.changes.filter(({ atNs }) => atNs > 0)
  t.same(
    later.map(({ host, event, told, heard }) => [host, event, told, heard]),
    [
      ['h5', 'failed', 3, 3],
      ['h5', 'arrived', 3, 3],
    ],
    'the members of its zone hear of it, and nobody else',
  )
  t.equal(later[0]!.atNs, 100 * MS, 'by link state, at once')
  for (const { lastNs } of later) t.ok(lastNs! > HEARD_NS && lastNs! < HEARD_NS + US, `${lastNs} ns`)
  t.ok(later[1]!.atNs < 200 * MS + 10 * US, 'asked when its link is up, it announces itself at once')
  t.same(
    inof.switches.map(({ failedLinks }) => failedLinks),
    Array(3).fill(['s1:s2', 's2:s1']),
    'each switch knows the failed link from both its ends',
  )
  t.equal(inof.peers.length, 12)
  t.ok(inof.peers.every(({ state, stale }) => state === 'established' && stale === 0))
  t.match(printTables(result), 'iNOF: 6 hosts up in 2 zones, 6 known to every switch; 6 of 6 BGP sessions')
  t.match(printTables(result), 'Failed links: s1:s2, s2:s1')
  t.equal(run(`${RING}\ntraffic: [{ from: h1, to: h3, size: 1KB }]`).inof, undefined, 'off by default')
})

t.test('a switch that restarts learns all again, and so do its hosts', async t => {
  const { inof } = run(`${RING}
inof: {}
events: [{ at: 100ms, for: 50ms, restart: s2 }]
traffic: [{ from: h1, to: h5, size: 1KB, start: 3s }]
`)
  t.ok(inof!.hosts.every(({ state, knownBy }) => state === 'up' && knownBy === 3))
  t.same(
    inof!.switches.map(({ members, failedLinks }) => [members, failedLinks]),
    Array(3).fill([6, []]),
  )
  t.ok(inof!.peers.filter(({ of }) => of === 's2').every(({ state }) => state === 'established'))
})

t.test('a switch that restarts still says which of its links have failed', async t => {
  const { inof } = run(`${RING}
inof: {}
events:
  - { at: 50ms, link: s1--s2, down: true }
  - { at: 100ms, for: 50ms, restart: s2 }
traffic: [{ from: h1, to: h5, size: 1KB, start: 3s }]
`)
  t.same(
    inof!.switches.map(({ failedLinks }) => failedLinks),
    Array(3).fill(['s1:s2', 's2:s1']),
  )
})

/** The time that a flow stands still when its path is cut: how much later it ends than on two whole paths. */
function standstill(inof: string, seed: number): { ns: number; timeouts: number; done: boolean } {
  const traffic = 'transport: { retryCount: 2 }\ntraffic: [{ from: h1, to: h2, size: 10MB }]'
  const whole = run(`${TWO_WAYS}${inof}${traffic}`, seed)
  const busy = whole.ports.find(
    ({ switch: sw, peer, txBytes }) => sw === 's1' && peer !== 'h1' && txBytes > 1e6,
  )!
  const cut = run(
    `${TWO_WAYS}${inof}events: [{ at: 3ms, link: s1--${busy.peer}, down: true }]\n${traffic}`,
    seed,
  )
  const [flow] = cut.flows
  return {
    ns: (flow!.fctNs ?? Number.NaN) - whole.flows[0]!.fctNs!,
    timeouts: flow!.timeouts,
    done: flow!.fctNs !== null,
  }
}

t.test('a flow whose path is cut takes the other one within milliseconds; without iNOF it fails', async t => {
  const seed = drawnSeed(t)
  const told = standstill('inof: {}\n', seed)
  t.ok(told.done)
  t.comment(`${told.ns / MS} ms later`)
  // Each look takes 1 ms; ten of them in vain have a probability of one in a thousand.
  t.ok(told.ns < 15 * MS)
  t.notOk(standstill('', seed).done)
  t.notOk(standstill('inof: { failover: false }\n', seed).done, 'notices alone do not help')
})

t.test('a flow whose path is whole stays, whatever link fails', async t => {
  const traffic = 'traffic: [{ from: h1, to: h2, size: 20MB }]'
  const whole = run(`${TWO_WAYS}inof: {}\n${traffic}`)
  const idle = whole.ports.find(
    ({ switch: sw, peer, txBytes }) => sw === 's1' && peer !== 'h1' && txBytes < 1e6,
  )!
  const cut = run(
    `${TWO_WAYS}inof: {}\nevents: [{ at: 3ms, link: s1--${idle.peer}, down: true }]\n${traffic}`,
  )
  // The frames that announce it take their share of the link.
  t.ok(Math.abs(cut.flows[0]!.fctNs! - whole.flows[0]!.fctNs!) < 10 * US)
  t.equal(cut.flows[0]!.retransmittedBytes, 0)
})

/** A switch with a host at port 0 and another switch at port 1. */
function oneSwitch() {
  const pool = new FramePool(64, 576)
  const sw = new Switch({
    id: 1,
    name: 's1',
    ports: [{ rateBps: 1e9 }, { rateBps: 1e9 }],
    bufferBytes: 1e6,
    pool,
    random: () => 0.5,
    features: {
      inof: {
        as: 65_000,
        address: 0xac1f_0001,
        reflectors: [],
        hosts: [0x0a00_0001, 0],
        autoJoin: true,
        holdSeconds: 3,
      },
    },
  })
  const feature = sw.find(Inof)!
  const presence = (address: number, epoch = 7) => {
    const frame = pool.take()!
    const said = { kind: 0, state: HostState.PRESENT, epoch, switchEpoch: 0, heard: 0, address }
    writePresenceFrame(frame, { mac: 0x0200_0000_0001, name: 'h1', port: 'nic' }, said, 1)
    return frame
  }
  return { pool, sw, feature, presence }
}

t.test(
  'only the host of a port announces itself there; LLDP is never forwarded; who changes too fast is not heard',
  async t => {
    const { pool, sw, feature, presence } = oneSwitch()
    sw.onFrame(1000, 0, presence(0x0a00_0002))
    sw.onFrame(1000, 1, presence(0x0a00_0001))
    sw.onFrame(1000, 1, presence(0))
    t.same(feature.agent.members(), [])
    t.equal(feature.counters.forged, 3)
    sw.onFrame(2000, 0, presence(0x0a00_0001))
    t.equal(feature.agent.members().length, 1)
    for (let epoch = 8; epoch < 1008; epoch++) sw.onFrame(3000, 0, presence(0x0a00_0001, epoch))
    t.equal(feature.agent.hurried, 1000)
    let sent = 0
    for (let frame = sw.pollTransmit(1e6); frame !== null; frame = sw.pollTransmit(1e6)) {
      t.equal(presenceOf(frame), null, 'what leaves are notices of its own')
      t.equal(frame.port, 0)
      sent++
      pool.give(frame)
    }
    t.equal(sent, 1, 'the list of members, which is empty')
    t.equal(pool.inUse, 0)
  },
)

t.test('the longest frame of notices fits into a slot for headers', async t => {
  const pool = new FramePool(1, 512)
  const frame = pool.take()!
  const notice = { event: 1 as const, kind: 0, zone: 0, address: 1 }
  const header = { switchEpoch: 1, epoch: 1, first: 1 }
  writeNoticesFrame(frame, { mac: 1, name: 'x'.repeat(32), port: '65535' }, header, Array(40).fill(notice))
  t.ok(frame.length <= 512)
  parseFrame(frame)
  t.equal(frame.l3, -1)
})

t.test('what inof refuses', async t => {
  checkProblems(t, RING, [
    ['inof: ¦3', ['inof is a mapping', 'zones']],
    ['inof: {reflectors: ¦0}', ['3 switches', 'reflectors to 1']],
    ['inof: {hold: ¦2s}', ['whole seconds from 3']],
    ['inof: {hold: ¦3500ms}', ['whole seconds from 3']],
    ['inof: {silence: ¦500ms}', ['whole seconds']],
    ['inof: {storage: [¦h9]}', ["no host is called 'h9'"]],
    ['inof: {storage: ¦[]}', ['a list of hosts']],
    ['inof: {zones: ¦7}', ['zones is a list']],
    ['inof: {zones: [{zone: 7, hosts: [h1]}, {zone: ¦7, hosts: [h2]}]}', ['zone 7 is there twice']],
    ['inof: {zones: [{zone: 7, hosts: [¦s1]}]}', ["no host is called 's1'"]],
    ['inof: {zones: [{zone: ¦1024, hosts: [h1]}]}', ['1023']],
    ['inof: {¦mode: 1}', ["unknown key 'mode'"]],
  ])
})
