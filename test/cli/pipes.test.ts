/** `… | weir send - HOST:NAME` and `weir get HOST:NAME - | …` as a user runs them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { weirProgram } from '../../lib/package-file.js'
import { DaemonProcess } from '../support/daemon-process.js'
import { filesIn } from '../support/files-in.js'
import { reportOf } from '../support/transfer-report.js'

const MIB = 1 << 20

t.jobs = 2

/** A command whose standard input and output are pipes. */
class Piped {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; out: Buffer; err: string }>

  constructor(t: Test, daemon: DaemonProcess, ...args: string[]) {
    const line = [weirProgram(), args[0]!, '--socket', daemon.socket, ...args.slice(1)]
    this.child = spawn(process.execPath, line, { stdio: ['pipe', 'pipe', 'pipe'] })
    t.teardown(() => this.child.kill('SIGKILL'))
    this.child.stdin!.on('error', () => {})
    const out: Buffer[] = []
    let err = ''
    this.child.stdout!.on('data', piece => out.push(piece))
    this.child.stderr!.on('data', piece => {
      err += piece
    })
    this.ended = once(this.child, 'close').then(([code]) => ({ code, out: Buffer.concat(out), err }))
  }
}

async function pair(t: Test): Promise<[DaemonProcess, DaemonProcess]> {
  return await Promise.all([DaemonProcess.start(t), DaemonProcess.startSharing(t)])
}

t.test('standard input arrives under its name, whatever its length', { buffered: true }, async t => {
  const [from, to] = await pair(t)
  // An end on a chunk's border, and beside one; none at all.
  for (const size of [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB, 11 * MIB + 17]) {
    const bytes = randomBytes(size)
    const run = new Piped(t, from, 'send', '-', `${to.address}:some/${size}.bin`)
    run.child.stdin!.end(bytes)
    const { code, out, err } = await run.ended
    t.equal(code, 0, err)
    t.match(String(out), new RegExp(`^standard input → \\S+:some/${size}\\.bin  `))
    t.ok(readFileSync(join(to.inbox, 'some', `${size}.bin`)).equals(bytes), `${size} bytes`)
    t.equal(statSync(join(to.inbox, 'some', `${size}.bin`)).mode & 0o777, 0o644)
  }
  t.same(
    readdirSync(join(to.inbox, 'some')).filter(name => name.includes('partial')),
    [],
  )

  const again = new Piped(t, from, 'send', '-', `${to.address}:some/1.bin`)
  again.child.stdin!.end('other')
  t.match(await again.ended, { code: 1, err: /some\/1\.bin is there already.*WEIR_FILE_EXISTS/ })
  const replaced = new Piped(t, from, 'send', '-', `${to.address}:some/1.bin`, '--overwrite', '--json')
  replaced.child.stdin!.write('oth')
  setTimeout(() => replaced.child.stdin!.end('er'), 300)
  const { out } = await replaced.ended
  t.match(reportOf(String(out)), { bytes: 5, files: [{ file: '-', path: 'some/1.bin', resumedBytes: 0 }] })
  t.equal(readFileSync(join(to.inbox, 'some/1.bin'), 'utf8'), 'other')
})

t.test('a sender that is killed leaves nothing', { buffered: true }, async t => {
  const [from, to] = await pair(t)
  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    const run = new Piped(t, from, 'send', '-', `${to.address}:never.bin`)
    run.child.stdin!.write(randomBytes(5 * MIB))
    const hasPart = () => readdirSync(to.inbox).some(name => name.includes('never'))
    while (!hasPart()) await new Promise(resolve => setTimeout(resolve, 10))
    run.child.kill(signal)
    await run.ended
    while (hasPart()) await new Promise(resolve => setTimeout(resolve, 10))
    t.same(
      filesIn(to.inbox).filter(name => !name.includes('.weir-delivered')),
      [],
      signal,
    )
  }
})

