/** The key file of a daemon: who may read it, what is in it, and that hosts without it are refused. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemonCommand } from '../../bin/commands/daemon.js'
import { sendCommand } from '../../bin/commands/send.js'
import { Daemon } from '../../lib/daemon/daemon.js'
import { readKeyFile } from '../../lib/daemon/key-file.js'
import { WeirError } from '../../lib/errors.js'
import { createLog } from '../../lib/log.js'
import { makeIdentityFile, readIdentityFile } from '../../lib/secure/identity-file.js'
import { readPrivateFile } from '../../lib/secure/private-file.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'
import { without } from '../support/tools.js'

const SECRET = 'a secret of more than 16 bytes'

function refused(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof WeirError) return `${error.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

t.test('only a file that nobody else may use, with 16 to 1024 bytes', async t => {
  const folder = await scratch(t)
  const path = join(folder, 'key')
  t.match(
    refused(() => readKeyFile(path)),
    /^WEIR_NO_FILE .*key: there is no such file/,
  )
  writeFileSync(path, `${SECRET}\r\n`, { mode: 0o600 })
  t.equal(Buffer.from(readKeyFile(path)).toString(), SECRET, 'without the line end')
  chmodSync(path, 0o400)
  t.equal(readKeyFile(path).length, SECRET.length, 'stricter will do')
  for (const mode of [0o640, 0o604, 0o620, 0o601]) {
    chmodSync(path, mode)
    t.match(
      refused(() => readKeyFile(path)),
      new RegExp(`^WEIR_BAD_ARGUMENT .*0${mode.toString(8)}.*chmod 0600`),
    )
  }
  chmodSync(path, 0o600)
  for (const bytes of [0, 15, 1025, 5000]) {
    writeFileSync(path, 'x'.repeat(bytes))
    t.match(
      refused(() => readKeyFile(path)),
      /^WEIR_BAD_ARGUMENT .*key: .* 16 to 1024/,
      `${bytes} bytes`,
    )
  }
  t.match(
    refused(() => readKeyFile(folder)),
    /^WEIR_(BAD_ARGUMENT|NO_FILE)/,
    'a folder',
  )
  writeFileSync(path, SECRET)
  chmodSync(path, 0o644)
  await t.rejects(daemonCommand().parseAsync(['--key-file', path], { from: 'user' }), {
    code: 'WEIR_BAD_ARGUMENT',
  })
})

t.test('a file is sent between hosts with the key, and not to one that has none or another', async t => {
  const folder = await scratch(t)
  const log = createLog('silent', 'test')
  const start = async (name: string, secret?: string) => {
    const address = loopbackAddress()
    const paths = { inbox: join(folder, `in-${name}`), socketPath: join(folder, name) }
    const more = secret === undefined ? {} : { secret: Buffer.from(secret) }
    const daemon = await Daemon.start({ address, ...paths, ...more, log })
    t.teardown(() => daemon.close())
    return { address, socket: paths.socketPath, daemon }
  }
  const a = await start('a', SECRET)
  const b = await start('b', SECRET)
  const none = await start('none')
  const other = await start('other', `another ${SECRET}`)
  const file = join(folder, 'file')
  writeFileSync(file, Buffer.alloc(300_000, 1))
  const send = (from: string, to: string) =>
    sendCommand().parseAsync([file, to, '--socket', from], { from: 'user' })
  await send(a.socket, b.address)
  const { rx } = b.daemon.parts.nic.counters
  t.equal(rx.forgedFeedback + rx.untaggedFeedback + rx.replayedFeedback, 0)
  t.equal(b.daemon.parts.transfers.receivedBytes, 300_000)
  await t.rejects(send(none.socket, b.address), { message: /only connections with its key/ })
  await t.rejects(send(a.socket, none.address), { message: /has no key/ })
  await t.rejects(send(other.socket, b.address), { message: /another key/ })
})

t.test(
  "a credential of systemd: root's, and its group may read it",
  { skip: process.getuid?.() !== 0 && 'needs root' },
  async t => {
    const folder = await scratch(t)
    const own = join(folder, 'credentials')
    mkdirSync(join(own, 'deeper'), { recursive: true })
    const env = { CREDENTIALS_DIRECTORY: `${own}/` }
    const read = (path: string) => refused(() => readPrivateFile(path, 100, env))
    const [credential, elsewhere, deeper] = [own, folder, join(own, 'deeper')].map(place =>
      join(place, 'key'),
    ) as [string, string, string]
    for (const path of [credential, elsewhere, deeper]) {
      writeFileSync(path, SECRET)
      chmodSync(path, 0o440)
    }
    t.equal(read(credential), 'accepted')
    t.match(read(elsewhere), /mode 0440/)
    t.match(read(deeper), /mode 0440/)
    t.match(
      refused(() => readPrivateFile(credential, 100, {})),
      /mode 0440/,
      'outside of a service',
    )
    for (const mode of [0o460, 0o444, 0o441]) {
      chmodSync(credential, mode)
      t.match(read(credential), new RegExp(`mode 0${mode.toString(8)}`))
    }
    chmodSync(credential, 0o440)
    chownSync(credential, 65_534, 65_534)
    t.match(read(credential), /mode 0440/, "not root's")
  },
)

t.test('a pipe as key is refused, and nothing waits for it', { skip: without('mkfifo') }, async t => {
  const path = join(await scratch(t), 'pipe')
  t.equal(spawnSync('mkfifo', ['-m', '600', path]).status, 0)
  t.match(
    refused(() => readKeyFile(path)),
    /^WEIR_BAD_ARGUMENT --key-file .* is no file/,
  )
  t.match(
    refused(() => readIdentityFile(path)),
    /^WEIR_BAD_ARGUMENT .* is no file/,
  )
  const good = join(path, '..', 'good')
  const { publicKey } = makeIdentityFile(good)
  t.same(readIdentityFile(good).publicKey, publicKey)
})
