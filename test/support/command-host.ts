/**
 * A process that runs one command line after the other (`CommandLines`). Output and exit code of a command
 * are as in a process of its own, without the half second of CPU time for loading it each time.
 */
import { writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { weirProgram } from '../../lib/package-file.js'
import { type CommandEnd, type CommandLine, END } from './end-mark.js'

// As in `weir` itself, from few files.
const bundled = join(dirname(weirProgram()), 'command-line.js')
const { makeProgram, report } = (await import(
  pathToFileURL(bundled).href
)) as typeof import('../../bin/command-line.js')

/** `process.exit` throws this here, because the process has further command lines to run. */
class Exit extends Error {}

const printed = { stdout: '', stderr: '' }

for (const name of ['stdout', 'stderr'] as const) {
  const write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    printed[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const done = rest.find(one => typeof one === 'function') as (() => void) | undefined
    if (done) process.nextTick(done)
    return true
  }
  process[name].write = write as typeof process.stdout.write
}

process.exit = (code?: number | string | null): never => {
  if (code !== undefined) process.exitCode = Number(code)
  throw new Exit()
}

async function run({ words, cwd }: CommandLine): Promise<CommandEnd> {
  printed.stdout = ''
  printed.stderr = ''
  process.exitCode = undefined
  process.chdir(cwd)
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...words)
  try {
    const program = await makeProgram(words)
    await program.parseAsync(process.argv)
  } catch (error) {
    if (!(error instanceof Exit)) report(error)
  }
  const code = Number(process.exitCode ?? 0)
  process.exitCode = undefined
  return { code, ...printed }
}

process.on('message', async (line: CommandLine) => {
  const end = await run(line)
  // Programs that the command ran write there directly.
  for (const descriptor of [1, 2]) writeSync(descriptor, END)
  process.send!(end)
})
