/** The messages of perftest against those that two of its programs exchanged: ib_write_bw of perftest 4.5, Debian 12, on rdma_rxe. */
import t from 'tap'
import {
  CACHE_LINE,
  CYCLE_BUFFER,
  figuresOf,
  keysBytes,
  keysText,
  mtuOf,
  numberOf,
  readFigures,
  readKeysBytes,
  readKeysText,
  readMtu,
  readVersion,
  versionOf,
} from '../../../lib/interop/perftest/messages.js'
import { CLIENT_KEYS, CLIENT_KEYS_BY_MANAGER, SERVER_KEYS } from './captured.js'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const ascii = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')

t.test('version, sizes and path MTU', async t => {
  t.equal(hex(versionOf('6.06')), '362e3036000000000000000000000000')
  t.equal(readVersion(Buffer.from('362e3036000000000000000000000000', 'hex')), '6.06')
  t.equal(hex(numberOf(CYCLE_BUFFER)), '00001000')
  t.equal(hex(numberOf(CACHE_LINE)), '00000040')
  for (const [bytes, text] of [
    [4096, '5\0'],
    [1024, '3\0'],
    [256, '1\0'],
  ] as const) {
    t.equal(ascii(mtuOf(bytes)), text)
    t.equal(readMtu(Buffer.from(text, 'latin1')), bytes)
  }
  t.equal(ascii(mtuOf(1308)), '3\0', 'a path MTU that only Weir hosts have is rounded down')
})

t.test('keys as text, and as bytes with -R', async t => {
  const keys = readKeysText(Buffer.from(CLIENT_KEYS, 'latin1'))
  t.match(keys, { outReads: 1, qpn: 0x11, psn: 0x751686, rkey: 0x212, address: 0x5593192be000 })
  t.equal(hex(keys.gid), '00000000000000000000ffff0a630002')
  t.equal(ascii(keysText(keys)), CLIENT_KEYS)
  t.equal(ascii(keysText(readKeysText(Buffer.from(SERVER_KEYS, 'latin1')))), SERVER_KEYS)
  const bytes = Buffer.from(CLIENT_KEYS_BY_MANAGER, 'hex')
  const other = readKeysBytes(bytes)
  t.match(other, { outReads: 1, qpn: 0x1a, psn: 0xfcc98c, rkey: 0xbe0, address: 0x5651ff9ed000 })
  t.equal(hex(other.gid), '00000000000000000000ffff0a630002')
  t.equal(hex(keysBytes(other)).slice(0, 104), CLIENT_KEYS_BY_MANAGER.slice(0, 104), 'all but the GID index')
})

t.test('a report', async t => {
  const figures = [
    '0000000000001000',
    '0000000000000014',
    '3ffe6c2bcdf76ecc',
    '3ff7e31eb699f42c',
    '3f390c2b04c69757',
  ]
  const report = readFigures(figures.map(figure => Buffer.from(figure, 'hex')))
  t.match(report, { size: 4096, iterations: 20 })
  // The program printed 1.90 and 1.49 MB/s, and 0.000382 Mpps.
  t.equal(report.peak.toFixed(2), '1.90')
  t.equal(report.average.toFixed(2), '1.49')
  t.equal(report.messageRate.toFixed(6), '0.000382')
  t.same(figuresOf(report).map(hex), figures)
})

t.test('what is no message', async t => {
  const wrong: [() => unknown, RegExp][] = [
    [() => readVersion(Buffer.from('GET / HTTP/1.1\r\n')), /a version/],
    [() => readVersion(Buffer.alloc(16)), /a version/],
    [() => readVersion(Buffer.from('5.1\x1b[31mred\x9b0m\x07', 'latin1')), /perftest 5\.1\?\[31mred\?0m\?: /],
    [() => readMtu(Buffer.from('\x9b\x1b', 'latin1')), /the peer sent "\?\?"$/],
    [() => readVersion(Buffer.from('5.20\0\0\0\0\0\0\0\0\0\0\0\0')), /5\.33 and later/],
    [() => readMtu(Buffer.from('7\0')), /a path MTU/],
    [() => readMtu(Buffer.from('\0\0')), /a path MTU/],
    [
      () => readKeysText(keysText({ ...readKeysText(Buffer.from(CLIENT_KEYS, 'latin1')), qpn: 1 })),
      /number 1, which no program's has/,
    ],
    [() => readKeysText(Buffer.alloc(108)), /in hexadecimal digits/],
    [() => readKeysText(Buffer.from(CLIENT_KEYS.replaceAll('0', 'z'), 'latin1')), /in hexadecimal digits/],
    [() => readKeysText(Buffer.from(CLIENT_KEYS.replace('00005593', 'ffff5593'), 'latin1')), /out of range/],
    [() => readKeysText(Buffer.from(CLIENT_KEYS.replace('000011', '1000011'), 'latin1')), /out of range/],
    [() => readKeysBytes(Buffer.alloc(55)), /56 bytes/],
  ]
  for (const [read, message] of wrong) t.throws(read, { code: 'WEIR_PROTOCOL', message })
})
