/**
 * Daemons on different ports understand each other: what one port cannot set, another one does not insist on. Not from batch to raw:
 * on one machine nothing cuts a run of packets (UDP_SEGMENT) into packets again before a raw socket gets it.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { libcFault } from '../../lib/io/linux/libc.js'
import { rawFault } from '../../lib/io/raw-port.js'
import { DaemonProcess, get, scratch, send } from '../support/daemon-process.js'

const noRaw =
  rawFault() ?? (process.env.WEIR_IO === 'raw' ? false : 'raw sockets are tested alone, with WEIR_IO=raw')

for (const [a, b, skip] of [
  ['dgram', 'batch', libcFault() ?? false],
  ['dgram', 'raw', noRaw],
] as const) {
  t.test(`a file from ${a} to ${b}, and back`, { skip }, async t => {
    const folder = await scratch(t)
    const [from, to] = await Promise.all([
      DaemonProcess.start(t, ['--io', a]),
      DaemonProcess.startSharing(t, ['--io', b]),
    ])
    const bytes = Buffer.alloc(400_000, `from ${a} to ${b} `)
    await writeFile(join(folder, 'data'), bytes)
    const sent = await send(t, from, [join(folder, 'data'), to.address]).ended
    t.equal(sent.code, 0, sent.stderr)
    t.ok(readFileSync(join(to.inbox, 'data')).equals(bytes))
    await writeFile(join(to.share, 'back'), bytes)
    const got = await get(t, from, [`${to.address}:back`, folder]).ended
    t.equal(got.code, 0, got.stderr)
    t.ok(readFileSync(join(folder, 'back')).equals(bytes))
  })
}
