import t from 'tap'
import { formatMac, HostAddress, parseMac } from '../../lib/wire/net/address.js'
import { fc, property } from '../support/property.js'

t.test('IPv4 addresses are mapped GIDs', async t => {
  const address = HostAddress.parse('10.99.0.1')
  t.equal(address.family, 4)
  t.equal(address.ipv4, 0x0a63_0001)
  t.equal(Buffer.from(address.gid).toString('hex'), '00000000000000000000ffff0a630001')
  t.equal(address.toString(), '10.99.0.1')
  t.equal(HostAddress.fromIpv4(0xffff_fffe).toString(), '255.255.255.254')
  t.ok(HostAddress.fromGid(address.gid).equals(address))
  t.ok(HostAddress.parse('::ffff:10.99.0.1').equals(address), 'the mapped text counts as IPv4')
  t.notOk(HostAddress.parse('10.99.0.2').equals(address))
  t.notOk(HostAddress.parse('::a63:1').equals(address))
})

// On the right, the text according to RFC 5952, section 4.
t.test('IPv6 addresses print in their canonical form', async t => {
  const cases: [string, string, string][] = [
    ['::', '00000000000000000000000000000000', '::'],
    ['::1', '00000000000000000000000000000001', '::1'],
    ['1::', '00010000000000000000000000000000', '1::'],
    ['2001:0DB8:0:0:0:0:2:1', '20010db8000000000000000000020001', '2001:db8::2:1'],
    ['2001:db8:0:1:1:1:1:1', '20010db8000000010001000100010001', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '20010000000000010000000000000001', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '20010db8000000000001000000000001', '2001:db8::1:0:0:1'],
    ['fe80::5054:ff:fe99:1', 'fe80000000000000505400fffe990001', 'fe80::5054:ff:fe99:1'],
    ['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221', '64:ff9b::c000:221'],
  ]
  for (const [text, hex, canonical] of cases) {
    const address = HostAddress.parse(text)
    t.equal(address.family, 6)
    t.equal(address.ipv4, 0)
    t.equal(Buffer.from(address.gid).toString('hex'), hex, text)
    t.equal(address.toString(), canonical)
  }
})

t.test('anything else is refused with a stable code', async t => {
  const texts = [
    '',
    '10.0.0',
    '10.0.0.256',
    '1:2',
    ':::',
    'host',
    '1.2.3.4 ',
    '1::2::3',
    '12345::',
    'fe80::1%eth0',
  ]
  for (const text of texts)
    t.throws(() => HostAddress.parse(text), { code: 'WEIR_BAD_ARGUMENT' }, `"${text}"`)
  t.throws(() => HostAddress.fromGid(new Uint8Array(16), 1), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('an address is a copy of the bytes it was made from', async t => {
  const bytes = new Uint8Array(20).fill(7)
  const address = HostAddress.fromGid(bytes, 4)
  bytes.fill(9)
  t.equal(address.gid[0], 7)
})

t.test('round trips', async t => {
  property(t, 'text of any GID parses to the GID', fc.uint8Array({ minLength: 16, maxLength: 16 }), gid => {
    const address = HostAddress.fromGid(gid)
    if (!HostAddress.parse(address.toString()).equals(address)) throw new Error(address.toString())
  })
  property(
    t,
    'sparse GIDs too',
    fc.array(fc.constantFrom(0, 0, 0, 1, 0xff), { minLength: 16, maxLength: 16 }),
    gid => {
      const address = HostAddress.fromGid(Uint8Array.from(gid))
      if (!HostAddress.parse(address.toString()).equals(address)) throw new Error(address.toString())
    },
  )
})

t.test('MAC addresses', async t => {
  t.equal(parseMac('01:80:C2:00:00:01'), 0x0180_c200_0001)
  t.equal(formatMac(0x0180_c200_0001), '01:80:c2:00:00:01')
  t.equal(formatMac(1), '00:00:00:00:00:01')
  for (const text of ['', '1:2:3:4:5:6', '01-80-c2-00-00-01', '01:80:c2:00:00:01:02', '0g:00:00:00:00:00']) {
    t.throws(() => parseMac(text), { code: 'WEIR_BAD_ARGUMENT' }, `"${text}"`)
  }
})
