/** `weir-roce/lab`: scenarios of programs, in virtual time and in real time. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseCapture, readCapture } from '../../lib/capture/index.js'
import {
  ERROR_CODES,
  loadScenario,
  parseScenario,
  printTables,
  resultJson,
  runScenario,
  scenarioFrom,
  WeirError,
  withLab,
} from '../../switch-emu/index.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'

t.setTimeout(600_000)

const FILE = import.meta.filename

const SMALL = {
  name: 'small',
  link: { rate: '50Mbps', delay: '1ms' },
  hosts: ['h1', 'h2'],
  switches: ['s1'],
  links: ['h1--s1', 'h2--s1'],
  transport: { pathMtu: 4096 },
  traffic: [{ name: 'flow0', from: 'h1', to: 'h2', size: '300KB' }],
}

usual('an object is a scenario; what is wrong with it is said', async t => {
  const scenario = scenarioFrom(SMALL)
  t.match(scenario, { name: 'small', flows: [{ name: 'flow0', bytes: 300_000 }] })
  t.throws(() => scenarioFrom({ ...SMALL, link: { rate: '50Mbit' }, lnks: [] }, 'mine'), {
    code: 'WEIR_BAD_SCENARIO',
    message: /^mine:\d+:\d+: .*50Mbit.*\nmine:.*lnks/s,
  })
  t.throws(() => scenarioFrom({}), { code: 'WEIR_BAD_SCENARIO' })
})

usual('virtual time: the result is that of weir run', async t => {
  const scenario = scenarioFrom(SMALL)
  const progress: number[] = []
  const result = await runScenario(scenario, { seed: 5, onProgress: ({ timeNs }) => progress.push(timeNs) })
  const { wallSeconds: _, ...same } = new VirtualRun(scenario, { seed: 5 }).run()
  t.match(result, same)
  t.match(result, { on: 'virtual', seed: 5, flows: [{ name: 'flow0', fctNs: Number }] })
})

usual('whatever a program hands in, an error has a code', async t => {
  const folder = t.testdir()
  const scenario = scenarioFrom({ ...SMALL, traffic: [] })
  const captures = (more: object) => runScenario(scenario, { captures: { folder, ...more } })
  // biome-ignore lint/suspicious/noExplicitAny: that is what is tested
  const calls: Record<string, (odd: any) => unknown> = {
    scenarioFrom: odd => scenarioFrom(odd),
    'name of scenarioFrom': odd => scenarioFrom({}, odd),
    'a member of scenarioFrom': odd => scenarioFrom({ ...SMALL, seed: odd }),
    loadScenario: odd => loadScenario(odd),
    parseScenario: odd => parseScenario(odd, 'file'),
    'name of parseScenario': odd => parseScenario('', odd),
    runScenario: odd => runScenario(odd),
    'runScenario, options': odd => runScenario(scenario, odd),
    on: odd => runScenario(scenario, { on: odd ?? 5 }),
    seed: odd => runScenario(scenario, { seed: odd }),
    captures: odd => runScenario(scenario, { captures: odd }),
    folder: odd => captures({ folder: odd === 'x' ? '' : odd }),
    snapBytes: odd => captures({ snapBytes: odd }),
    bytesMax: odd => captures({ bytesMax: odd }),
    mayStop: odd => captures({ mayStop: odd }),
    onProgress: odd => runScenario(scenario, { onProgress: odd }),
    printTables: odd => printTables(odd),
    resultJson: odd => resultJson(odd),
    withLab: odd => withLab(odd, {}, async () => {}),
    'withLab, work': odd => withLab(scenario, { on: 'none' } as never, odd),
    readCapture: odd => [...readCapture(odd)],
    'readCapture, options': odd => readCapture('a', odd),
    ifaProtocol: odd => readCapture('a', { ifaProtocol: odd }),
    parseCapture: odd => [...parseCapture(odd)],
    'name of parseCapture': odd => [...parseCapture(new Uint8Array(3), odd)],
  }
  const odds = [undefined, null, Number.NaN, -1, 1.5, 5n, 'x', '', {}, [], () => {}, Symbol('s')]
  for (const [name, call] of Object.entries(calls))
    for (const odd of odds)
      try {
        await call(odd)
      } catch (error) {
        const isCoded = error instanceof WeirError && error.code in ERROR_CODES
        if (!isCoded || error.code === 'WEIR_INTERNAL') t.fail(`${name}: ${error}`)
      }
  for (const odd of [null, -1, 1.5, '5'])
    await t.rejects(runScenario(scenario, { seed: odd as never }), { message: /^runScenario: seed is / })
  const result = await runScenario(scenario)
  for (const odd of [null, 0, Number.NaN, '80'])
    t.throws(() => printTables(result, odd as never), { code: 'WEIR_BAD_ARGUMENT', message: /columns is/ })
  t.throws(() => readCapture('a', { ifaProtocol: 17 }), { code: 'WEIR_BAD_ARGUMENT' }, 'before the loop')
})

long('real time: the same flows, real bytes, captures', async t => {
  const folder = t.testdir()
  const result = await runScenario(scenarioFrom(SMALL), { on: 'overlay', captures: { folder } })
  t.match(result, { on: 'overlay', flows: [{ name: 'flow0', bytes: 300_000, fctNs: Number }] })
  const icrcs = new Set([...readCapture(join(folder, 's1--h2.pcapng'))].map(({ icrc }) => icrc))
  t.same(
    [...icrcs].filter(verdict => verdict !== null),
    ['right'],
  )
})

usual('a lab for a program: its hosts are daemons', async t => {
  const { inbox, bytes } = await withLab(scenarioFrom(SMALL), { on: 'overlay' }, async lab => {
    const to = lab.host('h2')
    t.throws(() => lab.host('h3'), { code: 'WEIR_BAD_ARGUMENT', message: /there is no host h3; there are h/ })
    const sent = await lab.host('h1').client.send(FILE, to.address)
    t.ok(readFileSync(join(to.inbox, 'lab-api.test.js')).equals(readFileSync(FILE)))
    return { inbox: to.inbox, bytes: sent.bytes }
  })
  t.ok(bytes > 1000)
  t.throws(() => readFileSync(join(inbox, 'lab-api.test.js')), { code: 'ENOENT' }, 'the lab is gone')
})
