/** The file of known peers: what people write into it, and what --accept-new adds. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { identityAt, makeIdentityFile, readIdentityFile } from '../../lib/secure/identity-file.js'
import { keyText } from '../../lib/secure/key-text.js'
import { KnownPeers } from '../../lib/secure/known-peers.js'
import { newKeyPair } from '../../lib/secure/x25519.js'

const [ONE, TWO] = [newKeyPair().publicKey, newKeyPair().publicKey]

t.test('odd lines', async t => {
  const file = join(t.testdir({}), 'peers')
  const read = (text: string) => {
    writeFileSync(file, text)
    return KnownPeers.read(file)
  }
  const odd = `\r\n# a comment\r\n  a,10.0.0.1\t${keyText(ONE)}   may=send # and more\r\n\n`
  const known = read(odd)
  t.equal(known.check(['10.0.0.1'], ONE), 'known')
  t.equal(known.check(['a'], TWO), 'changed')
  t.equal(known.check(['b'], ONE), 'unknown')
  t.same(
    [known.allows(ONE, 'send'), known.allows(ONE, 'get'), known.allows(TWO, 'send')],
    [true, false, false],
  )
  for (const line of [
    'a',
    `a ${keyText(ONE).slice(0, -1)}`,
    `a ${keyText(ONE)}A`,
    `a ${keyText(ONE)} may=`,
    `a ${keyText(ONE)} may=all`,
    `a ${keyText(ONE)} send`,
    `a ${keyText(ONE)} may=send may=get`,
    `a b ${keyText(ONE)}`,
  ])
    t.throws(
      () => read(`# first\n${line}\n`),
      { code: 'WEIR_BAD_ARGUMENT', message: /peers, line 2: / },
      line,
    )
  t.throws(() => read('x'.repeat(2 ** 20 + 1)), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('a host is added on a line of its own', async t => {
  const file = join(t.testdir({}), 'new', 'peers')
  KnownPeers.read(file).add('a', ONE)
  t.equal(readFileSync(file, 'utf8'), `a ${keyText(ONE)} may=none\n`)
  for (const before of [`a ${keyText(ONE)}`, '# no end of line', `a ${keyText(ONE)}\n`]) {
    writeFileSync(file, before)
    const known = KnownPeers.read(file)
    known.add('b', TWO)
    t.equal(known.check(['b'], TWO), 'known', before)
    t.equal(readFileSync(file, 'utf8'), `${before.trimEnd()}\nb ${keyText(TWO)} may=none\n`)
  }
})

t.test('the file of a key', async t => {
  const file = join(t.testdir({}), 'key')
  const { publicKey } = makeIdentityFile(file)
  t.same(identityAt(file).publicKey, publicKey)
  t.throws(() => makeIdentityFile(file), { code: 'WEIR_FILE_EXISTS' })
  for (const mode of [0o640, 0o604, 0o602]) {
    chmodSync(file, mode)
    t.throws(() => readIdentityFile(file), { code: 'WEIR_BAD_ARGUMENT', message: /chmod 0600/ })
  }
  chmodSync(file, 0o600)
  const right = readFileSync(file, 'utf8')
  for (const wrong of ['', 'private-x25519:', right.slice(0, -3), `${right.trim()}AAAA`, 'x'.repeat(5000)]) {
    writeFileSync(file, wrong)
    t.throws(() => readIdentityFile(file), {
      code: 'WEIR_BAD_ARGUMENT',
      message: /make one with weir key new/,
    })
  }
  t.throws(() => readIdentityFile(`${file}-none`), { code: 'WEIR_NO_FILE', message: /weir key new/ })
})
