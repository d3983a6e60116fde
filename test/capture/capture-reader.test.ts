/** pcap and pcapng files written byte by byte here, in both byte orders, whole and broken. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  CapturedPacket,
  CaptureReader,
  FRAME_EXTRA_BYTES,
  LinkType,
  loadFrame,
} from '../../lib/capture/capture-reader.js'
import { Frame } from '../../lib/frame/frame.js'
import { fc, property } from '../support/property.js'
import {
  Bytes,
  type Order,
  pcapFile,
  pcapngBlock,
  pcapngInterface,
  pcapngPacket,
  pcapngSection,
} from './build.js'

const ORDERS: Order[] = ['LE', 'BE']

function readAll(
  bytes: Uint8Array,
): { seconds: number; nanos: number; hex: string; wire: number; link: number }[] {
  const reader = CaptureReader.fromBytes('test.cap', bytes)
  const packet = new CapturedPacket()
  const all = []
  while (reader.next(packet)) {
    const data = packet.buffer.subarray(packet.at, packet.at + packet.capturedBytes)
    const { seconds, nanos, wireBytes, linkType } = packet
    all.push({ seconds, nanos, hex: data.toString('hex'), wire: wireBytes, link: linkType })
  }
  reader.close()
  return all
}

t.test('pcap: both orders, both units', async t => {
  for (const order of ORDERS) {
    const micro = pcapFile(order, 0xa1b2c3d4, [
      [1_700_000_000, 999_999, 'aabbcc', 3],
      [0xffff_ffff, 0, '', 60],
    ])
    t.same(readAll(micro), [
      { seconds: 1_700_000_000, nanos: 999_999_000, hex: 'aabbcc', wire: 3, link: 1 },
      { seconds: 0xffff_ffff, nanos: 0, hex: '', wire: 60, link: 1 },
    ])
    const nano = pcapFile(order, 0xa1b23c4d, [[5, 999_999_999, '01', 1500]], 276)
    t.same(readAll(nano), [{ seconds: 5, nanos: 999_999_999, hex: '01', wire: 1500, link: 276 }])
  }
  t.same(readAll(pcapFile('LE', 0xa1b2c3d4, [])), [])
})

t.test('a pcap literal', async t => {
  const literal = Buffer.from(
    'd4c3b2a1 0200 0400 00000000 00000000 00000400 01000000 5a08016b 31d70a00 02000000 42010000 beef'.replaceAll(
      ' ',
      '',
    ),
    'hex',
  )
  // 0x6b01085a seconds, 0x0ad731 microseconds.
  t.same(readAll(literal), [{ seconds: 0x6b01085a, nanos: 710_449_000, hex: 'beef', wire: 322, link: 1 }])
})

t.test(
  'a pcapng literal: section, interface in nanoseconds, enhanced and simple packet, unknown block',
  async t => {
    const literal = [
      '0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c', // section, big-endian
      '00000001 00000020 0001 0000 00000004 0009 0001 09000000 0000 0000 00000020', // Ethernet, snap 4, tsresol 10^-9
      '00000bad 00000010 deadbeef 00000010', // a kind that nobody knows
      // 0x00000001_00000001 ns = 4.294967297 s
      '00000006 00000024 00000000 00000001 00000001 00000003 00000040 a1b2c300 00000024',
      '00000003 00000014 00000009 01020304 00000014', // 9 bytes on the wire, cut at the snap length
    ]
    t.same(readAll(Buffer.from(literal.join('').replaceAll(' ', ''), 'hex')), [
      { seconds: 4, nanos: 294_967_297, hex: 'a1b2c3', wire: 64, link: 1 },
      { seconds: 0, nanos: 0, hex: '01020304', wire: 9, link: 1 },
    ])
  },
)

t.test('pcapng: orders, sections, units of time, offset', async t => {
  const time = (resolution: number | null, ticks: bigint, offset: bigint | null, order: Order) => {
    const options = new Bytes(order)
    if (resolution !== null) options.u16(9).u16(1).hex(resolution.toString(16).padStart(2, '0')).hex('000000')
    if (offset !== null) options.u16(14).u16(8).u64(offset)
    options.u16(0).u16(0)
    const file = [
      pcapngSection(order),
      pcapngInterface(order, 1, 0, options),
      pcapngPacket(order, 0, ticks, 'ff', 1),
    ]
    const [packet] = readAll(Buffer.concat(file))
    return [packet!.seconds, packet!.nanos]
  }
  for (const order of ORDERS) {
    t.same(
      time(null, 1_700_000_000_123_456n, null, order),
      [1_700_000_000, 123_456_000],
      'microseconds by default',
    )
    t.same(time(9, 1_700_000_000_123_456_789n, null, order), [1_700_000_000, 123_456_789])
    t.same(time(3, 1500n, null, order), [1, 500_000_000])
    t.same(time(0, 7n, null, order), [7, 0])
    t.same(time(0x80 | 10, 1024n + 256n, null, order), [1, 250_000_000], 'powers of two')
    t.same(time(12, 1_999_999_999_999n, null, order), [1, 999_999_999], 'finer than ns is rounded down')
    t.same(time(6, 5_000_000n, 100n, order), [105, 0])
    t.same(time(6, 500_000n, -3n, order), [-3, 500_000_000])
  }
  const mixed = Buffer.concat([
    pcapngSection('LE'),
    pcapngInterface('LE', 1, 0),
    pcapngInterface('LE', 113, 0),
    pcapngPacket('LE', 1, 0n, 'aa', 1),
    pcapngSection('BE'),
    pcapngInterface('BE', 101, 0),
    pcapngPacket('BE', 0, 0n, 'bb', 1),
  ])
  t.same(
    readAll(mixed).map(p => [p.hex, p.link]),
    [
      ['aa', 113],
      ['bb', 101],
    ],
    'a section forgets the interfaces and the order of the one before',
  )
})

t.test('what is broken is named with file and offset', async t => {
  const section = pcapngSection('LE')
  const described = Buffer.concat([section, pcapngInterface('LE', 1, 0)])
  const pcap = (change: (file: Buffer) => void) => {
    const file = pcapFile('LE', 0xa1b2c3d4, [[1, 2, 'aabbccdd', 4]])
    change(file)
    return file
  }
  const longOption = new Bytes('LE').u16(9).u16(400)
  const cases: [string, Buffer, RegExp][] = [
    ['nothing', Buffer.alloc(0), /at byte 0: the file is too short/],
    ['text', Buffer.from('#!/bin/sh\n'), /neither pcap nor pcapng/],
    ['short file header', pcap(() => {}).subarray(0, 20), /at byte 0: the file header is cut short/],
    ['version', pcap(f => f.writeUInt16LE(3, 4)), /version 3\.4/],
    ['record header', pcap(() => {}).subarray(0, 30), /at byte 24: the file ends within a record header/],
    ['record', pcap(() => {}).subarray(0, 42), /at byte 24: the file ends within a packet of 4 bytes/],
    ['huge record', pcap(f => f.writeUInt32LE(0x7fff_ffff, 32)), /at byte 24: a packet of 2147483647 bytes/],
    ['caplen over len', pcap(f => f.writeUInt32LE(3, 36)), /4 bytes captured of a packet that has only 3/],
    ['fraction', pcap(f => f.writeUInt32LE(1_000_000, 28)), /fraction of a second/],
    ['byte order', Buffer.concat([section.subarray(0, 8), Buffer.alloc(20)]), /no byte-order magic/],
    ['cut section', section.subarray(0, 16), /ends within a section header|ends within a block/],
    ['trailing length', Buffer.concat([section.subarray(0, 24), Buffer.from([9, 0, 0, 0])]), /28 and 9/],
    [
      'odd length',
      Buffer.concat([section, pcapngBlock('LE', 5, new Bytes('LE').hex('aa'))]),
      /at byte 28: block length 13/,
    ],
    [
      'huge block',
      Buffer.concat([section, Buffer.from('0500000000000010', 'hex'), Buffer.alloc(8)]),
      /block length 268435456/,
    ],
    [
      'cut block',
      described.subarray(0, described.length - 4),
      /at byte 28: the file ends within a block of 20/,
    ],
    [
      'no interface',
      Buffer.concat([section, pcapngPacket('LE', 0, 0n, 'aa', 1)]),
      /names interface 0; the section describes 0/,
    ],
    [
      'wrong interface',
      Buffer.concat([described, pcapngPacket('LE', 1, 0n, 'aa', 1)]),
      /at byte 48: a packet names interface 1/,
    ],
    [
      'packet beyond its block',
      Buffer.concat([described, pcapngPacket('LE', 0, 0n, 'aa', 9, 5)]),
      /5 bytes does not fit its block/,
    ],
    [
      'caplen over len, ng',
      Buffer.concat([described, pcapngPacket('LE', 0, 0n, 'aabb', 1)]),
      /2 bytes captured of a packet that has only 1/,
    ],
    [
      'short packet block',
      Buffer.concat([described, pcapngBlock('LE', 6, new Bytes('LE').u32(0))]),
      /enhanced packet block is cut short/,
    ],
    [
      'short simple block',
      Buffer.concat([described, pcapngBlock('LE', 3, new Bytes('LE'))]),
      /simple packet block is cut short/,
    ],
    [
      'short interface',
      Buffer.concat([section, pcapngBlock('LE', 1, new Bytes('LE').u32(1))]),
      /interface description is cut short/,
    ],
    [
      'option',
      Buffer.concat([section, pcapngInterface('LE', 1, 0, longOption)]),
      /option 9 runs past the end/,
    ],
  ]
  for (const [name, bytes, message] of cases) {
    t.throws(() => readAll(bytes), { code: 'WEIR_BAD_CAPTURE', message }, name)
    t.throws(() => readAll(bytes), { message: /^test\.cap: at byte \d+: / }, `${name}: where`)
  }
})

t.test('every truncation is an end between packets, or an error', async t => {
  const files = [
    pcapFile('LE', 0xa1b23c4d, [
      [1, 2, 'aabb', 2],
      [3, 4, 'ccddee', 3],
    ]),
    Buffer.concat([
      pcapngSection('BE'),
      pcapngInterface('BE', 1, 0),
      pcapngPacket('BE', 0, 1n, 'aabb', 2),
      pcapngPacket('BE', 0, 2n, 'ccddee', 3),
    ]),
  ]
  const whole = [new Set([24, 42, 61]), new Set([28, 48, 84, 120])]
  for (const [index, file] of files.entries()) {
    t.equal(readAll(file).length, 2)
    for (let length = 0; length <= file.length; length++) {
      let error: unknown = null
      try {
        readAll(file.subarray(0, length))
      } catch (caught) {
        error = caught
      }
      t.equal(error === null, whole[index]!.has(length), `cut to ${length}`)
      if (error !== null) t.match(error, { code: 'WEIR_BAD_CAPTURE' })
    }
  }
})

t.test('fuzz: damaged files end in packets or in WEIR_BAD_CAPTURE', async t => {
  const order = fc.constantFrom<Order>('LE', 'BE')
  const damage = fc.array(fc.tuple(fc.integer({ min: 0, max: 130 }), fc.integer({ min: 0, max: 255 })), {
    maxLength: 5,
  })
  property(
    t,
    'no other error',
    fc.tuple(order, fc.boolean(), damage),
    ([o, ng, flips]) => {
      const file = ng
        ? Buffer.concat([
            pcapngSection(o),
            pcapngInterface(o, 1, 0),
            pcapngPacket(o, 0, 1n, 'aabb', 2),
            pcapngPacket(o, 0, 1n, 'cc', 2),
          ])
        : pcapFile(o, 0xa1b2c3d4, [
            [1, 2, 'aabb', 2],
            [3, 4, 'cc', 2],
          ])
      for (const [at, value] of flips) if (at < file.length) file[at] = value
      try {
        readAll(file)
      } catch (error) {
        if ((error as { code?: string }).code !== 'WEIR_BAD_CAPTURE') throw error
      }
    },
    600,
  )
})

t.test('a file larger than the window is read in pieces', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-capture-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'large.pcap')
  const body = 'ab'.repeat(1461)
  const records = Array.from({ length: 2000 }, (_, i): [number, number, string, number] => [i, i, body, 1461])
  records[1000] = [1000, 1000, 'cd'.repeat(200_000), 200_000]
  const file = pcapFile('LE', 0xa1b23c4d, records)
  t.ok(file.length > 3 << 20)
  writeFileSync(path, file)
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  let count = 0
  while (reader.next(packet)) {
    const byte = count === 1000 ? 0xcd : 0xab
    if (packet.seconds !== count || packet.nanos !== count) t.fail(`time of packet ${count}`)
    if (packet.capturedBytes !== (count === 1000 ? 200_000 : 1461)) t.fail(`length of packet ${count}`)
    if (packet.buffer[packet.at] !== byte || packet.buffer[packet.at + packet.capturedBytes - 1] !== byte) {
      t.fail(`bytes of packet ${count}`)
    }
    count++
  }
  reader.close()
  reader.close()
  t.equal(count, 2000)

  writeFileSync(path, file.subarray(0, file.length - 1))
  const cut = CaptureReader.open(path)
  const last = file.length - 16 - 1461
  t.throws(
    () => {
      while (cut.next(packet));
    },
    { message: new RegExp(`at byte ${last}: the file ends within a packet of 1461 bytes`) },
    'offsets count from the beginning of the file',
  )
  cut.close()
})

t.test('files that cannot be read', async t => {
  t.throws(() => CaptureReader.open('/nonexistent/x.pcap'), {
    code: 'WEIR_NO_FILE',
    message: /there is no such file/,
  })
  t.throws(() => CaptureReader.open(tmpdir()), { code: 'WEIR_NO_FILE', message: /it is a directory/ })
})

t.test('link types become Ethernet frames', async t => {
  const frame = new Frame(0, Buffer.alloc(100 + FRAME_EXTRA_BYTES))
  const load = (linkType: number, hex: string, wireExtra = 0) => {
    const packet = new CapturedPacket()
    packet.buffer = Buffer.from(`eeee${hex}`, 'hex')
    packet.at = 2
    packet.linkType = linkType
    packet.capturedBytes = hex.length / 2
    packet.wireBytes = hex.length / 2 + wireExtra
    if (!loadFrame(packet, frame)) return null
    return [frame.bytes.subarray(0, frame.length).toString('hex'), frame.wireLength - frame.length]
  }
  const zeros = '00'.repeat(12)
  t.same(load(LinkType.ETHERNET, '010203', 5), ['010203', 5])
  t.same(load(LinkType.RAW, '4500', 1), [`${zeros}08004500`, 1])
  t.same(load(LinkType.RAW, '6000'), [`${zeros}86dd6000`, 0])
  t.same(load(LinkType.IPV4, '45'), [`${zeros}080045`, 0])
  t.same(load(LinkType.IPV6, '60'), [`${zeros}86dd60`, 0])
  t.same(load(LinkType.LINUX_SLL, `${'11'.repeat(14)}080045ff`), [`${zeros}080045ff`, 0])
  t.same(load(LinkType.LINUX_SLL2, `0800${'11'.repeat(18)}45ff`), [`${zeros}080045ff`, 0])
  t.equal(load(LinkType.LINUX_SLL, '11'.repeat(15)), null)
  t.equal(load(LinkType.LINUX_SLL2, '11'.repeat(19)), null)
  t.equal(load(LinkType.RAW, ''), null)
  t.equal(load(105, '0102'), null, '802.11 is not read')
})
