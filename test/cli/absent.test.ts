/**
 * Commands without optional packages: a command that needs one says so and how to mend it. Everything else
 * works.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { libcFault } from '../../lib/io/linux/libc.js'
import { rawFault } from '../../lib/io/ports/raw-port.js'
import { OPTIONAL_PACKAGES, type OptionalPackage, without } from '../support/absent.js'
import { DaemonProcess, get, Run, scratch, send } from '../support/daemon-process.js'

t.test('without any: send, get, perf and dgram work, and the checksums are right', async t => {
  const folder = await scratch(t)
  const env = without(OPTIONAL_PACKAGES, folder)
  const from = await DaemonProcess.startWith(t, { ...env, WEIR_IO: 'auto' })
  // With what is installed here: both must agree on each ICRC.
  const to = await DaemonProcess.startSharing(t, ['--io', 'dgram'])
  const bytes = Buffer.alloc(300_000, 'nothing optional ')
  await writeFile(join(folder, 'data'), bytes)
  const sent = await send(t, from, [join(folder, 'data'), to.address]).ended
  t.equal(sent.code, 0, sent.stderr)
  t.ok(readFileSync(join(to.inbox, 'data')).equals(bytes))
  await writeFile(join(to.share, 'back'), bytes)
  const got = await get(t, from, [`${to.address}:back`, folder]).ended
  t.equal(got.code, 0, got.stderr)
  t.ok(readFileSync(join(folder, 'back')).equals(bytes))
  const perf = ['perf', 'bw', to.address, '--iters', '20', '--json', '--socket', from.socket]
  const measured = await new Run(t, perf, undefined, [], env).ended
  t.equal(measured.code, 0, measured.stderr)
  t.match(JSON.parse(measured.stdout), { messages: 20, io: 'dgram' })
})

t.test('a port whose package is missing is refused: what is missing, how to mend it', async t => {
  const folder = await scratch(t)
  const absent = without(OPTIONAL_PACKAGES, folder)
  const compiledForAnother = without(['raw-socket'], folder, 'ERR_DLOPEN_FAILED')
  for (const [io, env, wanted] of [
    ['batch', absent, /koffi.*npm install --include=optional/],
    ['packet', absent, /koffi.*npm install --include=optional/],
    ['raw', absent, /raw-socket.*npm install --include=optional.*--io dgram/],
    [
      'raw',
      compiledForAnother,
      /raw-socket does not load: it was compiled for another version.*: npm rebuild raw-socket;/,
    ],
  ] as const) {
    const where = ['--inbox', folder, '--socket', join(folder, 's'), '--address', '127.0.0.1']
    const refused = await new Run(t, ['daemon', '--io', io, ...where], undefined, [], env).ended
    t.equal(refused.code, 1, io)
    t.match(refused.stderr, wanted, io)
    t.match(refused.stderr, /WEIR_UNSUPPORTED/, io)
  }
})

t.test('the doctor: each package decides about its own ports alone', async t => {
  const folder = await scratch(t)
  const koffiHere = libcFault() === null
  const rawHere = rawFault() === null
  const cases: [readonly OptionalPackage[], boolean, boolean][] = [
    [OPTIONAL_PACKAGES, false, false],
    [['koffi'], false, rawHere],
    [['raw-socket'], koffiHere, false],
  ]
  const diagnose = (absent: readonly OptionalPackage[]) =>
    new Run(t, ['doctor', '--json'], undefined, [], without(absent, folder)).ended
  const ended = await Promise.all(cases.map(([absent]) => diagnose(absent)))
  for (const [i, [absent, batch, raw]] of cases.entries()) {
    const what = `without ${absent}`
    t.equal(ended[i]!.code, 0, ended[i]!.stderr)
    const { checks, io, on, auto } = JSON.parse(ended[i]!.stdout)
    const library = checks.find(({ name }: { name: string }) => name === 'libdeflate')
    if (absent.includes('koffi')) t.match(library, { status: 'warn', found: /needs koffi/ }, what)
    t.match(on, { virtual: { works: true }, overlay: { works: true } }, what)
    t.equal(io.dgram.works, true, what)
    t.equal(io.batch.works, batch, what)
    t.equal(io.raw.works, raw, what)
    t.equal(auto.takes, batch ? 'batch' : 'dgram', what)
    t.equal(auto.why === undefined, batch, what)
  }
})
