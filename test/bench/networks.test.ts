/** What `npm run bench -- networks` makes of a path: one queue for Weir and TCP, and the time after which flows share it. */
import t from 'tap'
import { networkCases } from '../../bench/networks/cases.js'
import { labScenario } from '../../bench/networks/lab-path.js'
import { missed } from '../../bench/networks.js'
import { DEFAULT_PRIORITY, dscpMap, hostDscps } from '../../lib/scenario/model/priorities.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'

t.test('the lab serves daemons and programs that set no DSCP from one queue', async t => {
  const text = labScenario({ rateMbps: 100, roundTripMs: 10, bufferBytes: 125_000 })
  const scenario = parseScenario(text, 'networks.yaml')
  const map = dscpMap(scenario.switches[0]!)
  const priorityOf = (dscp: number) => map[dscp] ?? 0
  for (const { name } of scenario.hosts) {
    const dscp = hostDscps(scenario, name)[DEFAULT_PRIORITY]!
    t.equal(priorityOf(dscp), priorityOf(0), `DSCP ${dscp} of ${name}`)
  }
})

t.test('a cycle is K of RFC 9438 for the window that fills path and queue', async t => {
  const cycleOf = (name: string) => networkCases('auto').find(one => one.name === name)!.cycleSeconds
  // W_max in segments of 1,448 bytes, K = cbrt(W_max (1 - 0.7) / 0.4): by hand.
  const wanted: readonly [name: string, seconds: number][] = [
    ['veth', 0],
    // 1 MiB: 724 segments.
    ['tbf 50 Mbit/s, 1024 KiB', 8.16],
    // 2 x 1.25 MB: 1,727 segments.
    ['switch 100 Mbit/s, 100 ms', 10.9],
    // sqrt(1.5 / 0.001) = 38.7 segments.
    ['switch 100 Mbit/s, 20 ms, 0.1 % loss', 3.07],
  ]
  for (const [name, seconds] of wanted) {
    t.ok(Math.abs(cycleOf(name) - seconds) < 0.01 * seconds + 1e-9, `${name}: ${cycleOf(name)} s`)
  }
})

t.test('a row keeps to its limits by figures alone: where nothing was carried there are none', async t => {
  const weir = { goodputBps: 1e6, droppedPackets: 0, dropShare: 0, retransmittedOfDropped: 1 }
  t.same(missed({ weir, ratio: 1, dropRatio: 1, share: 1, jain: 1 }), [])
  t.same(missed({ weir, ratio: 0.9, dropRatio: 2, share: 4, jain: 0.9 }), [
    'goodput',
    'drops',
    'share',
    'Jain',
  ])
  const nothing = {
    weir: { ...weir, retransmittedOfDropped: Number.NaN },
    ratio: Number.NaN,
    dropRatio: null,
  }
  t.same(missed({ ...nothing, share: Number.NaN, jain: Number.NaN }), [
    'goodput',
    'share',
    'Jain',
    'retransmitted',
  ])
})
