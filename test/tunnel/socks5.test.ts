/** SOCKS5 byte for byte, as RFC 1928 and RFC 1929 have it. */
import t from 'tap'
import { Reply, replyOf, replyToFailure, SocksHandshake } from '../../lib/tunnel/socks5.js'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const shown = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex')

t.test('a request without authentication: IPv4, name, IPv6', async t => {
  const cases: [string, string, number][] = [
    ['05 01 00 01 c0000201 0050', '192.0.2.1', 80],
    [`05 01 00 03 0b ${Buffer.from('example.com').toString('hex')} 01bb`, 'example.com', 443],
    ['05 01 00 04 20010db8000000000000000000000001 ffff', '2001:db8:0:0:0:0:0:1', 65_535],
  ]
  for (const [request, host, port] of cases) {
    const whole = new SocksHandshake(null)
    t.equal(shown(whole.onBytes(hex('05 02 00 02')).write), '0500')
    t.match(whole.onBytes(hex(request)), { target: { host, port }, rest: Buffer.alloc(0) })
    const bitwise = new SocksHandshake(null)
    const steps = [...hex('05 01 00'), ...hex(request)].map(byte => bitwise.onBytes(Uint8Array.of(byte)))
    t.same(steps.at(-1)!.target, { host, port }, 'byte by byte')
    t.ok(steps.slice(0, -1).every(({ target, end }) => target === undefined && !end))
    const atOnce = new SocksHandshake(null).onBytes(hex(`05 01 00 ${request} cafe`))
    t.equal(shown(atOnce.write), '0500')
    t.equal(shown(atOnce.rest), 'cafe', 'what follows is the connection')
  }
})

t.test('name and password (RFC 1929)', async t => {
  const credentials = { name: 'user', password: 'secret' }
  const start = (password: string) => {
    const machine = new SocksHandshake(credentials)
    t.equal(shown(machine.onBytes(hex('05 02 00 02')).write), '0502')
    const bytes = Buffer.from(password)
    const step = machine.onBytes(
      Buffer.concat([hex('01 04'), Buffer.from('user'), Buffer.of(bytes.length), bytes]),
    )
    return { machine, step }
  }
  const right = start('secret')
  t.match([shown(right.step.write), right.step.end], ['0100', undefined])
  t.match(right.machine.onBytes(hex('05 01 00 01 7f000001 0016')).target, { host: '127.0.0.1', port: 22 })
  for (const wrong of ['', 'Secret', 'secret2', 'secre']) {
    const { step } = start(wrong)
    t.match([shown(step.write), step.end, step.target], ['0101', true, undefined], wrong)
  }
  const without = new SocksHandshake(credentials).onBytes(hex('05 01 00'))
  t.match([shown(without.write), without.end], ['05ff', true], 'no acceptable method')
})

t.test('what is refused', async t => {
  const after = (request: string) => new SocksHandshake(null).onBytes(hex(`05 01 00 ${request}`))
  const cases: [string, string][] = [
    ['05 02 00 01 c0000201 0050', '0500 05070001 00000000 0000'],
    ['05 03 00 01 c0000201 0050', '0500 05070001 00000000 0000'],
    ['05 01 00 02 c0', '0500 05080001 00000000 0000'],
    ['05 01 00 01 c0000201 0000', '0500 05010001 00000000 0000'],
    ['05 01 00 03 00 0050', '0500 05010001 00000000 0000'],
    ['05 01 00 03 02 610a 0050', '0500 05010001 00000000 0000'],
    ['04 01 00 50 c0000201 00', '0500'],
  ]
  for (const [request, answer] of cases) {
    const { write, end, target } = after(request)
    t.same([shown(write), end, target], [answer.replaceAll(' ', ''), true, undefined], request)
  }
  t.match(new SocksHandshake(null).onBytes(hex('04 01 0050 c0000201 00')), { end: true }, 'SOCKS4')
  t.match(new SocksHandshake(null).onBytes(Buffer.from('GET / HTTP/1.1\r\n')), { end: true }, 'HTTP')
})

t.test('replies', async t => {
  t.equal(shown(replyOf(Reply.SUCCEEDED, '192.0.2.7', 4660)), '05000001c00002071234')
  t.equal(shown(replyOf(Reply.SUCCEEDED, '2001:db8::1', 4660)), '05000001000000000000')
  t.same(
    (
      ['NOT_ALLOWED', 'NETWORK_UNREACHABLE', 'HOST_UNREACHABLE', 'CONNECTION_REFUSED', 'BUSY', null] as const
    ).map(replyToFailure),
    [2, 3, 4, 5, 1, 1],
  )
})
