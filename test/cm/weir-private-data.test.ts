import fc from 'fast-check'
import t from 'tap'
import {
  type ConnectParameters,
  decode,
  decodeRejection,
  encode,
  encodeRejection,
  splitProof,
} from '../../lib/cm/weir-private-data.js'
import { drawnSeed } from '../support/seeds.js'
import { readCapture } from './captures.js'

const seed = drawnSeed(t)

const PARAMETERS: ConnectParameters = {
  version: 1,
  features: 0x5,
  pathMtu: 4096,
  receiveBudgetBytes: 1 << 20,
  hostBudgetUnits: 0,
  applicationData: Uint8Array.of(1, 2, 3),
  keyWords: new Uint8Array(0),
  needs: new Uint8Array(0),
  ackEvery: 0,
  filledPayload: 0,
  withoutIcrc: false,
  carriesAcks: false,
  privateBytes: 0,
  wordsProof: new Uint8Array(0),
}

/** As it arrives: in 56, 196 or 148 bytes of which the rest is zero. */
function padded(bytes: Uint8Array, length: number): Uint8Array {
  const field = new Uint8Array(length)
  field.set(bytes)
  return field
}

const NONE = new Uint8Array(0)

t.test('the bytes are the magic, a length and protobuf, encoded here by hand', async t => {
  const expected =
    '57454952' + // WEIR
    '10' + // 16 bytes
    '0801' + // 1: 1
    '1005' + // 2: 5
    '188020' + // 3: 4096
    '38808040' + // 7: 1 MiB
    '4203010203' // 8: three bytes
  const bytes = Buffer.from(encode(PARAMETERS)).toString('hex')
  t.equal(bytes, expected)
  const needs = Uint8Array.of(0x08, 0x30)
  t.equal(
    Buffer.from(encode({ ...PARAMETERS, needs })).toString('hex'),
    `${expected.replace('5210', '5214')}52020830`, // 10: two bytes
  )
  t.equal(
    Buffer.from(encode({ ...PARAMETERS, carriesAcks: true })).toString('hex'),
    `${expected.replace('5210', '5213')}800101`, // 16: true
  )
  t.equal(
    Buffer.from(encode({ ...PARAMETERS, hostBudgetUnits: 85 })).toString('hex'),
    `${expected.replace('5210', '5213')}880155`, // 17: 85
  )
})

t.test('the largest values fit into a REQ', async t => {
  const largest: ConnectParameters = {
    version: 127,
    features: 0xffffffff,
    pathMtu: 4096,
    receiveBudgetBytes: Number.MAX_SAFE_INTEGER,
    hostBudgetUnits: 0,
    applicationData: new Uint8Array(20).fill(0xff),
    keyWords: new Uint8Array(0),
    needs: new Uint8Array(5).fill(0xff),
    ackEvery: 127,
    filledPayload: 0,
    withoutIcrc: false,
    carriesAcks: false,
    privateBytes: 0,
    wordsProof: NONE,
  }
  const bytes = encode(largest)
  t.ok(bytes.length <= 56, `${bytes.length} bytes`)
  t.same(plain(decode(padded(bytes, 56))), plain(largest))
})

function plain(parameters: ConnectParameters | null | 'malformed') {
  if (parameters === null || parameters === 'malformed') return parameters
  const texts = Object.entries(parameters).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  ])
  return Object.fromEntries(texts)
}

t.test('with the words of a key a REQ has room for 16 bytes of an application', async t => {
  const keyed: ConnectParameters = {
    ...PARAMETERS,
    features: 0x3fff,
    receiveBudgetBytes: 2 ** 28 - 1,
    applicationData: new Uint8Array(16).fill(0xff),
    keyWords: new Uint8Array(12).fill(0xee),
    needs: new Uint8Array(2).fill(0xdd),
    ackEvery: 127,
  }
  const bytes = encode(keyed)
  t.ok(bytes.length <= 56, `${bytes.length} bytes`)
  t.same(plain(decode(padded(bytes, 56))), plain(keyed))
  const inRep = {
    ...keyed,
    applicationData: new Uint8Array(20).fill(1),
    keyWords: new Uint8Array(16).fill(2),
    needs: new Uint8Array(40).fill(3),
    ackEvery: 300,
    filledPayload: 1408,
    withoutIcrc: true,
    carriesAcks: true,
    hostBudgetUnits: 0x3fff,
    wordsProof: new Uint8Array(16).fill(5),
  }
  const reply = padded(encode(inRep), 196)
  t.same(plain(decode(reply)), plain(inRep))
  const { words, proof } = splitProof(reply)
  t.same(Buffer.from(words), Buffer.from(encode({ ...inRep, wordsProof: NONE })), 'the words without it')
  t.same([...proof], [...inRep.wordsProof])
  t.same(splitProof(padded(words, 196)), { words, proof: NONE })
})

