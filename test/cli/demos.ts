/** `weir demo` as a process with folders of its own, and how it is stopped. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { weirProgram } from '../../lib/package-file.js'
import { commandLinesWith } from '../support/processes.js'

const WEIR = weirProgram()

/** A folder with a short name: the paths of Unix sockets are bounded. */
export function shortFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Starts `weir demo` with a temporary folder of its own, on the overlay.
 * @param within a command line that runs another one, where the demonstration finds nothing but the overlay
 */
export function startDemo(folder: string, bytes: number, within: readonly string[] = []) {
  const temporary = join(folder, 't')
  mkdirSync(temporary)
  writeFileSync(join(folder, 'file'), randomBytes(bytes))
  const demo = [process.execPath, WEIR, 'demo', join(folder, 'file'), '--json', join(folder, 'json')]
  const [program, ...words] = [...within, ...demo, ...(within.length > 0 ? [] : ['--on', 'overlay'])]
  const child = spawn(program!, words, {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
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

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 20))
}

/** Stops a demo in the middle by a signal that it handles. */
export function testStopped(signal: NodeJS.Signals, exitCode: number): void {
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
