/** `paths` of scenario files, and what results and tables show of it. */
import t from 'tap'
import { DEFAULT_PATHS } from '../../lib/cc/path-settings.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import { daemonArguments } from '../../switch-emu/real-time/daemon-arguments.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { checkProblems } from './problems-at.js'

const BASE =
  'hosts: [h1, h2]\nswitches: [s1]\ntraffic: [{from: h1, to: h2, size: 1MB}]\nlinks: [h1--s1, s1--h2]\n'

const parse = (text: string) => parseScenario(BASE + text, 'x.yaml')

t.test('settings and their defaults', async t => {
  t.same(parse('').paths, DEFAULT_PATHS)
  t.same(DEFAULT_PATHS, {
    count: 1,
    start: 'choose',
    move: 'never',
    margin: 0.1,
    intervalNs: 0,
    admission: 0,
    admissionWaitNs: 0,
    admissionQueue: 64,
  })
  const given = parse('paths: {count: 4, move: idle, interval: 2ms, admission: 0.9, admissionWait: 1s}')
  const paths = {
    ...DEFAULT_PATHS,
    count: 4,
    move: 'idle',
    intervalNs: 2e6,
    admission: 0.9,
    admissionWaitNs: 1e9,
  }
  t.same(given.paths, paths)
  const args = daemonArguments(given, 'h1', { socket: 's', inbox: 'i' }).join(' ')
  for (const text of ['count=4', 'move=idle', 'interval=2ms', 'admission=0.9'])
    t.match(args, `--paths ${text}`)
})

t.test('mistakes', async t => {
  checkProblems(t, BASE, [
    ['paths: {count: ¦17}', ['from 1 to 16', 'not 17']],
    ['paths: {count: 2, move: ¦always}', ['never, idle, drain']],
    ['paths: {start: ¦random}', ['choose, hash']],
    ['paths: {¦ways: 3}', ["unknown key 'ways'", 'count']],
    ['paths: {¦move: idle}', ['move has no effect while count is 1', 'count to 2 or more']],
    ['paths: {¦admissionWait: 1ms}', ['while admission is 0', 'admission above 0']],
    ['paths: {admission: 0.5, ¦admissionQueue: 9}', ['while admissionWait is 0']],
    ['paths: {¦start: hash}', ['while count is 1']],
    ['paths: {count: 2, admission: 0.5, ¦start: hash}', ['while admission is above 0']],
    ['paths: {count: 2, ¦margin: 0.2}', ['while move is never']],
    ['paths: {¦interval: 1ms}', ['while count is 1']],
    ['paths: {admission: 0.5, admissionWait: ¦20m}', [/20m/]],
    ['paths: {admission: ¦11}', ['0 to 10']],
    ['paths: {count: 2, margin: ¦-1}', ['0 to 1']],
    ['paths: ¦4', ['paths is a mapping']],
  ])
})

t.test('tables name the port, moves and delays of a flow, and who was refused', async t => {
  const result = new VirtualRun(parse('paths: {count: 2}')).run()
  const { sourcePort, probes } = result.flows[0]!.paths!
  t.ok(sourcePort >= 0xc000 && probes >= 4)
  const table = printTables(result)
  t.match(table, /port +moves +delayed/)
  t.match(table, String(sourcePort))
  result.flows[0] = { ...result.flows[0]!, fctNs: null, refused: 'no room' }
  t.match(printTables(result), /refused/)
  t.notMatch(printTables(new VirtualRun(parse('')).run()), /moves/)
})
