/** Names of files that are no UTF-8: to text and back, on the wire, in messages, and with an older peer. */
import protobuf from 'protobufjs'
import t from 'tap'
import { bytesOf, fsPath, showBytes, textOf } from '../../lib/byte-text.js'
import { printable } from '../../lib/printable.js'
import { Random } from '../../lib/sim/random.js'
import {
  decodeMessage,
  encodeMessage,
  type Offer,
  type TransferMessage,
} from '../../lib/transfer/protocol/messages.js'

t.test('any bytes come back', async t => {
  const named: [string, string][] = [
    ['61', 'a'],
    ['636166e92e', 'caf\udce9.'],
    ['c3a9', 'é'],
    ['f09f9880ff', '😀\udcff'],
    // Surrogates in UTF-8 are none, nor is a NUL of two bytes or a character that is cut off.
    ['edb280', '\udced\udcb2\udc80'],
    ['c080', '\udcc0\udc80'],
    ['e282', '\udce2\udc82'],
  ]
  for (const [hex, text] of named) {
    t.equal(textOf(Buffer.from(hex, 'hex')), text, hex)
    t.equal(bytesOf(text).toString('hex'), hex, hex)
  }
  const random = new Random(1)
  for (let n = 0; n < 500; n++) {
    const bytes = Buffer.from(Array.from({ length: random.below(12) }, () => random.below(256)))
    t.ok(bytesOf(textOf(bytes)).equals(bytes), bytes.toString('hex'))
  }
  t.equal(fsPath('a/é'), 'a/é', 'what is UTF-8 stays a string')
  t.same(fsPath('a\udcff'), Buffer.from('61ff', 'hex'))
  t.equal(showBytes('caf\udce9 😀'), 'caf\\xe9 😀')
  t.equal(printable('caf\udce9\n\ud800'), 'caf\\xe9??')
})

const OFFER: Offer = {
  version: 1,
  name: 'caf\udce9',
  directory: 'a/\udcff',
  size: 1,
  mode: 0o644,
  mtimeMs: 1,
  digest: 'XXH64',
  overwrite: false,
  ring: null,
  transfer: Uint8Array.of(1),
  allocatedBytes: 512,
  nameInFolder: '\udc80',
}
/** As it was when names were strings. */
const OLDER = protobuf.parse(`syntax = "proto3"; package older;
  message Message { oneof body { Offer offer = 1; } }
  message Offer { uint32 version = 1; string name = 2; string directory = 3; uint64 size = 4; }`).root

t.test('they travel as bytes, which an older peer takes for a string', async t => {
  const message: TransferMessage = { body: 'offer', offer: OFFER }
  const wire = encodeMessage(message)
  t.match(decodeMessage(wire), {
    offer: { name: 'caf\udce9', directory: 'a/\udcff', nameInFolder: '\udc80' },
  })
  t.ok(Buffer.from(wire).includes(Buffer.from('636166e9', 'hex')), 'as they are')
  const older = OLDER.lookupType('older.Message')
  t.throws(() => older.decode(wire), 'which is malformed then: it refuses the transfer')
  const plain = older.decode(encodeMessage({ body: 'offer', offer: { ...OFFER, name: 'é', directory: '' } }))
  t.match(plain, { offer: { name: 'é', directory: '' } }, 'and understands what is UTF-8')
  const fromOlder = older.encode(older.fromObject({ offer: { version: 1, name: 'é', size: 3 } })).finish()
  t.match(decodeMessage(fromOlder), {
    offer: { name: 'é', directory: '', allocatedBytes: 0, nameInFolder: '' },
  })
})
