/**
 * What a host says of its receive buffer at connect: what one connection may have, and what all may have together. Versions before this one
 * had one number for both.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConnection } from '../../lib/nic/connect/nic-connection.js'
import { flowBytesOf } from '../../lib/nic/feedback/host-share.js'
import { say } from '../attack/third-party.js'
import { App, frameName, makePair, type PairOptions } from './pair.js'

/** What a receive buffer of 32 MiB takes. */
const BUDGET_BYTES = 22_369_621
const UNIT = 1 << 18
const HOST = { receiveBudgetBytes: BUDGET_BYTES }

/** The field whose number a host of an older version takes for one connection's. */
const RECEIVE_BUDGET = 7
const HOST_BUDGET = 17

/** The numbers of a message of protobuf by their fields, read as any version reads them: bytes are skipped. */
function numbersIn(words: Uint8Array): Map<number, number> {
  const found = new Map<number, number>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = words[at++]!
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
  }
  while (at < words.length) {
    const key = varint()
    const value = varint()
    if ((key & 7) === 2) at += value
    else found.set(key >>> 3, value)
  }
  return found
}

/** Weir's words of a message, as bytes of protobuf. */
function wordsIn({ bytes, l4 }: Frame): Uint8Array {
  const at = bytes.indexOf('WEIR', l4)
  return Uint8Array.from(bytes.subarray(at + 5, at + 5 + bytes[at + 4]!))
}

/** So many flows have less than a turn's bytes each: all of them together have what the host says of all. */
const MANY = 1000

/** What one flow may have in flight alone, and as one of many. */
const sharesOf = (app: App) => {
  const { hostShare } = (app.connection as NicConnection).flow.sender.congestion
  const alone = hostShare.bytes
  hostShare.onFlows(MANY)
  return { alone, ofMany: hostShare.bytes }
}

function meet(
  options: PairOptions,
  change: Parameters<typeof say>[1] = said => said,
  privateData?: Uint8Array,
) {
  const pair = makePair(options)
  const words: Record<string, Uint8Array> = {}
  pair.tap.watch = frame => {
    const name = frameName(frame)
    if (name === 'REQ' || name === 'REP') {
      words[name] = wordsIn(frame)
      say(frame, change)
    }
    return true
  }
  const [left, right] = [new App(pair.a), new App(pair.b)]
  pair.b.listen(9, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, 9, left, privateData === undefined ? {} : { privateData })
  pair.settle()
  return { words, left: sharesOf(left), right: sharesOf(right) }
}

t.test('an older version reads what one connection may have, a newer one both numbers', async t => {
  const { words, left, right } = meet({ a: HOST, b: HOST })
  for (const message of ['REQ', 'REP']) {
    const numbers = numbersIn(words[message]!)
    t.equal(numbers.get(RECEIVE_BUDGET), flowBytesOf(BUDGET_BYTES), message)
    t.equal(numbers.get(HOST_BUDGET), 85, message)
  }
  t.ok(85 * UNIT <= BUDGET_BYTES && 86 * UNIT > BUDGET_BYTES)
  const both = { alone: flowBytesOf(BUDGET_BYTES), ofMany: (85 * UNIT) / MANY }
  t.same([left, right], [both, both])
})

t.test('of an older version, the number is for all connections, and one has what one may have', async t => {
  const older = meet({ a: HOST, b: HOST }, said => {
    return { ...said, receiveBudgetBytes: BUDGET_BYTES, hostBudgetUnits: 0 }
  })
  const read = { alone: flowBytesOf(BUDGET_BYTES), ofMany: BUDGET_BYTES / MANY }
  t.same([older.left, older.right], [read, read])
})

t.test('a buffer that one connection may have whole is said once', async t => {
  const { words, left } = meet({ a: { receiveBudgetBytes: 1e6 }, b: { receiveBudgetBytes: 1e6 } })
  t.same(left, { alone: 1e6, ofMany: 1e6 / MANY })
  t.equal(numbersIn(words.REQ!).get(RECEIVE_BUDGET), 1e6)
  t.notOk(numbersIn(words.REQ!).has(HOST_BUDGET))
})

t.test('a REQ without room says one number: the passive end has it for all', async t => {
  const secret = new Uint8Array(32).fill(7)
  const { left, right } = meet(
    { a: { ...HOST, secret }, b: { ...HOST, secret } },
    undefined,
    new Uint8Array(18),
  )
  t.same(left, { alone: flowBytesOf(BUDGET_BYTES), ofMany: (85 * UNIT) / MANY }, 'the REP has room')
  t.same(right, { alone: flowBytesOf(BUDGET_BYTES), ofMany: flowBytesOf(BUDGET_BYTES) / MANY })
})
