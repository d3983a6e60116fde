/** The handshake beside published test vectors: those of cacophony for Noise_XXpsk3_25519_AESGCM_SHA256. */
import { createCipheriv, createHash, createHmac } from 'node:crypto'
import t from 'tap'
import { MESSAGE_BYTES, NoiseHandshake } from '../../lib/secure/noise.js'
import { keyPairOf, sharedSecret } from '../../lib/secure/x25519.js'

const hex = (text: string) => Buffer.from(text, 'hex')

const VECTOR = {
  prologue: '4a6f686e2047616c74',
  psk: '54686973206973206d7920417573747269616e20706572737065637469766521',
  initStatic: 'e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1',
  initEphemeral: '893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a',
  respStatic: '4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893',
  respEphemeral: 'bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b',
  messages: [
    [
      '4c756477696720766f6e204d69736573',
      'ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944ad6766e442bec99c94ff573cd5316da008cbcc1ebcf47fbe43991ed633bcbb75',
    ],
    [
      '4d757272617920526f746862617264',
      '95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f14480884336a2439b0bafb5e97fee2c19b6f9f741125f810ad98e7e9659c48ca3e19652d316d1121073a281e0402b7bc1acb476caa1e7308faad7f75337b30f12435c98303cac63cac1d69ac11f2e1971e138ac',
    ],
    [
      '462e20412e20486179656b',
      '2504a7905dbd6a56820581eb314085df196fda55aa5e77745d61c0b526355733d5ee67b9a4f345be7dc7c6583d3807626eb0f42c69388955ff0c9f35b03951129db18848a76f6a4d270022',
    ],
  ] as const,
  // The first transport message, of the responder: AES-256-GCM with nonce 0 and no associated data.
  transport: ['4361726c204d656e676572', 'b20ca762013411bc55d65fc7137a2e719d432cd549cb037f5e9c84'] as const,
  handshakeHash: '8fd584888cb83f0ef12f8776516b4f5714421fd1f65ad46baeb0789a3beeffea',
}

/**
 * Hash and chaining key of both ends after each token that changes the hash, by sections 5.2 and 5.3 of the specification: another calculation
 * than lib/secure's, from the messages of the vector.
 */
function transcript(): { hash: string; ofPsk: boolean }[] {
  const hkdf = (key: Uint8Array, material: Uint8Array) => {
    const temporary = createHmac('sha256', key).update(material).digest()
    const outputs: Buffer[] = []
    for (const i of [1, 2, 3])
      outputs.push(
        createHmac('sha256', temporary)
          .update(outputs.at(-1) ?? '')
          .update(Uint8Array.of(i))
          .digest(),
      )
    return outputs
  }
  const name = Buffer.from('Noise_XXpsk3_25519_AESGCM_SHA256')
  const { initStatic, initEphemeral, respStatic, respEphemeral, psk, prologue, messages } = VECTOR
  const keys = Object.fromEntries(
    Object.entries({ is: initStatic, ie: initEphemeral, rs: respStatic, re: respEphemeral }).map(
      ([of, key]) => [of, keyPairOf(hex(key))],
    ),
  )
  const steps: { hash: string; ofPsk: boolean }[] = []
  let [hash, chain] = [name, name] as [Buffer, Buffer]
  const mix = (data: Uint8Array, ofPsk = false) => {
    hash = createHash('sha256').update(hash).update(data).digest()
    steps.push({ hash: hash.toString('hex'), ofPsk })
  }
  const mixKey = (material: Uint8Array) => {
    chain = hkdf(chain, material)[0]!
  }
  mix(hex(prologue))
  for (const [i, tokens] of ['e', 'e ee s es', 's se psk'].entries()) {
    let rest = hex(messages[i]![1])
    const take = (bytes: number) => {
      const part = rest.subarray(0, bytes)
      rest = rest.subarray(bytes)
      return part
    }
    for (const token of tokens.split(' ')) {
      if (token === 'e') {
        const key = take(32)
        mix(key)
        mixKey(key)
      } else if (token === 's') mix(take(48))
      else if (token === 'psk') {
        const [next, added] = hkdf(chain, hex(psk)) as [Buffer, Buffer]
        chain = next
        mix(added, true)
      } else mixKey(sharedSecret(keys[`i${token[0]}`]!, keys[`r${token[1]}`]!.publicKey)!)
    }
    mix(rest)
  }
  return steps
}

