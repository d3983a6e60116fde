/** Streams of rsockets: the words by the layout of rsocket.c, and two ends of Weir. */
import t from 'tap'
import { RSTREAM_PORT, StreamSocket } from '../../../lib/interop/rsocket/stream-socket.js'
import {
  connectBytes,
  immediateOf,
  numberIn,
  readConnect,
  readPeerMemory,
  Word,
  wordOf,
} from '../../../lib/interop/rsocket/words.js'
import { Random } from '../../../lib/sim/random.js'
import { open } from '../../host/hosts.js'
import { drawnSeed } from '../../support/seeds.js'

t.test('what the ends say at connect: struct rs_conn_data, 40 bytes', async t => {
  const list = { address: 0x5593192be000, key: 0x212, length: 2 }
  const buffer = { address: 0x7f0000001000, key: 0x313, length: 0x10000 }
  const bytes = connectBytes({ credits: 384, list, buffer })
  const hex = '0100018000000000' + '00005593192be0000000021200000002' + '00007f00000010000000031300010000'
  t.equal(Buffer.from(bytes).toString('hex'), hex)
  // As librdmacm gives it: with zeros behind.
  const padded = Buffer.concat([bytes, Buffer.alloc(16)])
  t.same(readConnect(padded), { isBigEndian: false, credits: 384, list, buffer })
  padded[1] = 3
  t.equal(readConnect(padded).isBigEndian, true)
  padded[0] = 2
  for (const wrong of [padded, bytes.subarray(0, 39), new Uint8Array(56)])
    t.throws(() => readConnect(wrong), { code: 'WEIR_PROTOCOL' })
  const view = new DataView(new ArrayBuffer(16))
  view.setBigUint64(0, 2n ** 60n, true)
  t.throws(() => readPeerMemory(view, 0, true), { code: 'WEIR_PROTOCOL' })
  // The second entry of such a list would have an address that is no exact number.
  const above = connectBytes({ credits: 1, list: { ...list, address: Number.MAX_SAFE_INTEGER }, buffer })
  t.throws(() => readConnect(above), { code: 'WEIR_PROTOCOL' })
})

t.test('immediates: three bits say what it is', async t => {
  t.equal(immediateOf(Word.DATA, 1000), 1000)
  t.equal(immediateOf(Word.CREDITS, 70), 0x8000_0046)
  t.equal(immediateOf(Word.CONTROL, 2), 0xe000_0002)
  t.same([wordOf(0xc000_0005), numberIn(0xc000_0005)], [Word.IO_MAP, 5])
})

t.test('two hosts', async t => {
  const [a, b] = await Promise.all([open(t), open(t)])
  const pair = async () => {
    let listens = () => {}
    const listening = new Promise<void>(resolve => {
      listens = resolve
    })
    const accepted = StreamSocket.accept(b, RSTREAM_PORT, listens)
    await listening
    return await Promise.all([StreamSocket.connect(a, b.about.address), accepted])
  }

  t.test('bytes of any length both ways at once, then the end', async t => {
    const seed = drawnSeed(t)
    const random = new Random(seed)
    const [left, right] = await pair()
    const texts = [0, 1].map(() => Uint8Array.from({ length: 700_000 }, () => random.u32() & 0xff))
    const send = async (by: StreamSocket, text: Uint8Array) => {
      for (let at = 0; at < text.length; ) {
        const bytes = 1 + (random.u32() % 50_000)
        await by.write(text.subarray(at, at + bytes))
        at += bytes
      }
      await by.end()
    }
    const take = async (by: StreamSocket) => {
      const pieces: Uint8Array[] = []
      for (let piece = await by.read(); piece !== null; piece = await by.read()) pieces.push(piece)
      return Buffer.concat(pieces)
    }
    const [, , atRight, atLeft] = await Promise.all([
      send(left, texts[0]!),
      send(right, texts[1]!),
      take(right),
      take(left),
    ])
    t.ok(atRight.equals(texts[0]!))
    t.ok(atLeft.equals(texts[1]!))
    await t.rejects(left.write(new Uint8Array(1)), { code: 'WEIR_CONNECTION_LOST' })
    for (const wrong of ['text', null, 5, new Uint16Array(1)])
      await t.rejects(right.write(wrong as never), { code: 'WEIR_BAD_ARGUMENT' })
    await Promise.all([left.close(), right.close()])
  })

  t.test('a reader that does not read holds the writer up', async t => {
    const [left, right] = await pair()
    let written = 0
    const writing = (async () => {
      for (; written < 40; written++) await left.write(new Uint8Array(16_384).fill(written))
    })()
    // Ring and pieces of the writer: 128 KiB and 256 KiB. Small messages are bounded by credits.
    while (written < 8) await new Promise(resolve => setTimeout(resolve, 5))
    await new Promise(resolve => setTimeout(resolve, 50))
    t.ok(written <= 24, `${written} of 16 KiB`)
    for (let bytes = 0; bytes < 40 * 16_384; ) {
      const piece = await right.read()
      for (const [i, byte] of piece!.entries())
        if (byte !== Math.floor((bytes + i) / 16_384)) throw new Error('wrong')
      bytes += piece!.length
    }
    await writing
    for (let n = 0; n < 500; n++) {
      await left.write(Uint8Array.of(n & 0xff))
      t.same([...(await right.read())!], [n & 0xff])
    }
    await left.close()
    t.equal(await right.read(), null)
    await right.close()
  })

  t.test('who is no rsocket is refused, and an end that vanishes is noticed', async t => {
    let listens = () => {}
    const listening = new Promise<void>(resolve => {
      listens = resolve
    })
    const accepted = StreamSocket.accept(b, RSTREAM_PORT, listens)
    await listening
    await Promise.all([
      a.connect(b.about.address, RSTREAM_PORT),
      t.rejects(accepted, { code: 'WEIR_PROTOCOL' }),
    ])
    const [left, right] = await pair()
    await left.connection.disconnect()
    t.equal(await right.read(), null)
    await Promise.all([left.close(), right.close()])
  })
})
