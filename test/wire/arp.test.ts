import t from 'tap'
import * as arp from '../../lib/wire/net/arp.js'

/** RFC 826: Ethernet, IPv4; who has 10.0.0.3, tell 10.0.0.1 at 02:57:0a:00:00:01. */
const REQUEST = Buffer.from('000108000604000102570a0000010a0000010000000000000a000003', 'hex')

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

t.test('the fields of a request', async t => {
  const view = viewOf(REQUEST)
  t.ok(arp.check(view, 0, arp.BYTES))
  t.equal(arp.operation(view, 0), arp.REQUEST)
  t.equal(arp.senderMac(view, 0), 0x02570a000001)
  t.equal(arp.senderAddress(view, 0), 0x0a000001)
  t.equal(arp.targetAddress(view, 0), 0x0a000003)
  t.equal(arp.print(view, 0), 'ARP who-has 10.0.0.3 tell 10.0.0.1')
})

t.test('a reply, byte by byte', async t => {
  const bytes = new Uint8Array(arp.BYTES)
  arp.write(viewOf(bytes), 0, arp.REPLY, 0x02570a000003, 0x0a000003, 0x02570a000001, 0x0a000001)
  t.equal(Buffer.from(bytes).toString('hex'), '000108000604000202570a0000030a00000302570a0000010a000001')
  t.equal(arp.print(viewOf(bytes), 0), 'ARP reply 10.0.0.3 is-at 02:57:0a:00:00:03')
})

t.test('what is cut off, or of another kind, is refused', async t => {
  for (let length = 0; length < arp.BYTES; length++) {
    if (arp.check(viewOf(REQUEST), 0, length)) t.fail(`${length} bytes`)
  }
  for (const [at, value] of [
    [1, 6],
    [2, 0x86],
    [4, 8],
    [5, 16],
  ] as const) {
    const bytes = Buffer.from(REQUEST)
    bytes[at] = value
    t.notOk(arp.check(viewOf(bytes), 0, arp.BYTES), `byte ${at}`)
  }
})
