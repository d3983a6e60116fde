import fc from 'fast-check'
import protobuf from 'protobufjs'
import t from 'tap'
import { delimit, MessageSplitter } from '../../lib/control/framing.js'
import { drawnSeed } from '../support/seeds.js'

const seed = drawnSeed(t)

t.test('the prefix is that of protobuf: checked against protobufjs, and literally', async t => {
  t.equal(delimit(Buffer.from('hi')).toString('hex'), '026869')
  t.equal(delimit(Buffer.alloc(300)).subarray(0, 2).toString('hex'), 'ac02')
  for (const length of [0, 1, 127, 128, 16_383, 16_384, 65_536]) {
    const theirs = protobuf.Writer.create().uint32(length).finish()
    t.same(delimit(Buffer.alloc(length)).subarray(0, theirs.length), Buffer.from(theirs), `${length} bytes`)
  }
})

t.test('messages come out whole however the stream is cut', async () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 12 })
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (sent, cuts) => {
      const stream = Buffer.concat(sent.map(delimit))
      const splitter = new MessageSplitter()
      const got: string[] = []
      for (let at = 0, i = 0; at < stream.length; i++) {
        const length = cuts[i % cuts.length]!
        splitter.push(stream.subarray(at, at + length), message =>
          got.push(Buffer.from(message).toString('hex')),
        )
        at += length
      }
      const expected = sent.map(message => Buffer.from(message).toString('hex'))
      return JSON.stringify(got) === JSON.stringify(expected)
    }),
    { seed },
  )
})

t.test('too long a message, or an endless prefix, is refused at its prefix', async t => {
  const never = () => t.fail('nothing is to be delivered')
  for (const bytes of ['818004', 'ffffff7f', '80808080', '8080808080808001', 'ffffffffff']) {
    const splitter = new MessageSplitter(65_536)
    t.throws(() => splitter.push(Buffer.from(bytes, 'hex'), never), { code: 'WEIR_PROTOCOL' }, bytes)
    t.throws(
      () => splitter.push(Buffer.from('00', 'hex'), never),
      { code: 'WEIR_BAD_STATE' },
      'and that is final',
    )
  }
  const splitter = new MessageSplitter(65_536)
  splitter.push(Buffer.from('808004', 'hex'), never)
  splitter.push(Buffer.from('00', 'hex'), never)
  t.pass('the greatest length is accepted')
})