t.test('what is encoded is decoded, in a REQ and in a REP', async t => {
  const property = fc.property(
    fc.record({
      version: fc.integer({ min: 1, max: 127 }),
      features: fc.integer({ min: 0, max: 0xffffffff }),
      pathMtu: fc.constantFrom(256, 512, 1024, 2048, 4096),
      receiveBudgetBytes: fc.maxSafeNat(),
      applicationData: fc.uint8Array({ maxLength: 20 }),
      keyWords: fc.constant(new Uint8Array(0)),
      needs: fc.uint8Array({ maxLength: 1 }),
      ackEvery: fc.constantFrom(0, 2, 127),
      wordsProof: fc.constant(new Uint8Array(0)),
      filledPayload: fc.constantFrom(0, 256, 1308, 4096),
      withoutIcrc: fc.boolean(),
      privateBytes: fc.constantFrom(0, 1, 56),
      carriesAcks: fc.boolean(),
      hostBudgetUnits: fc.constantFrom(0, 1, 127),
    }),
    fc.constantFrom(56, 196),
    (parameters, length) => {
      const decoded = plain(decode(padded(encode(parameters), length)))
      return JSON.stringify(decoded) === JSON.stringify(plain({ ...parameters }))
    },
  )
  t.doesNotThrow(() => fc.assert(property, { seed, numRuns: 300 }))
})

t.test('a field of a later version is skipped', async t => {
  const later = Buffer.concat([encode(PARAMETERS), Buffer.of(0x82, 1, 2, 9, 9)])
  later[4] = later.length - 5
  t.same(plain(decode(padded(later, 56))), plain(PARAMETERS))
})

t.test('a plain librdmacm peer is recognised', async t => {
  for (const name of ['cm_rping', 'cm_privdata', 'cm_sendbw_R'] as const) {
    const { mads } = readCapture(name)
    t.equal(decode(mads[0]!.bytes.subarray(200)), null)
    t.equal(decode(mads[1]!.bytes.subarray(60)), null)
  }
  t.equal(decode(new Uint8Array(0)), null)
  t.equal(decode(Uint8Array.of(0x57, 0x45, 0x49)), null)
  t.equal(decodeRejection(new Uint8Array(148)), null)
})

t.test('nonsense is "malformed", never an exception', async t => {
  const good = encode(PARAMETERS)
  t.equal(decode(good.subarray(0, good.length - 1)), 'malformed', 'cut off')
  const long = padded(good, 56)
  long[4] = 255
  t.equal(decode(long), 'malformed', 'longer than its field')
  const empty = padded(good.subarray(0, 4), 56)
  t.equal(decode(empty), 'malformed', 'no version, no MTU')
  const mtu = padded(good, 56)
  mtu[10] = 0x81
  t.equal(decode(mtu), 'malformed', 'path MTU 4097')
  const property = fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), tail => {
    const bytes = Uint8Array.from([...good.subarray(0, 4), ...tail])
    const decoded = decode(bytes)
    const rejection = decodeRejection(bytes)
    return decoded !== null && rejection !== null
  })
  t.doesNotThrow(() => fc.assert(property, { seed, numRuns: 1000 }))
})

t.test('values out of range are named', async t => {
  for (const bad of [
    { version: 0 },
    { version: 128 },
    { features: -1 },
    { pathMtu: 1500 },
    { filledPayload: 252 },
    { filledPayload: 1410 },
    { filledPayload: 4100 },
    { wordsProof: new Uint8Array(15) },
    { receiveBudgetBytes: 2 ** 53 },
    { hostBudgetUnits: 2 ** 14 },
    { applicationData: new Uint8Array(81) },
    { privateBytes: 57 },
    { keyWords: new Uint8Array(17) },
    { needs: new Uint8Array(41) },
  ]) {
    t.throws(() => encode({ ...PARAMETERS, ...bad }), {
      code: 'WEIR_BAD_ARGUMENT',
      message: new RegExp(Object.keys(bad)[0]!),
    })
  }
})

t.test('a proof stands beside the longest message, and alone', async t => {
  const proof = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
  for (const message of ['', 'x'.repeat(500)]) {
    const bytes = encodeRejection({ code: 'WEIR_BAD_ARGUMENT', message, proof })
    t.ok(bytes.length <= 148)
    t.match(decodeRejection(padded(bytes, 148)), { code: 'WEIR_BAD_ARGUMENT', proof })
  }
  const long = { code: '', message: '', proof: new Uint8Array(17) }
  t.throws(() => encodeRejection(long), { code: 'WEIR_BAD_ARGUMENT', message: /proof/ })
})

t.test('a refusal says why; a long one is cut off between two characters', async t => {
  const short = encodeRejection({ code: 'WEIR_FULL', message: 'no room', proof: NONE })
  t.match(decodeRejection(padded(short, 148)), { code: 'WEIR_FULL', message: 'no room' })
  for (const message of ['x'.repeat(500), 'ä'.repeat(200), '🚰'.repeat(100), `a${'🚰'.repeat(100)}`]) {
    const bytes = encodeRejection({ code: 'WEIR_BAD_ARGUMENT', message, proof: NONE })
    t.ok(bytes.length <= 148 && bytes.length >= 144, `${bytes.length} bytes`)
    const decoded = decodeRejection(padded(bytes, 148))
    if (decoded === null || decoded === 'malformed') t.fail('not decoded')
    else t.ok(message.startsWith(decoded.message) && decoded.message.length > 30)
  }
})
