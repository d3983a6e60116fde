import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { WeirError } from '../../../lib/errors.js'
import { parseScenario } from '../../../lib/scenario/read/load-scenario.js'
import { OverlayLab } from '../../../switch-emu/overlay/lab.js'
import { withLab } from '../../../switch-emu/real-time/lab.js'
import { sendFiles } from '../../../switch-emu/real-time/send-files.js'
import { commandLinesWith } from '../../support/processes.js'

const SCENARIO = parseScenario(
  `
name: lab
link: {rate: 200Mbps, delay: 200us}
hosts: [h1, h2]
switches: {s1: {}}
links: [h1--s1, h2--s1]
transport: {pathMtu: 4096}
traffic:
  - {name: there, from: h1, to: h2, size: 1MB}
  - {name: back, from: h2, to: h1, size: 500KB, start: 100ms}
watch: {queues: [s1:h2], every: 10ms}
`,
  'lab.yaml',
)

t.test('files cross the lab whole, and nothing is left of it', async t => {
  const folder = t.testdir({})
  const path = join(folder, 'data')
  writeFileSync(path, randomBytes(300_000))
  let views = 0
  const result = await sendFiles(
    OverlayLab.up,
    SCENARIO,
    [{ from: 'h1', to: 'h2', path, name: 'copy', startMs: 0 }],
    {
      onView: view => {
        views++
        t.equal(view.ports.length, view.queueBytes.length)
      },
    },
  )
  t.match(result, {
    scenario: { name: 'lab' },
    on: 'overlay',
    flows: [{ name: 'h1-h2', bytes: 300_000, ackedBytes: 300_000, digestEqual: true }],
  })
  t.ok(views > 0)
  const port = result.ports.find(({ name }) => name === 's1:h2')!
  t.ok(port.txBytes > 300_000, 'payload and headers')
  t.ok(result.series['queue/s1:h2']!.values.length > 0)
})

t.test('what arrives is in the inbox, and the lab goes, whole, when the work in it fails', async t => {
  const path = join(t.testdir({}), 'small')
  const bytes = randomBytes(5000)
  writeFileSync(path, bytes)
  let lab: OverlayLab | undefined
  await t.rejects(
    withLab(OverlayLab.up, SCENARIO, async up => {
      lab = up
      t.equal(commandLinesWith(up.folder).length, 3)
      await up.host('h2').client.send(path, up.host('h1').address, { name: 'back' })
      t.ok(readFileSync(join(up.host('h1').inbox, 'back')).equals(bytes))
      throw new Error('enough')
    }),
    { message: 'enough' },
  )
  t.notOk(existsSync(lab!.folder))
  t.same(commandLinesWith(lab!.folder), [])
})

t.test('a process that dies ends the lab, with its name', async t => {
  let folder = ''
  const failure = withLab(OverlayLab.up, SCENARIO, async lab => {
    folder = lab.folder
    const { pid } = await lab.host('h2').client.status()
    process.kill(pid, 'SIGKILL')
    await new Promise(() => {})
  })
  const error = await failure.then(
    () => null,
    (reason: unknown) => reason,
  )
  t.ok(error instanceof WeirError)
  t.match(error, { code: 'WEIR_CONNECTION_LOST', message: /h2/ })
  t.notOk(existsSync(folder))
  t.same(commandLinesWith(folder), [])
})

t.test('a flow that cannot be is refused before anything is started', async t => {
  await t.rejects(
    sendFiles(OverlayLab.up, SCENARIO, [
      { from: 'h1', to: 'h2', path: '/nowhere/at/all', name: 'x', startMs: 0 },
    ]),
    { code: 'WEIR_NO_FILE', message: /nowhere/ },
  )
})

t.test('a lab that is cancelled before it has ports starts no process', async t => {
  const cancelled = new AbortController()
  const up = OverlayLab.up(SCENARIO, {}, cancelled.signal)
  cancelled.abort('SIGTERM')
  await t.rejects(up, { code: 'WEIR_CANCELLED' })
  // The ports are found after that.
  for (let look = 0; look < 40; look++) {
    await sleep(25)
    const children = process.getActiveResourcesInfo().filter(name => name === 'ProcessWrap')
    if (children.length > 0) return t.fail('the switch process was started all the same')
  }
})

t.test('a temporary folder with a path too long for sockets is refused before anything starts', async t => {
  const before = process.env.TMPDIR
  t.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  const folder = join(t.testdir({}), 'x'.repeat(100))
  mkdirSync(folder)
  process.env.TMPDIR = folder
  await t.rejects(OverlayLab.up(SCENARIO), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /longer than 103 bytes: set TMPDIR/,
  })
  t.same(readdirSync(folder), [], 'nothing is left')
})
