import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { commandLinesWith } from '../support/processes.js'

const WEIR = fileURLToPath(new URL('../../bin/weir.js', import.meta.url))

/** A folder with a short name: the paths of Unix sockets are bounded. */
function shortFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts `weir demo` with a temporary folder of its own. */
function startDemo(folder: string, bytes: number) {
  const temporary = join(folder, 't')
  mkdirSync(temporary)
  writeFileSync(join(folder, 'file'), randomBytes(bytes))
  const child = spawn(
    process.execPath,
    [WEIR, 'demo', join(folder, 'file'), '--json', join(folder, 'json'), '--on', 'overlay'],
    {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    output += text
  })
  const left = () => ({ files: readdirSync(temporary), processes: commandLinesWith(temporary) })
  return { child, left, output: () => output }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 20))
}

t.test('both files arrive, the tables say so, the JSON is where it says, nothing is left', async t => {
  const folder = shortFolder(t)
  const { child, left, output } = startDemo(folder, 400_000)
  const [code] = await once(child, 'close')
  t.equal(code, 0, output())
  t.match(output(), /h1-h3 .*equal\n/)
  t.match(output(), /h2-h3 .*equal\n/)
  t.match(output(), /s1:s2 +100Mbps/)
  t.match(output(), `JSON: ${join(folder, 'json')}`)
  const result = JSON.parse(readFileSync(join(folder, 'json'), 'utf8'))
  t.match(result, { on: 'overlay', flows: [{ digestEqual: true }, { digestEqual: true }] })
  t.same(left(), { files: [], processes: [] })
})

for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  t.test(`${signal} in the middle: no process and no folder is left`, async t => {
    const { child, left, output } = startDemo(shortFolder(t), 50_000_000)
    await until(() => /MB at/.test(output()))
    t.equal(left().files.length, 1, 'the lab has a folder')
    child.kill(signal)
    const [code] = await once(child, 'close')
    t.equal(code, exitCode)
    t.match(output(), `stopped by ${signal}`)
    t.same(left(), { files: [], processes: [] })
  })
}

t.test('SIGKILL in the middle: the processes of the lab end by themselves', async t => {
  const { child, left, output } = startDemo(shortFolder(t), 50_000_000)
  await until(() => /MB at/.test(output()))
  child.kill('SIGKILL')
  await once(child, 'exit')
  await until(() => left().processes.length === 0)
  t.same(left().processes, [])
})

t.test('a lab that cannot come up says why, at once, and leaves nothing', async t => {
  const folder = join(shortFolder(t), 'x'.repeat(90))
  mkdirSync(folder)
  const { child, left, output } = startDemo(folder, 1000)
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.match(output(), /longer than 103 bytes/)
  t.same(left(), { files: [], processes: [] })
})

t.test('a file that is not there: one line that names it', async t => {
  const child = spawn(process.execPath, [WEIR, 'demo', '/nowhere/file'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
  })
  // Not 'exit', after which there may be more to read.
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.match(said, /\/nowhere\/file.*WEIR_NO_FILE/)
})
