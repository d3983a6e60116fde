/**
 * Selects the TAP of a test file that the suite parses. tap parses each line once per level, in the suite and
 * again in its runner, so nested lines only cost CPU time. For a file that passes, the top level is enough.
 */
import type { ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Passes the file's TAP to its parser without nested lines, if the file passes. */
export function passTopLevelOn(process: ChildProcess, parser: Writable): void {
  const stdout = process.stdout
  if (!stdout) throw new Error('the test file has no standard output to read')
  const chunks: Buffer[] = []
  stdout.unpipe(parser)
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  // A stream that was unpiped stays paused, and a full pipe stops the file.
  stdout.resume()
  stdout.on('end', () => parser.end(topLevel(Buffer.concat(chunks).toString())))
}

/** @returns the lines of the top level; all lines of a file that failed or did not come to its plan */
export function topLevel(tap: string): string {
  if (/^(not ok|Bail out!)/m.test(tap) || !/^1\.\.\d/m.test(tap)) return tap
  return tap
    .split('\n')
    .filter(line => line !== '' && !/^(\s|}|# Subtest: )/.test(line))
    .map(line => `${/^ok /.test(line) ? line.replace(/ \{$/, '') : line}\n`)
    .join('')
}
