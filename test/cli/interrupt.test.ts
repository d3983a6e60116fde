/**
 * A run in virtual time that is stopped: it ends at once, leaves nothing on the terminal, and writes no
 * partial files.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { weirProgram } from '../../lib/package-file.js'
import { CommandLines } from '../support/command-lines.js'
import { Run, scratch } from '../support/daemon-process.js'
import { usual, variants } from '../support/long.js'
import { without } from '../support/tools.js'

const WEIR = weirProgram()

/** Hours of CPU time. */
const LONG = `
name: long
link: { rate: 100Gbps, delay: 1us }
hosts: [h1..h4]
switches: [s1]
links: [h1..h4--s1]
traffic: [{ incast: [h1..h3], to: h4, size: 2GB, repeat: 50, every: 1ms }]
watch: { queues: [s1:h4], every: 10us }
`
const lines = new CommandLines(t)

const FLAGS = ['--json', 'out.json', '--pcap', 'captures', '--snaplen', '64']

async function checkFolder(t: Test, folder: string): Promise<void> {
  t.same(readdirSync(folder).sort(), ['captures', 'long.yaml'], 'no result, and no half of one')
  const file = join(folder, 'captures', 's1--h4.pcapng')
  const { code, stdout, stderr } = await lines.run(['dump', file, '--json'])
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), { malformed: 0 })
  t.ok(JSON.parse(stdout).packets > 100)
}

usual('Ctrl-C on a terminal', { skip: without('script', 'stty') }, async t => {
  const folder = await scratch(t)
  writeFileSync(join(folder, 'long.yaml'), LONG)
  const command = `stty cols 60; exec '${process.execPath}' '${WEIR}' run long.yaml ${FLAGS.join(' ')}`
  // util-linux's script runs a command on a terminal of its own.
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  let shown = ''
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  child.stdout.setEncoding('utf8')
  for await (const piece of child.stdout) {
    const before = / of \d.*left/.test(shown)
    shown += piece
    if (!before && / of \d.*left/.test(shown)) child.stdin.write('\x03')
  }
  t.equal(await ended, 130, shown)
  const at = shown.indexOf('weir: the run was stopped by SIGINT')
  t.match(
    shown.slice(at),
    /^weir: the run was stopped by SIGINT .*\(WEIR_CANCELLED\)\r\n$/s,
    'one line in the end',
  )
  t.ok(shown.slice(0, at).endsWith('\r\x1b[J'), 'behind it the status line is gone')
  t.notMatch(shown, '\x1b[?', 'no mode of the terminal was changed: the cursor is there')
  await checkFolder(t, folder)
})

for (const [signal, code] of variants(
  [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const,
  1,
)) {
  t.test(`${signal} without a terminal`, async t => {
    const folder = await scratch(t)
    writeFileSync(join(folder, 'long.yaml'), LONG)
    const run = new Run(t, ['run', 'long.yaml', ...FLAGS], folder)
    const file = join(folder, 'captures', 's1--h4.pcapng')
    const captured = () => existsSync(file) && statSync(file).size > 100_000
    await run.until(captured, 'it captured')
    run.child.kill(signal)
    const ended = await run.ended
    t.equal(ended.code, code, ended.stderr)
    t.equal(ended.stdout, '')
    t.match(ended.stderr, new RegExp(`^weir: the run was stopped by ${signal} .*\\(WEIR_CANCELLED\\)\\n$`))
    await checkFolder(t, folder)
  })
}
