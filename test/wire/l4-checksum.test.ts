import t from 'tap'
import { foldChecksum, sumWords, writeL4Checksum } from '../../lib/wire/net/l4-checksum.js'
import { internetSum } from '../io/helpers.js'

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

/** RFC 1071: sums to 0xffff over pseudo-header and packet when the checksum is right. */
function sumOf(packet: Buffer, addresses: Buffer, protocol: number): number {
  const length = Buffer.alloc(8)
  length.writeUInt32BE(packet.length, 0)
  length.writeUInt32BE(protocol, 4)
  return internetSum(Buffer.concat([addresses, length, packet, Buffer.alloc(packet.length % 2)]))
}

t.test('the sum of RFC 1071, section 3', async t => {
  const view = viewOf(Buffer.from('0001f203f4f5f6f7', 'hex'))
  t.equal(foldChecksum(sumWords(view, 0, 8, 0)), ~0xddf2 & 0xffff)
})

t.test('TCP and UDP over IPv4, of even and odd length', async t => {
  for (const [protocol, field] of [
    [6, 16],
    [17, 6],
  ] as const) {
    for (const length of [20, 21, 22, 23, 1000, 1001]) {
      const l4 = Buffer.from(Array.from({ length }, (_, i) => (i * 37 + protocol) & 0xff))
      const ip = Buffer.from(
        `4500${(20 + length).toString(16).padStart(4, '0')}0000400040000000c0a80001c0a800c7`,
        'hex',
      )
      ip[9] = protocol
      const bytes = Buffer.concat([ip, l4, Buffer.alloc(6)])
      t.ok(writeL4Checksum(viewOf(bytes), 0, bytes.length))
      t.equal(sumOf(bytes.subarray(20, 20 + length), ip.subarray(12, 20), protocol), 0xffff)
      t.not(bytes.readUInt16BE(20 + field), 0)
    }
  }
})

t.test('a UDP checksum of 0 is sent as ones (RFC 768)', async t => {
  const bytes = Buffer.from('4500001e0000400040110000000000000000000000000000000a00000000', 'hex')
  // Pseudo-header: protocol 17 and length 10; header: length 10; so these two bytes make the sum 0xffff.
  bytes.writeUInt16BE(0xffff - 17 - 10 - 10, 28)
  t.ok(writeL4Checksum(viewOf(bytes), 0, bytes.length))
  t.equal(bytes.readUInt16BE(26), 0xffff)
})

t.test('ICMPv6 (RFC 4443)', async t => {
  const ip = Buffer.from(`6000000000083aff${'fe80'.padEnd(32, '0')}${'ff02'.padEnd(31, '0')}1`, 'hex')
  const bytes = Buffer.concat([ip, Buffer.from('8700000000000000', 'hex')])
  t.ok(writeL4Checksum(viewOf(bytes), 0, bytes.length))
  t.equal(sumOf(bytes.subarray(40), ip.subarray(8, 40), 58), 0xffff)
})

t.test('there is none in other protocols and in fragments, nor where lengths do not fit', async t => {
  const udp = Buffer.from('4500001c00004000401100000a0000010a00000200070007000800000000', 'hex')
  const with_ = (at: number, value: number) => {
    const bytes = Buffer.from(udp)
    bytes[at] = value
    return viewOf(bytes)
  }
  t.ok(writeL4Checksum(viewOf(udp), 0, 28))
  t.notOk(writeL4Checksum(with_(9, 1), 0, 28), 'ICMP')
  t.notOk(writeL4Checksum(with_(6, 0x20), 0, 28), 'a first fragment')
  t.notOk(writeL4Checksum(with_(3, 29), 0, 28), 'longer than the frame')
  t.notOk(writeL4Checksum(with_(3, 26), 0, 28), 'no room for the field')
})
