/** `weir … | head`: a reader that has seen enough ends a command, quietly and in order. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { PerfReport } from '../../bin/commands/perf.js'
import { packageFile } from '../../lib/scenario/package-file.js'
import { DaemonProcess, Run, scratch } from '../support/daemon-process.js'

const SCENARIO = packageFile('bench', 'scenarios', 'two-switches.yaml')

/** Has nobody read what it says from now on. */
function leave(run: Run): void {
  run.child.stdout!.destroy()
}

t.test('commands that end by themselves', async t => {
  const folder = await scratch(t)
  for (const [what, ...args] of [
    ['tables', 'run', SCENARIO, '--json', join(folder, 'a.json')],
    ['JSON', 'run', SCENARIO, '--json', '-'],
    ['a diagnosis', 'doctor', '--json'],
    ['help', 'perf', 'bw', '--help'],
  ] as const) {
    const run = new Run(t, args)
    leave(run)
    const { code, stderr } = await run.ended
    t.equal(code, 0, what)
    t.equal(stderr, '', what)
  }
  t.ok(existsSync(join(folder, 'a.json')), 'the file is written all the same')
})

t.test('a failure is one, whoever listens', async t => {
  const run = new Run(t, ['run', '/nowhere.yaml'])
  leave(run)
  const { code, stderr } = await run.ended
  t.equal(code, 1)
  t.match(stderr, /WEIR_NO_FILE/)
})

t.test('a measurement of all sizes ends early, at both ends', async t => {
  const [from, to] = await Promise.all([DaemonProcess.start(t), DaemonProcess.start(t)])
  const args = ['perf', 'bw', to.address, '--socket', from.socket]
  const run = new Run(t, [...args, '--all', '--duration', '500ms', '--warmup', '0s'])
  await run.until(() => run.stdout.includes('#bytes'), 'it had begun')
  leave(run)
  const { code, stderr } = await run.ended
  t.equal(code, 0)
  t.equal(stderr, '')
  const again = await new Run(t, [...args, '--iters', '3', '--json']).ended
  t.equal(again.code, 0, again.stderr)
  t.equal((JSON.parse(again.stdout) as PerfReport).messages, 3)
})
