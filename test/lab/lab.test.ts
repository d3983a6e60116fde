/** `weir lab` as a user runs it. */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { networkOfMachine, noLabs, Place, SMALL } from './support.js'

const skip = noLabs()

t.test('up, status, exec, down: the machine is as before', { skip }, async t => {
  const place = new Place(t)
  const limited =
    'switches: { s1: { pfc: { xoff: 500KB, watchdog: { limit: { deadlocks: 3, window: 10s } } } } }'
  const file = place.file('small.yaml', SMALL.replace('switches: [s1]', limited))
  const before = networkOfMachine()
  const up = await place.process(['lab', 'up', file])
  t.equal(up.code, 0, up.stderr)
  t.match(up.stdout, /lab small is up: h1 10\.0\.0\.1, h2 10\.0\.0\.2/)

  const again = await place.weir(['lab', 'up', file])
  t.equal(again.code, 1, 'a lab that is up is not brought up twice')
  t.match(again.stderr, /small is up already.*weir lab down small.*WEIR_BAD_STATE/)

  const { replies } = await place.echo('small', 'h1', 'h2', 4)
  t.equal(replies.length, 4)
  t.match(replies[0], { from: '10.0.0.2' }, 'by its name')
  for (const { ms } of replies) t.ok(ms >= 2, `a round trip of ${ms} ms is not shorter than the links`)

  const hosts = await place.exec('small', 'h1', ['cat', '/etc/hosts'])
  t.match(hosts.stdout, /^127\.0\.0\.1\tlocalhost\n::1\tlocalhost\n10\.0\.0\.1\th1\n10\.0\.0\.2\th2\n/)
  t.ok(hosts.stdout.endsWith(readFileSync('/etc/hosts', 'utf8')), 'the machine’s own names come after')
  t.notMatch(readFileSync('/etc/hosts', 'utf8'), /10\.0\.0\.2\th2/, 'outside nothing has changed')

  const byFile = await place.exec(file, 'h2', [
    'sh',
    '-c',
    'cat; pwd; echo $WEIR_SOCKET; weir --version; ls /sys/class/net; exit 7',
  ])
  t.equal(byFile.code, 7, 'the exit code is that of the command')
  const [folder, socket, version, ...interfaces] = byFile.stdout.trim().split('\n')
  t.equal(folder, place.folder, 'where the user is')
  t.match(socket, /h2\.sock$/)
  t.match(version, /^\d+\.\d+\.\d+$/, 'weir is on the PATH')
  const bare = join(place.folder, 'bare')
  mkdirSync(bare)
  for (const name of ['sh', 'nsenter', 'unshare', 'mount']) symlinkSync(pathOf(name), join(bare, name))
  const node = await place.process(['lab', 'exec', 'small', 'h1', '--', 'node', '--version'], [], bare)
  t.equal(node.stdout.trim(), process.version, 'and so is Node.js, also where it was not')
  t.same(interfaces.sort(), ['eth0', 'lo'])
  const sees = await place.exec('small', 's1', ['ls', '/sys/class/net'])
  t.same(sees.stdout.trim().split('\n').sort(), ['lo', 's1-h1', 's1-h2'], "the switch's own ports")
  const killed = await place.exec('small', 'h1', ['sh', '-c', 'kill -9 $$'])
  t.equal(killed.code, 137)

  const status = await place.weir(['lab', 'status', 'small', '--json'])
  t.equal(status.code, 0, status.stderr)
  const [lab] = JSON.parse(status.stdout)
  t.match(lab, {
    name: 'small',
    file,
    state: 'up',
    switch: { alive: true },
    hosts: [
      { name: 'h1', address: '10.0.0.1', mac: '02:57:0a:00:00:01', alive: true },
      { name: 'h2', address: '10.0.0.2', mac: '02:57:0a:00:00:02', alive: true },
    ],
    ports: [
      { name: 's1:h1', rateBps: 200e6, drops: 0, queueBytes: 0, pausesSent: 0 },
      { name: 's1:h2', rateBps: 200e6, drops: 0, queueBytes: 0, pausesSent: 0 },
    ],
  })
  t.ok(lab.ports[1].txBytes >= 4 * 98, 'four echo requests, 98 bytes each, left by the port to h2')
  t.match((await place.weir(['lab', 'status'])).stdout, /s1:h2 +200Mbps/)
  t.match((await place.weir(['lab', 'list'])).stdout, /small +up/)

  const pfc = await place.weir(['lab', 'pfc', 'small', 's1:h1', 'on', '--priority', '3'])
  t.equal(pfc.stdout, 'PFC of s1:h1 was on already\n', pfc.stderr)
  t.match(await place.weir(['lab', 'pfc', 'small', 's1:h1', 'on', '--priority', '5']), {
    code: 1,
    stderr: /priority 5 is lossy at s1; lossless are 3 .*WEIR_BAD_ARGUMENT/,
  })
  t.match(await place.weir(['lab', 'pfc', 'small', 's1:h3', 'on']), {
    code: 1,
    stderr: /s1 has no port to 'h3'; its neighbours are h1, h2.*WEIR_BAD_ARGUMENT/,
  })

  const down = await place.process(['lab', 'down', file])
  t.equal(down.code, 0, down.stderr)
  t.same(place.processes(), [])
  t.same(place.leftFiles(), [])
  const after = networkOfMachine()
  const news = after.interfaces.filter(name => !before.interfaces.includes(name) && !name.startsWith('weir'))
  t.same(news, [], 'no interface is left')
  t.match((await place.weir(['lab', 'list'])).stdout, /no lab is up/)
  t.equal((await place.weir(['lab', 'down', 'small'])).code, 0, 'to take down what is down is fine')
})

t.test('mistakes are said', { skip }, async t => {
  const place = new Place(t)
  const wrong = place.file('wrong.yaml', SMALL.replace('h2--s1', 'h3--s1'))
  const bad = await place.weir(['lab', 'up', wrong])
  t.equal(bad.code, 1)
  t.match(bad.stderr, /wrong\.yaml:6:\d+: .*'h3'.*h1, h2/)
  const none = await place.weir(['lab', 'exec', 'small', 'h1', '--', 'true'])
  t.equal(none.code, 1)
  t.match(none.stderr, /no lab is up.*weir lab up/)
  const name = await place.weir(['lab', 'up', place.file('small.yaml', SMALL), '--name', 'a/b'])
  t.equal(name.code, 1)
  t.match(name.stderr, /"a\/b" cannot name a lab/)
  const both = await place.weir(['lab', 'down'])
  t.match(both.stderr, /name one lab, or give --all/)
  t.same(place.leftFiles(), [])
})

/** Where a program of the system is. */
function pathOf(name: string): string {
  return ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].map(folder => join(folder, name)).find(existsSync)!
}