function ends(more: { prologue?: string; psk?: string } = {}) {
  const common = { psk: hex(more.psk ?? VECTOR.psk), prologue: hex(more.prologue ?? VECTOR.prologue) }
  const initiator = new NoiseHandshake({
    isInitiator: true,
    staticKey: keyPairOf(hex(VECTOR.initStatic)),
    ephemeralKey: keyPairOf(hex(VECTOR.initEphemeral)),
    psk: hex(VECTOR.psk),
    prologue: hex(VECTOR.prologue),
  })
  const responder = new NoiseHandshake({
    isInitiator: false,
    staticKey: keyPairOf(hex(VECTOR.respStatic)),
    ephemeralKey: keyPairOf(hex(VECTOR.respEphemeral)),
    ...common,
  })
  return [initiator, responder] as const
}

t.test('both ends write and read what the vector has', async t => {
  const both = ends()
  for (const [i, [payload, text]] of VECTOR.messages.entries()) {
    const [writer, reader] = i % 2 === 0 ? both : [both[1], both[0]]
    t.ok(writer.writes)
    t.equal(writer.write(hex(payload))!.toString('hex'), text)
    t.equal(reader.read(hex(text))!.toString('hex'), payload)
    t.equal(hex(text).length, MESSAGE_BYTES[i]! + hex(payload).length)
  }
  const [initiator, responder] = both.map(end => end.finish())
  t.same(responder!.hash, initiator!.hash)
  t.equal(initiator!.hash.toString('hex'), transcript().at(-1)!.hash)
  t.same(responder!.send, initiator!.receive)
  t.same(responder!.receive, initiator!.send)
  t.same(Buffer.from(both[0].peerStatic), Buffer.from(keyPairOf(hex(VECTOR.respStatic)).publicKey))
  t.same(Buffer.from(both[1].peerStatic), Buffer.from(keyPairOf(hex(VECTOR.initStatic)).publicKey))
  const cipher = createCipheriv('aes-256-gcm', responder!.send, Buffer.alloc(12))
  const [payload, text] = VECTOR.transport
  const sealed = Buffer.concat([cipher.update(hex(payload)), cipher.final(), cipher.getAuthTag()])
  t.equal(sealed.toString('hex'), text)
})

t.test('the handshake_hash of the vector is that before the token psk, in its last message', async t => {
  const steps = transcript()
  const at = steps.findIndex(({ ofPsk }) => ofPsk)
  t.equal(steps[at - 1]!.hash, VECTOR.handshakeHash)
  t.equal(
    at,
    steps.length - 2,
    'psk and the payload follow, which the specification takes into it (5.2, 9.2)',
  )
})

t.test('another prologue is found out by the first message that has a key of both', async t => {
  const [initiator, responder] = ends({ prologue: '00' })
  t.equal(responder.read(initiator.write(Buffer.alloc(0))!), null)
})

t.test('another secret is found out by the last message', async t => {
  const [initiator, responder] = ends({ psk: '00'.repeat(32) })
  t.ok(responder.read(initiator.write(Buffer.alloc(0))!))
  t.ok(initiator.read(responder.write(Buffer.alloc(0))!))
  t.equal(responder.read(initiator.write(Buffer.alloc(0))!), null)
})

t.test('no bit of a message can be another one, and none may be missing', async t => {
  for (let message = 0; message < 3; message++) {
    const length = MESSAGE_BYTES[message]!
    for (let bit = 0; bit < 8 * length; bit += 5) {
      const both = ends()
      for (let i = 0; i < message; i++) both[(i + 1) % 2]!.read(both[i % 2]!.write(Buffer.alloc(0))!)
      const text = both[message % 2]!.write(Buffer.alloc(0))!
      const damaged = Buffer.from(text)
      damaged[bit >> 3]! ^= 1 << (bit & 7)
      if (both[(message + 1) % 2]!.read(damaged) !== null) t.fail(`bit ${bit} of message ${message}`)
    }
    const both = ends()
    for (let i = 0; i < message; i++) both[(i + 1) % 2]!.read(both[i % 2]!.write(Buffer.alloc(0))!)
    const text = both[message % 2]!.write(Buffer.alloc(0))!
    t.equal(both[(message + 1) % 2]!.read(text.subarray(0, -1)), null)
  }
})

t.test('the key exchange of RFC 7748, section 6.1, and a key of small order', async t => {
  const alice = keyPairOf(hex('77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a'))
  const bob = keyPairOf(hex('5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb'))
  t.equal(
    Buffer.from(alice.publicKey).toString('hex'),
    '8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a',
  )
  t.equal(
    Buffer.from(bob.publicKey).toString('hex'),
    'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f',
  )
  const shared = '4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742'
  t.equal(sharedSecret(alice, bob.publicKey)!.toString('hex'), shared)
  t.equal(sharedSecret(bob, alice.publicKey)!.toString('hex'), shared)
  t.equal(sharedSecret(alice, new Uint8Array(32)), null)
})
