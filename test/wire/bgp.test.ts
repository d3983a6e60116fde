/** BGP-4 by the bytes of RFC 4271 and those beside it. */
import { join } from 'node:path'
import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import {
  formatLargeCommunity,
  LOCAL_PREF_DEFAULT,
  Origin,
  type PathAttributes,
} from '../../lib/wire/bgp/attributes.js'
import { CEASE, Cease, printFault } from '../../lib/wire/bgp/fault.js'
import * as message from '../../lib/wire/bgp/message.js'
import { readOpen, writeOpen } from '../../lib/wire/bgp/open.js'
import { formatPrefix, prefixKey, readPrefixes } from '../../lib/wire/bgp/prefix.js'
import * as update from '../../lib/wire/bgp/update.js'
import { drawnSeed } from '../support/seeds.js'
import { writeTcpCapture } from '../support/tcp-capture.js'
import { noTshark, tshark } from '../support/tshark.js'

const MARKER = 'ff'.repeat(16)
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
const bytesOf = (hex: string) => viewOf(Buffer.from(hex, 'hex'))

function written(write: (view: DataView) => number): string {
  const bytes = Buffer.alloc(message.MESSAGE_BYTES_MAX)
  return bytes.toString('hex', 0, write(viewOf(bytes)))
}

/** A message with the right length in its header. */
function framed(type: number, body: string): string {
  const length = (19 + body.length / 2).toString(16).padStart(4, '0')
  return MARKER + length + type.toString(16).padStart(2, '0') + body
}

/**
 * Version 4, AS_TRANS, hold time 3, identifier 10.255.0.1, parameters of 24 bytes: one parameter of capabilities: IPv4 unicast
 * (1), route refresh (2), graceful restart (64) of 120 s, four-octet AS 4200000000 (65).
 */
const OPEN = framed(
  1,
  '04' +
    '5ba0' +
    '0003' +
    '0aff0001' +
    '18' +
    '0216' +
    '010400010001' +
    '0200' +
    '400600780001' +
    '0180' +
    '4104fa56ea00',
)
/** 198.51.100.0/24 withdrawn. */
const WITHDRAWAL = framed(2, '0004' + '18c63364' + '0000')
/**
 * ORIGIN IGP, AS_PATH 65001 65002, NEXT_HOP 10.255.0.1, LOCAL_PREF 100, ORIGINATOR_ID, CLUSTER_LIST of two, large communities
 * 65000:1:7 and 65000:2:65537; 10.0.0.1/32.
 */
const ATTRIBUTES =
  '40010100' +
  '40020a' +
  '0202' +
  '0000fde9' +
  '0000fdea' +
  '400304' +
  '0aff0001' +
  '400504' +
  '00000064' +
  '800904' +
  '0aff0002' +
  '800a08' +
  '0000000100000002' +
  'c02018' +
  '0000fde80000000100000007' +
  '0000fde80000000200010001'
const ROUTES = framed(
  2,
  `0000${(ATTRIBUTES.length / 2).toString(16).padStart(4, '0')}${ATTRIBUTES}200a000001`,
)

const READ: PathAttributes = {
  origin: Origin.IGP,
  asPath: [65_001, 65_002],
  nextHop: 0x0aff0001,
  med: 0,
  localPref: 100,
  largeCommunities: [
    { global: 65_000, local1: 1, local2: 7 },
    { global: 65_000, local1: 2, local2: 65_537 },
  ],
  originatorId: 0x0aff0002,
  clusterList: [1, 2],
  others: [],
}

t.test('OPEN and its capabilities', async t => {
  const open = {
    as: 4_200_000_000,
    holdSeconds: 3,
    identifier: 0x0aff0001,
    ipv4: true,
    routeRefresh: true,
    fourOctetAs: true,
    gracefulRestart: { restarted: false, seconds: 120, ipv4: true, forwarding: true },
  }
  t.equal(
    written(view => writeOpen(view, 0, open)),
    OPEN,
  )
  t.same(readOpen(bytesOf(OPEN), 0), open)
  const plain = framed(1, '04fde800b40a0000010' + '0')
  t.same(readOpen(bytesOf(plain), 0), {
    as: 65_000,
    holdSeconds: 180,
    identifier: 0x0a000001,
    ipv4: true,
    routeRefresh: false,
    fourOctetAs: false,
    gracefulRestart: null,
  })
  const ipv6Only = framed(1, '04fde800b40a00000108' + '0206' + '010400020001')
  t.match(readOpen(bytesOf(ipv6Only), 0), { ipv4: false })
})

