/**
 * Runs the commands of a document as its reader does: in order, in one shell, with `weir` on the PATH.
 * Network, processes and mounts are in namespaces of their own, so that addresses and ports are private and
 * everything ends with the shell.
 */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { weirProgram } from '../../lib/package-file.js'
import { repositoryRoot } from '../support/fixtures.js'
import type { Example } from './examples.js'
import { HOME_HOST } from './marker.js'
import { contains, missingLine } from './output.js'
import { blockScript, DRIVER, stepScript } from './session-script.js'
import type { Step } from './steps.js'

/** A document that hangs is ended then, however slow the machine is. */
const SESSION_MS_MAX = 600_000
const ISO_BYTES = 1_000_000

interface Outcome {
  example: Example
  /** Null: it did what it should. */
  fault: string | null
  output: string
}

const namespaces = [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']),
  ...['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'],
]

/** Why no session can be had here, or false: for the `skip` of a test. */
export function noSessions(): string | false {
  for (const tool of ['bash', 'unshare', 'ip']) if (!isInstalled(tool)) return `needs ${tool}`
  const tried = run([...namespaces, 'ip', 'link', 'set', 'lo', 'up'])
  return tried.status === 0 ? false : `needs namespaces: ${tried.stderr.trim() || tried.error?.message}`
}

export function isInstalled(tool: string): boolean {
  return run(['sh', '-c', 'command -v "$1"', 'sh', tool]).status === 0
}

function run([program, ...args]: readonly string[]) {
  return spawnSync(program!, args, { encoding: 'utf8', timeout: 30_000 })
}

/** Runs the steps and reports the result of each. Steps after a failed one are not run. */
export async function runSession(steps: readonly Step[], folder: string): Promise<Outcome[]> {
  const hosts = new Set([HOME_HOST, ...steps.map(({ example }) => example.marker.host)])
  for (const host of hosts) prepareHost(join(folder, host))
  mkdirSync(join(folder, 'bin'))
  const weir = `#!/bin/sh\nexec "${process.execPath}" "${weirProgram()}" "$@"\n`
  writeFileSync(join(folder, 'bin', 'weir'), weir, { mode: 0o755 })
  for (const [i, step] of steps.entries()) writeFileSync(join(folder, `${i}.sh`), blockScript(step))
  writeFileSync(join(folder, 'session.sh'), [DRIVER, ...steps.map(stepScript)].join('\n'))
  const { said, isLate } = await runShell(folder)
  const codes = resultsOf(folder)
  return steps.map((step, i) => ({
    example: step.example,
    output: outputOf(folder, i),
    fault: faultOf(step, codes.get(i), outputOf(folder, i), isLate ? 'the session took too long' : said),
  }))
}

/** A home that is also where commands run: what a clone has, and files to send. */
function prepareHost(home: string): void {
  for (const name of ['.run', '.tmp']) mkdirSync(join(home, name), { recursive: true, mode: 0o700 })
  for (const name of readdirSync(repositoryRoot)) {
    if (!name.startsWith('.') && name !== 'node_modules')
      symlinkSync(join(repositoryRoot, name), join(home, name))
  }
  writeFileSync(join(home, 'big.iso'), randomBytes(ISO_BYTES))
  for (const month of ['january', 'february'])
    writeFileSync(join(home, `${month}.csv`), `month,bytes\n${month},1\n`)
}

async function runShell(folder: string): Promise<{ said: string; isLate: boolean }> {
  const [program, ...args] = [...namespaces, 'bash', join(folder, 'session.sh'), folder]
  const child = spawn(program!, args, { env: environment(folder), stdio: ['ignore', 'ignore', 'pipe'] })
  let isLate = false
  const alarm = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, SESSION_MS_MAX)
  const [said] = await Promise.all([child.stderr.setEncoding('utf8').toArray(), once(child, 'exit')])
  clearTimeout(alarm)
  return { said: said.join(''), isLate }
}

/** A user's environment: without anything of Weir or of the test runner. */
function environment(folder: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(WEIR|TAP|_TAP|NODE_|XDG_)/.test(name))
  return { ...Object.fromEntries(kept), PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
}

/** Exit codes by step. */
function resultsOf(folder: string): Map<number, number> {
  const file = join(folder, 'results')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return new Map(lines.map(line => line.split(' ').map(Number) as [number, number]))
}

function outputOf(folder: string, step: number): string {
  const file = join(folder, `${step}.out`)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function faultOf(
  { example, expects }: Step,
  code: number | undefined,
  output: string,
  said: string,
): string | null {
  const { exitCode, prints } = example.marker
  if (code === undefined) return `not reached, or not ended. ${said}`
  if (code !== exitCode) return `exit code ${code} instead of ${exitCode}`
  for (const text of prints) if (!contains(output, text)) return `its output lacks: ${text}`
  for (const { text, varies } of expects) {
    const missing = missingLine(output, text, varies)
    if (missing !== null) return `its output lacks, or has elsewhere: ${missing}`
  }
  return null
}
