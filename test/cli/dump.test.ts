/** `weir dump` as a user runs it: a process, its output, its exit code. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { weirProgram } from '../../lib/package-file.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { CommandLines } from '../support/command-lines.js'
import { undocumented } from '../support/documented.js'
import { fixturePath } from '../support/fixtures.js'
import { twoSenders } from '../support/tshark.js'

const folder = mkdtempSync(join(tmpdir(), 'weir-dump-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const WEIR = weirProgram()

const lines = new CommandLines(t)

async function dump(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await lines.run(['dump', ...args])
  return { status: code, stdout, stderr }
}

function dumpOf(input: Buffer, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [WEIR, 'dump', ...args], { input, encoding: 'utf8' })
}

const rping = fixturePath('roce-pcaps', 'cm_rping.pcap')

t.test('a line per packet', async t => {
  const { status, stdout, stderr } = await dump(rping)
  t.equal(status, 0)
  t.equal(stderr, '')
  const lines = stdout.trimEnd().split('\n')
  t.equal(lines.length, 44)
  t.match(lines[0], /^\d\d:\d\d:\d\d\.\d{9} ARP who-has 10\.99\.0\.1 tell 10\.99\.0\.2$/)
  t.match(lines[2], /10\.99\.0\.2\.55410 > 10\.99\.0\.1\.4791: UD_SEND_ONLY .*REQ.*, icrc ok$/)
  t.equal(lines[43], '43 packets, 41 RoCEv2, 41 ICRCs right, 0 wrong, 0 malformed')
})

t.test('--json', async t => {
  const { status, stdout } = await dump('--json', rping)
  t.equal(status, 0)
  t.same(JSON.parse(stdout), {
    packets: 43,
    roce: 41,
    icrcOk: 41,
    icrcBad: 0,
    malformed: 0,
    byOpcode: {
      RC_ACKNOWLEDGE: 15,
      RC_SEND_ONLY: 12,
      UD_SEND_ONLY: 5,
      RC_RDMA_READ_REQUEST: 3,
      RC_RDMA_READ_RESPONSE_ONLY: 3,
      RC_RDMA_WRITE_ONLY: 3,
    },
  })
})

t.test('a wrong ICRC, a malformed packet and a cut one are counted apart', async t => {
  const file = readFileSync(rping)
  // Records: 24 + 2 ARPs of 16 + 42; then CM packets of 16 + 322.
  const first = 24 + 2 * 58
  file[first + 16 + 42 + 9]! ^= 1 // PSN of the first CM packet
  file[first + 338 + 16 + 14] = 0x35 // IP version of the second
  file.writeUInt32LE(100, first + 2 * 338 + 8) // the third was captured to 100 bytes
  const cut = Buffer.concat([file.subarray(0, first + 2 * 338 + 116), file.subarray(first + 3 * 338)])
  const path = join(folder, 'spoilt.pcap')
  writeFileSync(path, cut)
  const summary = JSON.parse((await dump('--json', path)).stdout)
  t.match(summary, { packets: 43, roce: 40, icrcOk: 38, icrcBad: 1, malformed: 1 })
  t.same(undocumented('captures.md', summary), [])
  const { stdout } = await dump(path)
  t.match(stdout, /icrc BAD\n/)
  t.match(stdout, /\[malformed: bad-ipv4-header\]\n/)
  t.match(stdout, /icrc not captured\n/)
  t.match(stdout, /\n43 packets, 40 RoCEv2, 38 ICRCs right, 1 wrong, 1 not captured, 1 malformed\n$/)
})

t.test('packets of which a capture has kept too little are not malformed', async t => {
  const file = readFileSync(rping)
  const first = 24 + 2 * 58
  file.writeUInt32LE(46, first + 8) // of the first CM packet, Ethernet, IP, UDP and 4 bytes of the BTH
  const path = join(folder, 'snapped.pcap')
  writeFileSync(path, Buffer.concat([file.subarray(0, first + 16 + 46), file.subarray(first + 338)]))
  t.match(JSON.parse((await dump('--json', path)).stdout), {
    packets: 43,
    roce: 40,
    malformed: 0,
    cutShort: 1,
  })
  const { stdout } = await dump(path)
  t.match(stdout, / > 10\.99\.0\.1\.4791: UDP.* \[captured too short: short-bth\]\n/)
  t.match(stdout, /, 0 malformed, 1 captured too short to tell\n$/)
})

t.test('a datagram without a byte, which asks whether anything listens, is not malformed', async t => {
  const file = Buffer.from(readFileSync(rping))
  const first = 24 + 2 * 58
  // Ethernet, IP and UDP of the first CM packet.
  const ip = first + 16 + 14
  file.writeUInt32LE(42, first + 8)
  file.writeUInt32LE(42, first + 12)
  file.writeUInt16BE(28, ip + 2)
  file.writeUInt16BE(8, ip + 20 + 4)
  const path = join(folder, 'empty.pcap')
  writeFileSync(path, Buffer.concat([file.subarray(0, first + 16 + 42), file.subarray(first + 338)]))
  t.match(JSON.parse((await dump('--json', path)).stdout), {
    packets: 43,
    roce: 40,
    icrcOk: 40,
    malformed: 0,
  })
  t.match((await dump(path)).stdout, / > 10\.99\.0\.1\.4791: knock \(does anything listen\?\)\n/)
})

t.test('errors: a clear word, a failing exit code', async t => {
  const missing = await dump(join(folder, 'none.pcap'))
  t.equal(missing.status, 1)
  t.match(missing.stderr, /^weir: cannot read .*none\.pcap: there is no such file \(WEIR_NO_FILE\)\n$/)
  t.equal(missing.stdout, '')

  const text = join(folder, 'text.pcap')
  writeFileSync(text, 'no capture at all')
  for (const args of [[text], ['--json', text]]) {
    const { status, stderr } = await dump(...args)
    t.equal(status, 1)
    t.match(stderr, /^weir: .*text\.pcap: at byte 0: this is neither pcap nor pcapng/)
  }

  const short = join(folder, 'short.pcap')
  writeFileSync(short, readFileSync(rping).subarray(0, 24 + 2 * 58 + 20))
  const partly = await dump(short)
  t.equal(partly.status, 1)
  const printed = partly.stdout.trimEnd().split('\n')
  t.equal(printed.length, 3, 'what came before the fault is printed and counted')
  t.equal(printed[2], '2 packets, 0 RoCEv2, 0 ICRCs right, 0 wrong, 0 malformed, the rest could not be read')
  t.match(partly.stderr, /short\.pcap: at byte 140: the file ends within a packet of 322 bytes/)
  const counts = await dump('--json', short)
  t.equal(counts.status, 1)
  t.match(JSON.parse(counts.stdout), { packets: 2, fault: /at byte 140: the file ends within a packet/ })

  const wifi = join(folder, 'wifi.pcap')
  const file = Buffer.from(readFileSync(rping))
  file.writeUInt32LE(105, 20)
  writeFileSync(wifi, file)
  t.match((await dump(wifi)).stderr, /link type 105/)
})

t.test('- is standard input: a file, a pipe that stays open, a text', async t => {
  const input = readFileSync(rping)
  const whole = dumpOf(input, '-')
  t.equal(whole.status, 0, whole.stderr)
  t.equal(whole.stdout, (await dump(rping)).stdout)
  const text = dumpOf(Buffer.from('no capture'), '-')
  t.equal(text.status, 1)
  t.match(text.stderr, /^weir: standard input: at byte 0: this is neither pcap nor pcapng/)

  const child = spawn(process.execPath, [WEIR, 'dump', '-'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  const ended = new Promise(resolve => child.once('close', resolve))
  // Two packets, as tcpdump -U passes them. They are printed before more arrive.
  child.stdin.write(input.subarray(0, 24 + 2 * 58))
  while (stdout.split('\n').length < 3) await new Promise(resolve => setTimeout(resolve, 10))
  t.match(stdout, /^\S+ ARP who-has .*\n\S+ ARP .*\n$/)
  child.stdin.end(input.subarray(24 + 2 * 58))
  t.equal(await ended, 0)
  t.equal(stdout, whole.stdout)
})

t.test('--port: RoCEv2 to other ports', async t => {
  const file = Buffer.from(readFileSync(rping))
  let moved = 0
  for (let at = 24; at < file.length; at += 16 + file.readUInt32LE(at + 8)) {
    if (file.readUInt16BE(at + 16 + 12) !== 0x0800) continue
    file.writeUInt16BE(5791, at + 16 + 36)
    moved++
  }
  const path = join(folder, 'port.pcap')
  writeFileSync(path, file)
  t.match(JSON.parse((await dump('--json', path)).stdout), { packets: 43, roce: 0 })
  for (const ports of [
    ['--port', '5791'],
    ['--port', '6000', '--port', '5791'],
  ]) {
    t.match(JSON.parse((await dump('--json', ...ports, path)).stdout), {
      packets: 43,
      roce: moved,
      icrcOk: moved,
    })
  }
  t.match(
    (await dump('--port', '5791', path)).stdout,
    / > 10\.99\.0\.1\.5791: UD_SEND_ONLY /,
    'as it is on the wire',
  )
  const wrong = await dump('--port', 'x', path)
  t.equal(wrong.status, 1)
  t.match(wrong.stderr, /--port is a whole number from 1 to 65534, not "x"/)
})

t.test('a reader that goes away early is no failure', async t => {
  // Large enough that the pipe fills: dump is still writing when its reader leaves.
  const large = join(folder, 'large.pcap')
  const one = readFileSync(fixturePath('roce-pcaps', 'rc_pingpong_64k_mtu1024.pcap'))
  writeFileSync(large, Buffer.concat([one, ...new Array(12).fill(one.subarray(24))]))
  const child = spawn(process.execPath, [WEIR, 'dump', large], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  child.stdout.once('data', () => child.stdout.destroy())
  const code = await new Promise(resolve => child.on('close', resolve))
  t.equal(code, 0)
  t.equal(stderr, '')
})

t.test('--ifa-protocol', async t => {
  const captures = t.testdir({})
  const int = '{format: ifa, hops: 5, ifaProtocol: 131}'
  new VirtualRun(twoSenders('ifa', '1Gbps', int), { captures: { folder: captures } }).run()
  const path = join(captures, 's2--h3.pcapng')
  const counts = async (...args: string[]) => JSON.parse((await dump('--json', ...args, path)).stdout)
  const read = await counts('--ifa-protocol', '131')
  t.match(read, { roce: read.packets, icrcOk: read.packets, malformed: 0 })
  t.ok(read.byOpcode.RC_RDMA_WRITE_MIDDLE > 100)
  t.equal((await counts()).byOpcode.RC_RDMA_WRITE_MIDDLE, undefined, 'another protocol without it')
  for (const wrong of ['17', '256', 'udp']) {
    const { status, stderr } = await dump('--ifa-protocol', wrong, path)
    t.equal(status, 1, wrong)
    t.match(stderr, /--ifa-protocol.*WEIR_BAD_ARGUMENT/)
  }
})
