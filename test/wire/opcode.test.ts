/** The opcode tables compared with IBA 9.2.1, written here again by service and operation. */
import t from 'tap'
import * as opcode from '../../lib/wire/ib/opcode.js'

const { Opcode } = opcode

// name of the operation, code, extended header bytes, traits: q request, r response, f first, m middle, l last, p payload
const RC: [string, number, number, string][] = [
  ['SEND_FIRST', 0, 0, 'qfp'],
  ['SEND_MIDDLE', 1, 0, 'qmp'],
  ['SEND_LAST', 2, 0, 'qlp'],
  ['SEND_LAST_WITH_IMM', 3, 4, 'qlp'],
  ['SEND_ONLY', 4, 0, 'qflp'],
  ['SEND_ONLY_WITH_IMM', 5, 4, 'qflp'],
  ['RDMA_WRITE_FIRST', 6, 16, 'qfp'],
  ['RDMA_WRITE_MIDDLE', 7, 0, 'qmp'],
  ['RDMA_WRITE_LAST', 8, 0, 'qlp'],
  ['RDMA_WRITE_LAST_WITH_IMM', 9, 4, 'qlp'],
  ['RDMA_WRITE_ONLY', 10, 16, 'qflp'],
  ['RDMA_WRITE_ONLY_WITH_IMM', 11, 20, 'qflp'],
  ['RDMA_READ_REQUEST', 12, 16, 'qfl'],
  ['RDMA_READ_RESPONSE_FIRST', 13, 4, 'rfp'],
  ['RDMA_READ_RESPONSE_MIDDLE', 14, 0, 'rmp'],
  ['RDMA_READ_RESPONSE_LAST', 15, 4, 'rlp'],
  ['RDMA_READ_RESPONSE_ONLY', 16, 4, 'rflp'],
  ['ACKNOWLEDGE', 17, 4, 'rfl'],
  ['ATOMIC_ACKNOWLEDGE', 18, 12, 'rfl'],
  ['COMPARE_SWAP', 19, 28, 'qfl'],
  ['FETCH_ADD', 20, 28, 'qfl'],
  ['SEND_LAST_WITH_INV', 22, 4, 'qlp'],
  ['SEND_ONLY_WITH_INV', 23, 4, 'qflp'],
]
const TABLE: [string, number, number, string][] = [
  ...RC.map(([name, code, bytes, traits]): [string, number, number, string] => [
    `RC_${name}`,
    code,
    bytes,
    traits,
  ]),
  ...RC.slice(0, 12).map(([name, code, bytes, traits]): [string, number, number, string] => [
    `UC_${name}`,
    0x20 + code,
    bytes,
    traits,
  ]),
  ['UD_SEND_ONLY', 0x64, 8, 'qflp'],
  ['UD_SEND_ONLY_WITH_IMM', 0x65, 12, 'qflp'],
  ['CNP', 0x81, 16, 'rfl'],
  ['PROBE', 0xc0, 0, 'qfl'],
  ['NOTIFY', 0xc1, 8, 'rfl'],
  ['RATE', 0xc2, 16, 'rfl'],
  ['SACK', 0xc3, 40, 'rfl'],
  ['RATE_REQUEST', 0xc4, 120, 'qfl'],
  ['DIRECT_NOTIFY', 0xc5, 4, 'rfl'],
  ['FAIR_RATE', 0xca, 16, 'rfl'],
  ['PATH_PROBE', 0xc6, 0, 'qfl'],
  ['PATH_ANSWER', 0xc7, 0, 'rfl'],
  ['STAMPED_ACK', 0xc8, 20, 'rfl'],
  ['STAMPED_SACK', 0xc9, 56, 'rfl'],
]

t.test('every opcode', async t => {
  t.equal(Object.keys(Opcode).length, TABLE.length)
  for (const [name, code, bytes, traits] of TABLE) {
    t.equal(Opcode[name as keyof typeof Opcode], code, name)
    t.equal(opcode.opcodeName(code), name)
    t.equal(opcode.EXTENDED_HEADER_BYTES[code], bytes, `${name}: extended headers`)
    const found =
      (opcode.isRequest(code) ? 'q' : '') +
      (opcode.isResponse(code) ? 'r' : '') +
      (opcode.isFirst(code) ? 'f' : '') +
      (opcode.isLast(code) ? 'l' : '') +
      (opcode.hasPayload(code) ? 'p' : '')
    t.equal(found, traits.replace('m', ''), `${name}: traits`)
  }
})

t.test('which headers', async t => {
  const having = (test: (code: number) => boolean) =>
    Array.from({ length: 256 }, (_, code) => code).filter(test)
  t.same(having(opcode.hasReth), [6, 10, 11, 12, 0x26, 0x2a, 0x2b])
  t.same(having(opcode.hasAeth), [13, 15, 16, 17, 18, 0xc1, 0xc2, 0xc3, 0xc8, 0xc9])
  t.same(having(opcode.hasAtomicEth), [19, 20])
  t.same(having(opcode.hasAtomicAckEth), [18])
  t.same(having(opcode.hasImmediate), [3, 5, 9, 11, 0x23, 0x25, 0x29, 0x2b, 0x65])
  t.same(having(opcode.hasIeth), [22, 23])
  t.same(having(opcode.hasDeth), [0x64, 0x65])
  t.same(having(opcode.hasSack), [0xc3, 0xc9])
  t.same(having(opcode.hasArrival), [0xc8, 0xc9])
  t.same(having(opcode.hasDelayedAck), [0xc1, 0xc2, 0xc5])
  t.same(having(opcode.hasRate), [0xc2])
  t.same(having(opcode.hasRateRequest), [0xc4])
  t.same(having(opcode.isRcSend), [0, 1, 2, 3, 4, 5, 22, 23])
  t.same(having(opcode.isRcWrite), [6, 7, 8, 9, 10, 11])
  t.same(having(opcode.isReadResponse), [13, 14, 15, 16])
})

t.test('codes that are none', async t => {
  const known = new Set(TABLE.map(([, code]) => code))
  for (let code = 0; code < 256; code++) {
    t.equal(opcode.isKnown(code), known.has(code))
    if (known.has(code)) continue
    t.equal(opcode.EXTENDED_HEADER_BYTES[code], 0)
    t.notOk(opcode.isRequest(code) || opcode.isResponse(code) || opcode.hasPayload(code))
  }
  t.equal(opcode.opcodeName(0x15), '0x15')
})