t.test('a file comes out of standard output', { buffered: true }, async t => {
  const [to, from] = await pair(t)
  const bytes = randomBytes(9 * MIB + 5)
  writeFileSync(join(from.share, 'a.bin'), bytes)
  const run = new Piped(t, to, 'get', `${from.address}:a.bin`, '-')
  const { code, out, err } = await run.ended
  t.equal(code, 0, err)
  t.ok(out.equals(bytes))
  t.match(err, /^\S+:a\.bin → standard output {2}9\.437MB in .* xxh64 [0-9a-f]{16} at both ends/)

  const none = await new Piped(t, to, 'get', `${from.address}:none`, '-').ended
  t.match(none, { code: 1, err: /WEIR_NO_FILE/ })
  t.equal(none.out.length, 0)
})

t.test(
  'a reader that ends early is no failure, and one that waits sets the pace',
  { buffered: true },
  async t => {
    const [to, from] = await pair(t)
    const bytes = randomBytes(40 * MIB)
    writeFileSync(join(from.share, 'a.bin'), bytes)
    const run = new Piped(t, to, 'get', `${from.address}:a.bin`, '-')
    await once(run.child.stdout!, 'data')
    run.child.stdout!.destroy()
    t.match(await run.ended, { code: 0, err: '' })

    const slow = new Piped(t, to, 'get', `${from.address}:a.bin`, '-')
    slow.child.stdout!.pause()
    const client = await connectDaemon(to.socket)
    t.teardown(() => client.close())
    const moved = async () => (await client.transfers())[0]?.progress?.bytes ?? 0
    // A ring, and what pipes hold, have come; then nothing more does.
    let last = -1
    for (let now = await moved(); now === 0 || now !== last; now = await moved()) {
      last = now
      await new Promise(resolve => setTimeout(resolve, 300))
    }
    t.ok(last < 20 * MIB, `${last} bytes have come while nobody reads`)
    slow.child.stdout!.resume()
    const { code, out } = await slow.ended
    t.equal(code, 0)
    t.equal(out.length, bytes.length)
  },
)

t.test('streams of a program', { buffered: true }, async t => {
  const [here, there] = await pair(t)
  const client = await connectDaemon(here.socket)
  t.teardown(() => client.close())
  const bytes = randomBytes(2 * MIB + 3)
  const sent = await client.sendStream(Readable.from([bytes]), there.address, 's.bin', { digest: 'sha256' })
  t.equal(Buffer.from(sent.digest).toString('hex'), createHash('sha256').update(bytes).digest('hex'))
  t.equal(sent.bytes, bytes.length)

  const broken = new Readable({
    read() {
      this.destroy(new Error('the tape is torn'))
    },
  })
  await t.rejects(client.sendStream(broken, there.address, 'b.bin'), {
    code: 'WEIR_NO_FILE',
    message: /the tape is torn/,
  })
  t.same(
    readdirSync(there.inbox).filter(name => name.includes('b.bin')),
    [],
  )

  writeFileSync(join(there.share, 'a.bin'), bytes)
  const full = new Writable({ write: (_bytes, _encoding, done) => done(new Error('the shelf is full')) })
  await t.rejects(client.getStream(there.address, 'a.bin', full), /the shelf is full/)
  await t.rejects(client.sendStream(Readable.from(['x']), there.address, '../x'), { code: 'WEIR_REJECTED' })
})

t.test('what a pipe cannot have is refused', { buffered: true }, async t => {
  const daemon = await DaemonProcess.start(t)
  for (const [args, why] of [
    [['send', '-', 'h'], /has no name of its own/],
    [['send', '-', 'h:dir/'], /has no name of its own/],
    [['send', '-', 'a', 'h:b'], /one file alone/],
    [['send', '-', 'h:b', '--retries', '2'], /--retries: a pipe cannot be read again/],
    [['send', '-', 'h:b', '--exclude', 'x'], /for folders, not for -/],
    [['send', '-', 'h:b', '--yes'], /--yes is for --delete/],
    [['get', 'h:b', '-', '--yes'], /--yes is for --delete/],
    [['get', 'h:a', 'h:b', '-'], /one file alone/],
    [['get', 'h:a', '-', '--overwrite'], /--overwrite is for files/],
  ] as const) {
    const run = new Piped(t, daemon, ...args)
    run.child.stdin!.end()
    const { code, err } = await run.ended
    t.equal(code, 1)
    t.match(err, why, args.join(' '))
  }
})