t.test('errors of an OPEN (section 6.2)', async t => {
  const fault = (body: string) => readOpen(bytesOf(framed(1, body)), 0)
  t.match(fault('03fde800b40a00000100'), { code: 2, subcode: 1, data: Uint8Array.of(0, 4) }, 'version 3')
  t.match(fault('04fde800020a00000100'), { code: 2, subcode: 6 }, 'a hold time of 2 s')
  t.match(fault('04fde800b40000000000'), { code: 2, subcode: 3 }, 'identifier 0')
  t.match(
    fault('04fde800b40a000001020100'),
    { code: 2, subcode: 4 },
    'authentication is no parameter any more',
  )
  t.match(fault('04fde800b40a00000104' + '0202' + '0104'), { code: 2, subcode: 0 }, 'a capability is cut off')
  t.match(fault('04fde800b40a00000103' + '0202'), { code: 2, subcode: 0 }, 'a parameter is cut off')
})

t.test('headers and their errors (section 6.1)', async t => {
  const check = (hex: string) => message.check(bytesOf(hex), 0)
  t.equal(
    written(view => message.writeKeepalive(view, 0)),
    framed(4, ''),
  )
  t.equal(
    written(view => message.writeRouteRefresh(view, 0)),
    framed(5, '00010001'),
  )
  t.ok(message.refreshesIpv4(bytesOf(framed(5, '00010001')), 0))
  t.notOk(message.refreshesIpv4(bytesOf(framed(5, '00020001')), 0))
  for (const good of [OPEN, WITHDRAWAL, ROUTES, framed(4, ''), framed(5, '00010001')])
    t.equal(check(good), null)
  t.match(check(`fe${framed(4, '').slice(2)}`), { code: 1, subcode: 1 }, 'the marker')
  t.match(check(`${MARKER}001204`), { code: 1, subcode: 2, data: Uint8Array.of(0, 18) }, 'too short')
  t.match(check(`${MARKER}100102`), { code: 1, subcode: 2 }, 'longer than 4,096')
  t.match(check(framed(4, '00')), { code: 1, subcode: 2 }, 'a KEEPALIVE with a body')
  t.match(check(framed(1, '04')), { code: 1, subcode: 2 }, 'a short OPEN')
  t.match(check(framed(9, '')), { code: 1, subcode: 3, data: Uint8Array.of(9) }, 'an unknown type')
})

t.test('NOTIFICATION', async t => {
  const cease = { code: CEASE, subcode: Cease.SHUTDOWN, data: Uint8Array.of(1, 2) }
  const hex = framed(3, '06020102')
  t.equal(
    written(view => message.writeNotification(view, 0, cease)),
    hex,
  )
  t.same(message.readNotification(bytesOf(hex), 0), cease)
  t.equal(printFault(cease), 'cease 6/2')
})

t.test('UPDATE', async t => {
  const key = prefixKey(0x0a000001, 32)
  t.equal(
    written(view => update.writeRoutes(view, 0, READ, [key], true).end),
    ROUTES,
  )
  t.same(update.readUpdate(bytesOf(ROUTES), 0, true), {
    withdrawn: [],
    attributes: READ,
    routes: [key],
    endOfRib: false,
    remarks: [],
  })
  const gone = prefixKey(0xc6336400, 24)
  t.equal(
    written(view => update.writeWithdrawal(view, 0, [gone]).end),
    WITHDRAWAL,
  )
  t.match(update.readUpdate(bytesOf(WITHDRAWAL), 0, true), { withdrawn: [gone], routes: [], endOfRib: false })
  const end = framed(2, '00000000')
  t.equal(
    written(view => update.writeEndOfRib(view, 0)),
    end,
  )
  t.match(update.readUpdate(bytesOf(end), 0, true), { endOfRib: true })
  t.equal(formatPrefix(gone), '198.51.100.0/24')
  t.equal(READ.largeCommunities.map(formatLargeCommunity).join(), '65000:1:7,65000:2:65537')
  const twoOctets = ROUTES.replace('40020a02020000fde90000fdea', '4002060202fde9fdea')
    .replace(/^(f{32}).{4}/, `$1${(ROUTES.length / 2 - 4).toString(16).padStart(4, '0')}`)
    .replace(
      `0000${(ATTRIBUTES.length / 2).toString(16).padStart(4, '0')}`,
      `0000${(ATTRIBUTES.length / 2 - 4).toString(16).padStart(4, '0')}`,
    )
  t.match(update.readUpdate(bytesOf(twoOctets), 0, false), { attributes: { asPath: [65_001, 65_002] } })
})

