/** Settings of switches in a scenario file: their resolved values, and the errors of impossible ones. */
import t from 'tap'
import { headroomBytes } from '../../lib/scenario/model/headroom.js'
import { hostDscps } from '../../lib/scenario/model/priorities.js'
import type { ScenarioSwitch } from '../../lib/scenario/model/scenario.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { checkProblems } from './problems-at.js'

const NET = 'hosts: [h1, h2]\nlinks: [h1--s1, h2--s1]\n'

function switchOf(settings: string): ScenarioSwitch {
  return parseScenario(`${NET}switches: {s1: {${settings}}}`, 'x.yaml').switches[0]!
}

t.test('PFC: static and dynamic thresholds, and what they leave open', async t => {
  const usual = { priorities: [3], reservedBytes: 0, quanta: 65_535 }
  t.same(switchOf('pfc: {xoff: 500KB}').pfc, { ...usual, xoffBytes: 500_000, xonBytes: 400_000 })
  t.same(switchOf('pfc: {xoff: 500KB, xonOffset: 10KB}').pfc, {
    ...usual,
    xoffBytes: 500_000,
    xonOffsetBytes: 10_000,
  })
  t.same(switchOf('pfc: {alpha: 0.125, priorities: [4, 3, 4]}').pfc, {
    ...usual,
    priorities: [3, 4],
    alpha: 0.125,
    xonOffsetBytes: 2288,
  })
  t.same(switchOf('pfc: {alpha: 1, xon: 3KB, reserved: 2KB, headroom: 40KB, quanta: 100}').pfc, {
    priorities: [3],
    alpha: 1,
    xonBytes: 3000,
    reservedBytes: 2000,
    headroomBytes: 40_000,
    quanta: 100,
  })
  for (const off of ['off', 'false']) t.equal(switchOf(`pfc: ${off}`).pfc, undefined)
})

t.test('marking, weights, maps, queues', async t => {
  const all = [0, 1, 2, 3, 4, 5, 6, 7]
  t.same(switchOf('ecn: {kmin: 10KB, kmax: 20KB, at: dequeue}').ecn, [
    { kminBytes: 10_000, kmaxBytes: 20_000, pmax: 0.2, at: 'dequeue', priorities: all },
  ])
  t.same(
    switchOf(
      'ecn: [{kmin: 1KB, kmax: 2KB, priorities: [3]}, {kmin: 3KB, kmax: 4KB, priorities: [1, 0]}]',
    ).ecn?.map(({ kminBytes, priorities }) => [kminBytes, priorities]),
    [
      [1000, [3]],
      [3000, [0, 1]],
    ],
  )
  t.equal(switchOf('scheduler: strict').weights, undefined)
  t.same(switchOf('scheduler: {0: 30, 3: 70, 6: strict}').weights, [30, 0, 0, 70, 0, 0, 0, 0])
  t.same(switchOf('dscpToTc: {26: 3, 48: 6}, pcpToTc: {5: 3}'), {
    name: 's1',
    id: 1,
    bufferBytes: 32e6,
    dscpToTc: { 26: 3, 48: 6 },
    pcpToTc: { 5: 3 },
  })
  t.equal(switchOf('queueBytesMax: 1MB').queueBytesMax, 1_000_000)
})

t.test('problems', async t => {
  checkProblems(t, NET, [
    ['switches: {s1: {pfc: ¦on}}', ['pfc (or it is off) is a mapping', 'xoff']],
    ['switches: {s1: {pfc: ¦{}}}', ['xoff is missing', 'alpha']],
    ['switches: {s1: {pfc: {xoff: 1KB, alpha: ¦1}}}', ['dynamic', 'one of them']],
    ['switches: {s1: {pfc: {alpha: ¦0}}}', ['128', 'not 0']],
    ['switches: {s1: {pfc: {xoff: 1KB, xonOffset: ¦1KB}}}', ['xonOffset must be below xoff']],
    ['switches: {s1: {pfc: {xoff: 1KB, reserved: ¦2KB}}}', ['reserved must be below xoff']],
    ['switches: {s1: {pfc: {alpha: 1, quanta: ¦65536}}}', ['1 to 65535']],
    ['switches: {s1: {pfc: {alpha: 1, ¦xof: 3}}}', ["unknown key 'xof'", 'xoff']],
    [
      'switches: {s1: {buffer: 100KB, pfc: ¦{xoff: 10KB, headroom: 60KB}}}',
      ['need 120KB of their own', '2 ports', 'the buffer has 100KB'],
    ],
    ['switches: {s1: {ecn: {kmin: 1KB, kmax: 2KB, at: ¦egress}}}', ['enqueue, dequeue']],
    [
      'switches: {s1: {ecn: [{kmin: 1KB, kmax: 2KB}, ¦{kmin: 1KB, kmax: 2KB, priorities: [3]}]}}',
      ['priority 3'],
    ],
    ['switches: {s1: {queueBytesMax: ¦33MB}}', ['more than the buffer (32MB)']],
    ['switches: {s1: {scheduler: ¦dwrr}}', ['strict, or a mapping', "'dwrr'"]],
    ['switches: {s1: {scheduler: {3: ¦101, ¦8: 1}}}', ['1 to 100', 'not 101'], ['0 to 7, not 8']],
    ['switches: {s1: {dscpToTc: {¦64: 3, 26: ¦8}}}', ['0 to 63, not 64'], ['0 to 7, not 8']],
    ['switches: {s1: {pcpToTc: ¦[3]}}', ['a mapping of PCP', 'not a list']],
    [
      'switches: {s1: {dscpToTc: ¦{26: 4}}}\ntraffic: [{name: f, from: h1, to: h2, size: 1MB}]',
      ['no DSCP leads to priority 3', 'f has'],
    ],
  ])
})

t.test(
  'hosts send the DSCP that leads to the priority: the class selector if it does, else the lowest',
  async t => {
    const scenario = (settings: string) => parseScenario(`${NET}switches: {s1: {${settings}}}`, 'x.yaml')
    t.same(hostDscps(scenario(''), 'h1'), [0, 8, 16, 24, 32, 40, 48, 56])
    const map = 'dscpToTc: {0: 1, 24: 3, 26: 3, 46: 5, 34: 4, 35: 4, 48: 6}'
    t.same(hostDscps(scenario(map), 'h1'), [1, 0, 16, 24, 34, 46, 48, 56])
  },
)

t.test('headroom of a link: out and back, three frames, the PFC frame', async t => {
  // 100 Gbit/s and 1 us: 25,000 B on the link; 3 x 1500; 60; and 4 ns of rounding, 50 B.
  t.equal(headroomBytes({ rateBps: 100e9, delayNs: 1000 }, 1500), 25_000 + 4500 + 60 + 50)
  t.equal(headroomBytes({ rateBps: 1e9, delayNs: 0 }, 1500), 4500 + 60 + 1)
})
