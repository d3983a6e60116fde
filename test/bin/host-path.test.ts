/** How a command line names a host, its port and a path there. */
import t from 'tap'
import { namesHost, parseHost, parseHostPath } from '../../bin/commands/host-path.js'

t.test('a host, a port and a path', async t => {
  const forms: [string, string, number, string][] = [
    ['h', 'h', 0, ''],
    ['h:', 'h', 0, ''],
    ['h:a/b', 'h', 0, 'a/b'],
    ['10.0.0.1:a:b', '10.0.0.1', 0, 'a:b'],
    ['h:./4791', 'h', 0, './4791'],
    ['h:4791/', 'h', 0, '4791/'],
    ['h:2024/may', 'h', 0, '2024/may'],
    ['h:123456', 'h', 0, '123456'],
    ['h:2024.csv', 'h', 0, '2024.csv'],
    ['h:4791', 'h', 4791, ''],
    ['h:4791:', 'h', 4791, ''],
    ['h:4791:d/e', 'h', 4791, 'd/e'],
    ['h:4791:80', 'h', 4791, '80'],
    ['10.0.0.1:5791:a:b', '10.0.0.1', 5791, 'a:b'],
    ['[::1]:5791', '::1', 5791, ''],
    ['[::1]:5791:a', '::1', 5791, 'a'],
    ['::1', '::1', 0, ''],
    ['[::1]', '::1', 0, ''],
    ['[fe80::1]:a', 'fe80::1', 0, 'a'],
    ['weir://h', 'h', 0, ''],
    ['weir://h/', 'h', 0, ''],
    ['weir://h:5791', 'h', 5791, ''],
    ['weir://h:5791/a/b/', 'h', 5791, 'a/b/'],
    ['weir://h/4791', 'h', 0, '4791'],
    ['WEIR://h:5791/A', 'h', 5791, 'A'],
    ['weir://[::1]:5791/a%20b%3F', '::1', 5791, 'a b?'],
    ['weir://[::1]/a:b', '::1', 0, 'a:b'],
  ]
  for (const [text, host, port, path] of forms) {
    t.same(parseHostPath(text, 'a host'), { host, port, path }, text)
    if (port === 0) t.equal(parseHostPath(text, 'a host', 7000).port, 7000, `${text} -P 7000`)
  }
})

t.test('what is no port, and what is no host, is refused with how to say it', async t => {
  const refusal = (text: string) => {
    try {
      return parseHostPath(text, 'a host is expected').host
    } catch (error) {
      return (error as Error).message
    }
  }
  for (const port of ['0', '65535', '99999'])
    t.match(refusal(`h:${port}`), `a whole number from 1 to 65534; for the path write h:./${port}`)
  t.match(refusal('weir://h:x/a'), 'the port of "weir://h:x/a" is a whole number from 1 to 65534')
  t.match(refusal('weir://h:0'), 'from 1 to 65534')
  t.match(refusal('weir://h/a%'), '%25')
  for (const text of ['', ':a', '[]:a', 'weir://', 'weir:///a', 'weir://h/a?b', 'weir://h/a#b', '::1:a:z'])
    t.match(refusal(text), 'is no host: a host is expected', text)
  t.throws(() => parseHostPath('weir://h:5791', '', 5792), { message: /names port 5791, --port is 5792/ })
  t.same(parseHostPath('weir://h:5791', '', 5791).port, 5791)
  t.throws(() => parseHost('h:a'), { message: /names a path: a host alone is expected/ })
  t.same(parseHost('weir://h:5791'), { host: 'h', port: 5791 })
  t.same(parseHost('[::1]:5791'), { host: '::1', port: 5791 })
  t.throws(() => parseHostPath('h:5791', '', 5792), { message: /names port 5791, --port is 5792/ })
})

t.test('which arguments of get name a host', async t => {
  for (const text of ['h:a', '[::1]:a', 'weir://h/a', 'weir://h:1/a', 'Weir://h/a'])
    t.ok(namesHost(text), text)
  for (const text of ['.', './a:b', 'a/b:c', '/weir://h']) t.notOk(namesHost(text), text)
})