t.test('as many prefixes as a message has room for', async t => {
  const keys = Array.from({ length: 2000 }, (_, i) => prefixKey(0x0a000000 + i, 32))
  const bytes = Buffer.alloc(message.MESSAGE_BYTES_MAX)
  const view = viewOf(bytes)
  // 4,096 - 19 - 4 bytes, 5 for each.
  t.same(update.writeWithdrawal(view, 0, keys), { end: 4093, count: 814 })
  t.match(update.readUpdate(view, 0, true), { withdrawn: keys.slice(0, 814) })
  const { count, end } = update.writeRoutes(view, 0, READ, keys, true)
  t.equal(count, Math.floor((4096 - 23 - ATTRIBUTES.length / 2) / 5))
  t.ok(end <= 4096)
  t.match(update.readUpdate(view, 0, true), { routes: keys.slice(0, count) })
  t.ok(update.fitsUpdate(READ))
  t.notOk(update.fitsUpdate({ ...READ, clusterList: Array(1000).fill(1) }))
})

/** An UPDATE of 10.0.0.1/32 with these attributes. */
const withAttributes = (attributes: string) =>
  update.readUpdate(
    bytesOf(framed(2, `0000${(attributes.length / 2).toString(16).padStart(4, '0')}${attributes}200a000001`)),
    0,
    true,
  )

const [ORIGIN, AS_PATH, NEXT_HOP] = ['40010100', '400200', '4003040a000009']
const KEY = prefixKey(0x0a000001, 32)

t.test('a malformed attribute takes the routes away (RFC 7606)', async t => {
  t.match(withAttributes(ORIGIN + AS_PATH + NEXT_HOP), {
    routes: [KEY],
    attributes: { localPref: LOCAL_PREF_DEFAULT, asPath: [] },
    remarks: [],
  })
  for (const [attributes, why] of [
    [`40010103${AS_PATH}${NEXT_HOP}`, 'an ORIGIN of 3'],
    [`4001020000${AS_PATH}${NEXT_HOP}`, 'an ORIGIN of two bytes'],
    [`c0010100${AS_PATH}${NEXT_HOP}`, 'an optional ORIGIN'],
    [`${ORIGIN}40020602020000fde9${NEXT_HOP}`, 'an AS_PATH with one of two systems'],
    [`${ORIGIN}4002020200${NEXT_HOP}`, 'an empty segment'],
    [`${ORIGIN}40020601010000fde9${NEXT_HOP}`, 'a set (RFC 9774)'],
    [`${ORIGIN + AS_PATH}4003030a0000`, 'a NEXT_HOP of three bytes'],
    [`${ORIGIN + AS_PATH + NEXT_HOP}40050100`, 'a LOCAL_PREF of one byte'],
    [`${ORIGIN + AS_PATH + NEXT_HOP}c00803000000`, 'COMMUNITIES of three bytes'],
    [`${ORIGIN + AS_PATH + NEXT_HOP}800a00`, 'an empty CLUSTER_LIST'],
    [`${ORIGIN + AS_PATH + NEXT_HOP}80090100`, 'an ORIGINATOR_ID of one byte'],
    [
      `${ORIGIN + AS_PATH + NEXT_HOP}c0200b${'00'.repeat(11)}`,
      'a large community of eleven bytes (RFC 8092)',
    ],
    [`${ORIGIN + AS_PATH + NEXT_HOP}c0`, 'the list is cut off'],
    [ORIGIN + AS_PATH, 'no NEXT_HOP'],
    ['', 'no attribute at all'],
  ] as const) {
    const read = withAttributes(attributes)
    t.match(read, { routes: [], withdrawn: [KEY], endOfRib: false, remarks: [String] }, why)
  }
})

