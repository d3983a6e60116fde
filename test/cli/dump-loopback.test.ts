/**
 * `tcpdump | weir dump -` on loopback, where nothing splits runs and kernels number the packets of ordinary
 * sockets.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { libcFault } from '../../lib/io/linux/libc.js'
import { weirProgram } from '../../lib/package-file.js'
import { DaemonProcess, scratch, send } from '../support/daemon-process.js'
import { variants } from '../support/long.js'
import { without } from '../support/tools.js'

const WEIR = weirProgram()
const skip = without('tcpdump') || (process.getuid?.() !== 0 && 'needs root')

for (const io of variants(['batch', 'dgram'], 1)) {
  const noBatch = io === 'batch' && (libcFault() ?? false)
  t.test(`what --io ${io} sends has right ICRCs`, { skip: skip || noBatch }, async t => {
    const port = io === 'dgram' ? ['--port', '5791'] : []
    const flags = ['--io', io, ...port]
    const [from, to] = [await DaemonProcess.start(t, flags), await DaemonProcess.start(t, flags)]
    const filter = `udp and host ${from.address} and host ${to.address}`
    const tcpdump = spawn(
      'tcpdump',
      ['-i', 'lo', '-U', '--immediate-mode', '-B', '32768', '-w', '-', filter],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const dump = spawn(process.execPath, [WEIR, 'dump', ...port, '-'], {
      stdio: [tcpdump.stdout, 'pipe', 'inherit'],
    })
    t.teardown(() => {
      tcpdump.kill('SIGKILL')
      dump.kill('SIGKILL')
    })
    let said = ''
    tcpdump.stderr.on('data', chunk => {
      said += chunk
    })
    let printed = ''
    dump.stdout.on('data', chunk => {
      printed += chunk
    })
    const ended = new Promise(resolve => dump.once('close', resolve))
    while (!said.includes('listening on')) await new Promise(resolve => setTimeout(resolve, 10))
    const data = join(await scratch(t), 'data')
    writeFileSync(data, randomBytes(300_000))
    const sent = await send(t, from, [data, to.address]).ended
    t.equal(sent.code, 0, sent.stderr)
    // Packets are printed before more arrive.
    while (!printed.includes('RC_RDMA_WRITE_LAST')) await new Promise(resolve => setTimeout(resolve, 10))
    tcpdump.kill('SIGTERM')
    t.equal(await ended, 0)
    const lines = printed.trimEnd().split('\n')
    t.same(
      lines.filter(line => line.includes('icrc BAD')),
      [],
    )
    t.match(
      lines.pop(),
      /^\d+ packets, (\d+) RoCEv2, \1 ICRCs right( \(\d+ with IP id 0\))?, 0 wrong, 0 malformed/,
    )
    const data256 = lines.filter(line => line.includes('RC_RDMA_WRITE_MIDDLE'))
    t.ok(data256.length > 50, `${data256.length} packets of data`)
    if (io === 'dgram')
      t.ok(
        data256.some(line => line.includes('IP id taken as 0')),
        'numbered by the kernel',
      )
  })
}
