/** Messages over the machine of a stream: two machines joined in memory. */
import t, { type Test } from 'tap'
import { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'
import type { ReceiveWork, SendWork } from '../../lib/qp/queues/work.js'
import { MessageStream } from '../../lib/stream/message-stream.js'
import { memoryBytesOf, receivesOf, StreamMachine } from '../../lib/stream/stream-machine.js'
import type { StreamWords } from '../../lib/stream/words.js'
import { pattern } from '../nic/pair.js'

const SHAPE = { segmentBytes: 256, receives: 3, sends: 3 }

interface Side {
  stream: MessageStream
  receives: ReceiveWork[]
  bytes: Uint8Array
  isClosed: boolean
}

/** Both ends of one connection. What one posts, the other has at the next turn; a SEND without a receive fails the test. */
function joined(t: Test, maxOf: [number, number] = [1000, 1000]): [Side, Side] {
  const sides: Side[] = []
  for (const i of [0, 1]) {
    const bytes = new Uint8Array(memoryBytesOf(SHAPE))
    const region = new MemoryRegion(1 + i, 0x10000, bytes.length, bytes, 1)
    const receives = receivesOf(SHAPE, region)
    const link = {
      postSend: (work: SendWork) => {
        const copy = { ...work, payload: bytes.slice(work.offset, work.offset + work.length) }
        setImmediate(() => deliver(i, copy))
        return true
      },
      postReceive: (work: ReceiveWork) => receives.push(work) > 0,
    }
    const machine = new StreamMachine(SHAPE, link, region)
    const close = () => setImmediate(() => sides.forEach(closeSide))
    const connection = { remote: `end ${1 - i}`, disconnect: close, wake: () => {} }
    const stream = new MessageStream(machine, connection, {
      sendBytesMax: maxOf[1 - i]!,
      receiveBytesMax: maxOf[i]!,
    })
    sides.push({ stream, receives, bytes, isClosed: false })
    const peer: StreamWords = { version: 1, kind: 'messages', ...SHAPE, messageBytesMax: maxOf[1 - i]! }
    setImmediate(() => machine.start(peer, i === 1))
  }
  const closeSide = (side: Side) => {
    if (side.isClosed) return
    side.isClosed = true
    side.stream.onClosed(null)
  }
  const deliver = (from: number, { id, immediate, payload }: SendWork & { payload: Uint8Array }) => {
    const [here, there] = [sides[from]!, sides[1 - from]!]
    if (here.isClosed || there.isClosed) return
    const receive = there.receives.shift()
    if (receive === undefined) return t.fail('a SEND found no receive')
    there.bytes.set(payload, receive.offset)
    const came = {
      isReceive: true,
      id: receive.id,
      hasImmediate: true,
      immediate,
      byteLength: payload.length,
    }
    there.stream.onCompletion(Object.assign(new Completion(), came))
    here.stream.onCompletion(Object.assign(new Completion(), { id }))
  }
  return sides as [Side, Side]
}

t.test('messages keep their boundaries, whatever their length', async t => {
  const [{ stream: a }, { stream: b }] = joined(t)
  const lengths = [0, 1, 255, 256, 257, 512, 1000, 0, 0, 3]
  const sent = lengths.map((length, i) => pattern(i, length))
  const send = async () => {
    for (const message of sent) await a.send(message)
    await a.end()
  }
  const got: Uint8Array[] = []
  const receive = async () => {
    for await (const message of b) got.push(message)
  }
  await Promise.all([send(), receive()])
  t.same(
    got.map(bytes => Buffer.from(bytes).toString('hex')),
    sent.map(bytes => bytes.toString('hex')),
  )
  t.equal(await b.receive(), null)
  await b.send(Buffer.from('after the end of the other one'))
  t.equal(Buffer.from((await a.receive())!).toString(), 'after the end of the other one')
  await b.end()
  t.same(await Promise.all([a.closed, b.closed]), [null, null])
})

t.test('what is refused', async t => {
  const [{ stream: a }, { stream: b }] = joined(t, [1000, 10])
  await t.rejects(a.send(Buffer.alloc(11)), { code: 'WEIR_BAD_ARGUMENT', message: /11 bytes.*takes 10/ })
  const waiting = Array.from({ length: 1024 }, () => a.send(Buffer.alloc(10)).catch(error => error.code))
  await t.rejects(a.send(Buffer.alloc(1)), { code: 'WEIR_FULL' })
  const pending = b.receive()
  b.destroy()
  await t.rejects(pending, { code: 'WEIR_CANCELLED' })
  t.ok((await Promise.all(waiting)).includes('WEIR_STREAM_RESET'))
  await t.rejects(a.receive(), { code: 'WEIR_STREAM_RESET' })
  await t.rejects(a.end(), { code: 'WEIR_STREAM_RESET' })
  t.match(await a.closed, { code: 'WEIR_STREAM_RESET' })
})

t.test('a loop that breaks resets', async t => {
  const [{ stream: a }, { stream: b }] = joined(t)
  await a.send(Buffer.from('one'))
  for await (const message of b) {
    t.equal(Buffer.from(message).toString(), 'one')
    break
  }
  t.match(await a.closed, { code: 'WEIR_STREAM_RESET' })
})

t.test('pieces without bytes end the stream: they would be kept without a bound', async t => {
  const machine = {
    complete: false,
    endConfirmed: false,
    finished: false,
    readEnded: false,
    read: () => ({ bytes: new Uint8Array(0), endsMessage: false }),
  } as unknown as StreamMachine
  const connection = { remote: '192.0.2.1', disconnect: () => {}, wake: () => {} }
  const messages = new MessageStream(machine, connection, { sendBytesMax: 9, receiveBytesMax: 9 })
  await t.rejects(messages.receive(), { code: 'WEIR_PROTOCOL' })
})