t.test('what else RFC 7606 says', async t => {
  const base = ORIGIN + AS_PATH + NEXT_HOP
  t.match(withAttributes(`${base}40060100`), { routes: [KEY], remarks: [/ATOMIC_AGGREGATE/] }, 'left out')
  t.match(
    withAttributes(`${ORIGIN}4001010${'2'}${AS_PATH}${NEXT_HOP}`),
    { attributes: { origin: 0 } },
    'the first counts',
  )
  t.match(
    withAttributes(`${base}40630101`),
    { code: 3, subcode: 2, data: Buffer.from('40630101', 'hex') },
    'unknown, well-known',
  )
  t.match(withAttributes(`${base}800e00800e00`), { code: 3, subcode: 1 }, 'MP_REACH_NLRI twice')
  t.match(
    withAttributes(`${base}c06302abcd`),
    { attributes: { others: [Buffer.from('e06302abcd', 'hex')] } },
    'passed on with the partial bit',
  )
  t.match(withAttributes(`${base}c0080400640001`), {
    attributes: { others: [Buffer.from('c0080400640001', 'hex')] },
  })
  t.same((withAttributes(`${base}806302abcd`) as update.BgpUpdate).attributes?.others, [], 'ignored')
  const broken = (body: string) => update.readUpdate(bytesOf(framed(2, body)), 0, true)
  t.match(broken('00050000'), { code: 3, subcode: 1 }, 'more withdrawn than there is')
  t.match(broken('00000005'), { code: 3, subcode: 1 }, 'more attributes than there are')
  t.match(broken('0000000021' + '0a00000100'), { code: 3, subcode: 10 }, 'a prefix of 33 bits')
  t.match(broken('0000000020' + '0a0000'), { code: 3, subcode: 10 }, 'a prefix that is cut off')
  t.same(
    readPrefixes(bytesOf('190a0000ff00'), 0, 5),
    [prefixKey(0x0a000080, 25)],
    'bits behind the length do not count',
  )
  t.same(readPrefixes(bytesOf('00'), 0, 1), [0], 'the default route')
})

t.test('random changes of messages', async t => {
  const random = new Random(drawnSeed(t))
  const originals = [OPEN, WITHDRAWAL, ROUTES].map(hex => Buffer.from(hex, 'hex'))
  for (let i = 0; i < 30_000; i++) {
    // Nothing may be read behind the message.
    const bytes = Buffer.from(Uint8Array.from(originals[i % 3]!))
    for (let n = 0; n < 1 + (random.u32() % 3); n++)
      bytes[16 + (random.u32() % (bytes.length - 16))] = random.u32() & 0xff
    const view = viewOf(bytes)
    if (message.check(view, 0) !== null || message.length(view, 0) > bytes.length) continue
    const type = message.type(view, 0)
    if (type === message.BgpType.OPEN) readOpen(view, 0)
    else if (type === message.BgpType.UPDATE) {
      const read = update.readUpdate(view, 0, true)
      if ('routes' in read && read.attributes !== null) {
        const again = Buffer.alloc(4096)
        const { end, count } = update.writeRoutes(viewOf(again), 0, read.attributes, read.routes, true)
        t.equal(count, read.routes.length)
        const twice = update.readUpdate(viewOf(again), 0, true)
        if (!('routes' in twice) || JSON.stringify(twice.attributes) !== JSON.stringify(read.attributes)) {
          t.fail(`${bytes.toString('hex')} → ${again.toString('hex', 0, end)}`)
        }
      }
    } else if (type === message.BgpType.NOTIFICATION) message.readNotification(view, 0)
  }
  t.pass('nothing throws')
})

t.test('the dissector of Wireshark', { skip: noTshark }, async t => {
  const path = join(t.testdir({}), 'bgp.pcap')
  const cease = written(view =>
    message.writeNotification(view, 0, { code: 6, subcode: 2, data: new Uint8Array() }),
  )
  const refresh = written(view => message.writeRouteRefresh(view, 0))
  const all = [OPEN, written(view => message.writeKeepalive(view, 0)), ROUTES, WITHDRAWAL, refresh, cease]
  writeTcpCapture(
    path,
    179,
    all.map(hex => Buffer.from(hex, 'hex')),
  )
  const fields = [
    'bgp.type',
    'bgp.cap.type',
    'bgp.cap.gr.timers.restart_time',
    'bgp.update.path_attribute.originator_id',
    'bgp.path_attribute.cluster_id',
    'bgp.large_communities.ga',
    'bgp.large_communities.ldp1',
    'bgp.large_communities.ldp2',
    'bgp.notify.major_error',
    '_ws.malformed',
  ]
  const row = (...given: (string | null)[]) => fields.map((_, i) => given[i] ?? '')
  t.same(tshark(path, fields, '', false), [
    row('1', '1,2,64,65', '120'),
    row('4'),
    row('2', '', '', '10.255.0.2', '0.0.0.1,0.0.0.2', '65000,65000', '1,2', '7,65537'),
    row('2'),
    row('5'),
    row('3', '', '', '', '', '', '', '', '6'),
  ])
})
