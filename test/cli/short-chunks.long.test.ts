/** A daemon with short chunks and one with the default ones exchange files, both ways: each has memory for the other's chunks. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DaemonProcess, scratch, send } from '../support/daemon-process.js'

t.test('--chunk 32KiB beside the default', async t => {
  const [short, other] = [await DaemonProcess.start(t, ['--chunk', '32KiB']), await DaemonProcess.start(t)]
  const content = randomBytes(3_000_000)
  const data = join(await scratch(t), 'data')
  writeFileSync(data, content)
  for (const [from, to] of [
    [short, other],
    [other, short],
  ] as const) {
    const sent = await send(t, from, [data, to.address]).ended
    t.equal(sent.code, 0, sent.stderr)
    t.ok(readFileSync(join(to.inbox, 'data')).equals(content))
  }
})
