/** CNPs of the switch before a long link beside those of receivers behind it, and who takes them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import type { IpccReport } from '../../switch-emu/core/ipcc/ipcc.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { checkProblems } from '../scenario/problems-at.js'
import { repositoryRoot } from '../support/fixtures.js'
import { noTshark, tshark } from '../support/tshark.js'

const TEXT = readFileSync(join(repositoryRoot, 'bench', 'scenarios', 'ipcc.yaml'), 'utf8')
const ECN = TEXT.replace('ipcc: {}', 'ecn: { kmin: 100KB, kmax: 400KB, pmax: 0.2 }')
/** Three flows join the first. */
const JOIN_NS = 200_000
/** Both ways of the long link. */
const ROUND_TRIP_NS = 100_000

function run(text: string, captures?: string): RunResult {
  const options = captures === undefined ? {} : { captures: { folder: captures } }
  return new VirtualRun(parseScenario(text, 'ipcc.yaml'), options).run()
}

/** When the first flow slows down. */
function slowDownNs({ series }: RunResult): number {
  const { timesNs, values } = series['rate/first']!
  return timesNs[values.findIndex(rate => rate < 100e9)]!
}

const portOf = ({ ports }: RunResult) =>
  ports.find(({ name }) => name === 's1:s2')! as RunResult['ports'][number] & { ipcc?: IpccReport }

t.test('the sender slows down before a mark could have come back, and the queue stays shorter', async t => {
  const ipcc = run(TEXT)
  const ecn = run(ECN)
  const after = slowDownNs(ipcc) - JOIN_NS
  // An interval, the short link twice, a sample.
  t.ok(after > 0 && after < 10_000 + 2 * 1000 + 3 * 2000, `after ${after} ns`)
  t.ok(slowDownNs(ecn) - JOIN_NS > ROUND_TRIP_NS, `by ECN after ${slowDownNs(ecn) - JOIN_NS} ns`)
  t.ok(portOf(ipcc).maxQueueBytes < 0.8 * portOf(ecn).maxQueueBytes)
  t.equal(portOf(ipcc).ecnMarks, 0)
  const { sent, cases, list } = portOf(ipcc).ipcc!
  t.ok(sent > 10, `${sent} CNPs`)
  t.equal(cases.risingLow + cases.risingHigh + cases.fallingHigh, sent)
  t.equal(cases.fallingLow, 0)
  t.same(list.map(({ from }) => from).sort(), ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'])
})

t.test('its CNPs are those of hardware, as Wireshark reads them', { skip: noTshark }, async t => {
  const folder = t.testdir({})
  const result = run(
    TEXT.replace('size: 40MB', 'size: 10MB').replace('size: 10MB, start', 'size: 4MB, start'),
    folder,
  )
  const fields = [
    'ip.src',
    'ip.dst',
    'ip.dsfield.dscp',
    'ip.len',
    'udp.dstport',
    'infiniband.bth',
    '_ws.malformed',
  ]
  let sent = 0
  for (const [i, host] of ['h1', 'h2', 'h3', 'h4'].entries()) {
    const cnps = tshark(join(folder, `s1--${host}.pcapng`), fields, 'infiniband.bth.opcode == 0x81', false)
    sent += cnps.length
    for (const [from, to, dscp, length, port, header, malformed] of cnps) {
      t.same(
        [from, to, dscp, length, port, malformed],
        ['10.0.0.5', `10.0.0.${i + 1}`, '48', '60', '4791', ''],
      )
      t.match(header, /^8100ffff40[0-9a-f]{6}00000000$/)
    }
  }
  t.ok(sent > 4)
  t.equal(sent, portOf(result).ipcc!.sent, 'all are there')
})

t.test('with a key, CNPs of switches count only where untaggedCnps allows it', async t => {
  const keyed = TEXT.replace('pathMtu: 4096', 'pathMtu: 4096, untaggedCnps: 10%, key: sixteen bytes or more')
  t.ok(slowDownNs(run(keyed)) - JOIN_NS < 20_000)
})

t.test('where nobody takes them, they are refused', async t => {
  const base = 'hosts: [h1, h2]\nlinks: [h1--s1, s1--h2]\ntraffic: [{from: h1, to: h2, size: 1MB}]\n'
  const switches = 'switches: {s1: {¦ipcc: {}}}\n'
  checkProblems(t, base, [
    [`${switches}cc: hpcc`, [/no flow has a cc that takes notice of CNPs.*cc to dcqcn/]],
    [
      `${switches}cc: dcqcn\ntransport: {key: sixteen bytes or more}`,
      [/they take no CNP of a switch.*untaggedCnps of transport/],
    ],
    ['switches: {s1: {ipcc: {least: ¦50%, high: 40%}}}\ncc: dcqcn', [/least must not be above high/]],
    ['switches: {s1: {ipcc: {few: ¦50%, more: 40%}}}\ncc: dcqcn', [/few must not be above more/]],
    ['switches: {s1: {ipcc: {few: 0, more: ¦0}}}\ncc: dcqcn', [/more is above 0/]],
  ])
  for (const right of ['cc: dcqcn', 'cc: dctcp', 'cc: auto'])
    t.doesNotThrow(() => parseScenario(`${base}switches: {s1: {ipcc: {}}}\n${right}`, 'x.yaml'), right)
})
