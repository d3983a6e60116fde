/** `weir … | head`, and a full disk: how commands end whose output nobody reads. */

import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { weirProgram } from '../../lib/package-file.js'
import { CommandLines } from '../support/command-lines.js'
import { DaemonProcess, Run, scratch } from '../support/daemon-process.js'
import { fixturePath } from '../support/fixtures.js'
import { long, usual } from '../support/long.js'

const WEIR = weirProgram()
const YAML = `
link: { rate: 1Gbps, delay: 1us }
hosts: [h1, h2]
switches: [s1]
links: [h1--s1, h2--s1]
traffic: [{ from: h1, to: h2, size: 10KB }]
`
const folder = await scratch(t)
const SCENARIO = join(folder, 'small.yaml')
writeFileSync(SCENARIO, YAML)

/** Nobody reads the output from now on. */
function leave(run: Run): void {
  run.child.stdout!.destroy()
}

usual('commands that end by themselves', async t => {
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

usual(
  'output that cannot be written is a failure, reported once',
  { skip: !existsSync('/dev/full') },
  async t => {
    const capture = fixturePath('roce-pcaps', 'vt_all.pcap')
    for (const args of [
      ['dump', capture],
      ['dump', capture, '--json'],
      ['run', SCENARIO],
    ]) {
      const full = openSync('/dev/full', 'w')
      const { status, stderr } = spawnSync(process.execPath, [WEIR, ...args], {
        stdio: ['ignore', full, 'pipe'],
        encoding: 'utf8',
      })
      closeSync(full)
      t.equal(status, 1, args.join(' '))
      t.equal(stderr, 'weir: the output cannot be written: no space is left there (WEIR_NO_FILE)\n')
    }
  },
)

long('where a result cannot be written is said before the run', async t => {
  for (const [file, why] of [
    [join(folder, 'none', 'a.json'), 'there is no such folder'],
    [folder, 'it is a directory'],
  ] as const) {
    const { code, stdout, stderr } = await new CommandLines(t).run(['run', SCENARIO, '--json', file])
    t.equal(code, 1)
    t.equal(stdout, '', 'nothing has run')
    t.equal(stderr, `weir: the result ${file} cannot be written: ${why} (WEIR_NO_FILE)\n`)
  }
})

usual('a failure is one, whoever listens', async t => {
  const run = new Run(t, ['run', '/nowhere.yaml'])
  leave(run)
  const { code, stderr } = await run.ended
  t.equal(code, 1)
  t.match(stderr, /WEIR_NO_FILE/)
})

long('a list that is printed every second', async t => {
  const daemon = await DaemonProcess.start(t)
  for (const flags of [[], ['--json']]) {
    const run = new Run(t, ['transfers', '--watch', ...flags, '--socket', daemon.socket])
    await run.until(() => run.stdout !== '', 'it has begun')
    leave(run)
    t.match(await run.ended, { code: 0, stderr: '' })
  }
})
