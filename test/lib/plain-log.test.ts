/** The log as people read it on a terminal. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { plainLine, plainStream } from '../../lib/plain-log.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'
import { Terminal } from '../support/terminal.js'
import { without } from '../support/tools.js'

function linesOf(act: (log: pino.Logger) => void): string[] {
  const lines: string[] = []
  act(
    pino(
      { name: 'weir' },
      plainStream(text => lines.push(text)),
    ),
  )
  return lines
}

t.test('time, message and fields', async t => {
  const lines = linesOf(log => {
    log.info({ transfer: 'send-1', bytes: 5, share: '', list: [1, 2] }, 'sent')
    log.warn({ error: { code: 'WEIR_FULL', message: 'no place' } }, 'send failed')
    log.info('stopping')
    log.error({ file: 'a\x1b[2J\nb' }, 'odd\rname')
  })
  t.match(lines[0], /^\d\d:\d\d:\d\d {2}sent {2}transfer send-1, bytes 5, list \[1,2\]\n$/)
  t.match(lines[1], /^\d\d:\d\d:\d\d {2}warning: {2}send failed {2}error no place \(WEIR_FULL\)\n$/)
  t.match(lines[2], /^\d\d:\d\d:\d\d {2}stopping\n$/)
  t.match(lines[3], /error: /)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what no line may hold
  for (const line of lines) t.notMatch(line.slice(0, -1), /[\x00-\x1f]/, 'nothing that a terminal obeys')
  t.equal(plainLine('no JSON'), 'no JSON')
})

t.test(
  'a daemon on a terminal writes it, and leaves the terminal as it was',
  { skip: without('script') },
  async t => {
    const folder = await scratch(t)
    mkdirSync(join(folder, 'inbox'))
    const where = [
      '--address',
      loopbackAddress(),
      '--inbox',
      'inbox',
      '--socket',
      's',
      '--no-config',
      '--insecure',
    ]
    const terminal = new Terminal(t, ['daemon', ...where], folder)
    await terminal.until(shown => shown.includes('ready'), 'it was ready')
    t.match(terminal.shown, /^\d\d:\d\d:\d\d {2}ready {2}address 127\./m)
    terminal.type('\x03')
    t.equal(await terminal.ended, 0)
    t.match(terminal.shown, /stopping {2}why SIGINT/)
    t.notMatch(terminal.shown, '{"level"')
    t.notMatch(terminal.shown, '\x1b[?25l', 'the cursor is never hidden')
  },
)
