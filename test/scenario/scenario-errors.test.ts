import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withSeed } from '../../lib/scenario/model/scenario.js'
import { loadScenario, parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { runOverlay } from '../../switch-emu/overlay/run-overlay.js'
import { checkProblems, problemsOf } from './problems-at.js'

const NET = 'hosts: [h1, h2, h3]\nswitches: {s1: {}}\nlinks: [h1--s1, h2--s1, h3--s1]\n' // Lines 1 to 3.

t.test('top level', async t => {
  checkProblems(t, NET, [
    ['¦trafic: []', ["unknown key 'trafic'", /traffic/, "did you mean 'traffic'"]],
    ['seed: ¦-1', ['seed: a whole number from 0']],
    ['seed: ¦abc', ["not 'abc'"]],
    ['duration: ¦10', ['unit is missing', 'ns, us, ms']],
    ['duration: ¦0s', ['above zero']],
    ['baseRtt: ¦soon', ["'soon'", "'measured'"]],
    ['name:¦', ['name has no value']],
    ['link: {rate: ¦1Gb}', ["rate: '1Gb'", 'Gbps']],
    ['link: {rate: ¦10Tbps}', ['rate: a rate from 1Kbps to 4Tbps is needed, not 10Tbps']],
    ['link: {rate: ¦999bps}', ['from 1Kbps']],
    ['traffic: ¦3', ['traffic is a list', 'not 3']],
    ['transport: {pathMtu: ¦1500}', ['1500', '256, 512, 1024, 2048, 4096']],
    ['transport: {¦ackEvry: 1}', ["unknown key 'ackEvry'", "did you mean 'ackEvery'"]],
    ['int: {format: ¦narrow, hops: ¦16}', ["'narrow'", 'wide, compact'], ['1 to 15']],
  ])
})

t.test('hosts, switches, links', async t => {
  checkProblems(t, '', [
    ['¦', ['a scenario is a mapping', 'hosts, switches, links']],
    ['¦[a]', ['a scenario is a mapping', 'not a list']],
    ['¦¦name: x', ['hosts is a list'], ['links is a list']],
    ['hosts: [a, b, ¦a]\nlinks: [a--b]', ["'a' is taken"]],
    ['hosts: [a, b]\nswitches: [¦b]\nlinks: [a--b]', ["'b' is taken"]],
    ['hosts: [¦1a]\nlinks: []', ["'1a' is no name", 'a letter']],
    ['hosts: [¦5]\nlinks: []', ['a host is a mapping', 'name, address', 'not 5']],
    ['hosts: [¦h3..h1]\nlinks: []', ['backwards']],
    ['hosts: [¦h1..g2]\nlinks: []', ['no range', 'h0..h15']],
    ['hosts: [¦h1..h99999]\nlinks: []', ['longer than 4096']],
    [
      'hosts: [{name: a, address: ¦192.168.0.1}, {name: b, address: ¦10.0.0.256}]\nlinks: [a--b]',
      ["'192.168.0.1'", '10.0.0.0/8'],
      ["'10.0.0.256'"],
    ],
    [
      'hosts:\n  - {name: a, address: 10.0.0.9}\n  - {name: b, address: ¦10.0.0.9}\nlinks: [a--b]',
      ['10.0.0.9 already belongs to a'],
    ],
    ['hosts: [{name: a1..a3, address: ¦10.0.0.9}]\nlinks: []', ['one address']],
    ['hosts: [a, ¦b]\nswitches: {s1: {}}\nlinks: [a--s1]', ['host b has no link', 'b--s1']],
    [
      'hosts: [a1, a2]\nswitches: {s1: {}, ¦s2: {}}\nlinks: [a1..a2--s1]',
      ['switch s2 has no link', 'a1--s2', 'leave'],
    ],
    ['hosts: [a1, a2]\nswitches: [s1, ¦s2]\nlinks: [a1..a2--s1]', ['switch s2 has no link']],
    [
      'hosts: [a1, a2]\nswitches: {s1: {}, ¦t1..t2: {}}\nlinks: [a1..a2--s1, t1--s1]',
      ['switch t2 has no link'],
    ],
    [
      'hosts: [h1..h300]\nswitches: {¦s1: {}}\nlinks: [h1..h300--s1]',
      ['switch s1 has 300 links; a switch has 256 at most'],
    ],
    [
      'hosts: [a, b]\nswitches:\n  s1..s2: {buffer: 1MB, pfc: ¦¦{xoff: 10KB, headroom: 1MB}}\nlinks: [a--s1, s1--s2, s2--b]',
      ['lossless priorities of s1'],
      ['lossless priorities of s2'],
    ],
    [
      'hosts: [a, b]\nswitches:\n  s1..s2: {dscpToTc: ¦{0: 3}}\nlinks: [a--s1, s1--s2, s2--b]\ntraffic: [{from: a, to: b, size: 1B, priority: 5}]',
      ['priority 5'],
    ],
    ['link: {rate: 2Tbps}\nhosts: [a, b]\nlinks: [¦a--b]', ['host a', '1Tbps at most, not 2Tbps']],
    [
      'switches: {s1..s40: {}, t1..t40: {}}\nhosts: [a]\nlinks: [a--s1, ¦{ends: s1..s40--t1..t40, count: 64}]',
      ['more than 65536 links'],
    ],
    ['hosts: [a, b]\nlinks: [a--b, ¦a--b]', ['host a has a link already']],
    ['hosts: [a, b]\nlinks: [¦a-b]', ["'a-b' is no link", 'h1--s1']],
    ['hosts: [a, b]\nlinks: [¦a--a]', ['linked to itself']],
    ['hosts: [a, b]\nlinks: [{ends: a--b, count: ¦0}]', ['1 to 64']],
    ['hosts: [a, b]\nlinks: [¦{rate: 1Gbps}]', ['ends is missing']],
    [
      'hosts: [host1, host2]\nswitches: {leaf: {}}\nlinks: [¦host1--laef, host2--leaf]',
      ["no host or switch is called 'laef'", 'host1, host2, leaf', "did you mean 'leaf'"],
    ],
    ['hosts: [a]\nswitches: {s1: {}}\nlinks: [a--s1, ¦zebra--s1]', ["'zebra'", /there are a, s1$/]],
    ['hosts: [a]\nswitches: {s1: {id: ¦0}}\nlinks: [a--s1]', ['1 to 65519']],
    ['hosts: [a]\nswitches: {s1: {id: ¦65520}}\nlinks: [a--s1]', ['1 to 65519']],
    [
      'hosts: [a]\nswitches: {s1: {id: 4}, s2: {id: ¦4}}\nlinks: [a--s1, s1--s2]',
      ['switch id 4 already belongs to s1'],
    ],
    ['hosts: [a]\nswitches: {s1: {buffer: ¦4Mb}}\nlinks: [a--s1]', ["'4Mb'", 'MB']],
    ['hosts: [a]\nswitches: {s1: ¦4MB}\nlinks: [a--s1]', ['a switch is a mapping', "not '4MB'"]],
    [
      'hosts: [a]\nswitches: {s1: {ecn: {kmin: ¦5KB, kmax: 4KB, pmax: ¦2}}}\nlinks: [a--s1]',
      ['kmin (5KB) must not be above kmax (4KB)'],
      ['more than the whole'],
    ],
    ['hosts: [a]\nswitches: {s1: {ecn: ¦{kmin: 1KB}}}\nlinks: [a--s1]', ['kmax is missing']],
    [
      'hosts: [a]\nswitches: {s1: {buffer: 1MB, pfc: {xoff: ¦1MB, xon: ¦2MB}}}\nlinks: [a--s1]',
      ['below the buffer (1MB)'],
      ['xon must be below xoff'],
    ],
    ['hosts: [a]\nswitches: {s1: {pfc: {xoff: 1KB, priorities: [¦8]}}}\nlinks: [a--s1]', ['0 to 7']],
  ])
})

t.test('controllers', async t => {
  checkProblems(t, NET, [
    ['cc: ¦hpc', ["'hpc'", 'hpcc, fixed-window', "did you mean 'hpcc'"]],
    ['cc: {name: ¦hpcq}', ["did you mean 'hpcc'"]],
    ['cc: ¦{eta: 1}', ['cc has no name', 'hpcc']],
    ['cc: ¦', ['cc is a name or a mapping', 'not nothing']],
    ['cc: ¦[hpcc]', ['cc is a name or a mapping', 'not a list']],
    ['cc: {name: hpcc, ¦Eta: 1}', ["no option 'Eta'", "did you mean 'eta'"]],
    ['cc: {name: hpcc, eta: ¦1.5}', ['eta', 'from 0.1 to 1', 'not 1.5']],
    ['cc: {name: hpcc, eta: ¦high}', ["not 'high'"]],
    ['cc: {name: hpcc, maxStage: ¦1.5}', ['a whole number']],
    ['cc: {name: hpcc, wAi: ¦1us}', ["'us' is not known"]],
    ['cc: {name: hpcc, minRate: ¦[1]}', ['a list is no quantity']],
    ['cc: {name: hpcc, wAi: 1KB, ¦flows: 10}', ['flows has no effect beside wAi', 'leave one of them out']],
    ['cc: {name: hpcc, ¦countFlows: true, wAi: 1KB}', ['countFlows has no effect beside wAi']],
    ['cc: {name: fixed-window, ¦lossBeta: 0.5}', ['while lossReaction is false', 'set lossReaction to true']],
    [
      'traffic:\n  - {from: h1, to: h2, size: 1MB, cc: {name: auto, wAi: 1KB, ¦flows: 10}}',
      ['auto: flows has no effect beside wAi'],
    ],
  ])
})

t.test('traffic', async t => {
  checkProblems(t, NET, [
    ['traffic: [¦7]', ['a flow is a mapping', 'not 7']],
    [
      'traffic:\n  - {from: h1, to: ¦h9, size: 1MB}',
      ["no host is called 'h9'", 'h1, h2, h3', 'did you mean'],
    ],
    ['traffic:\n  - {from: ¦s1, to: h2, size: 1MB}', ["'s1' is a switch"]],
    ['traffic:\n  - {from: h1, to: ¦h1, size: 1MB}', ['to itself']],
    ['traffic:\n  - ¦{from: h1, size: ¦3GB}', ['to is missing'], ['1B to 2GiB', 'not 3GB']],
    ['traffic:\n  - {from: h1, to: h2, size: ¦0B}', ['size']],
    ['traffic:\n  - {from: h1, to: h2, size: 1MB, priority: ¦8}', ['0 to 7']],
    ['traffic:\n  - {from: h1, to: h2, size: 1MB, sourcePort: ¦80}', ['49152 to 65535']],
    ['traffic:\n  - {from: h1, to: h2, size: 1MB, repeat: ¦2}', ["needs 'every'"]],
    ['traffic:\n  - {from: h1, to: h2, size: 1MB, ¦every: 2us}', ["needs 'repeat'"]],
    [
      'traffic:\n  - {name: a, from: h1, to: h2, size: 1B}\n  - {name: ¦a, from: h2, to: h1, size: 1B}',
      ["'a' is taken"],
    ],
    ['traffic:\n  - {from: h1, to: h2, size: 1MB, cc: {name: hpcc, eta: ¦9}}', ['from 0.1 to 1']],
    ['traffic:\n  - {incast: [h1, ¦h1..h2], to: h3, size: 1B}', ['h1 is named twice']],
    ['traffic:\n  - {incast: ¦[], to: h3, size: 1B}', ['incast is empty']],
    ['traffic:\n  - {incast: [¦h0..h2], to: h3, size: 1B}', ["'h0'"]],
    ['traffic:\n  - {incast: h1..h3, to: ¦h3, size: 1B}', ['from h3 to itself']],
    [
      'traffic:\n  - ¦{workload: ¦webserch, load: ¦150%}',
      ['duration is missing'],
      ['websearch, fbhadoop, alistorage, googlerpc', "did you mean 'websearch'"],
      ['more than the whole'],
    ],
    ['traffic:\n  - {workload: ¦./no.txt, load: 0.1, duration: 1s}', ['no.txt', 'cannot be read']],
    ['traffic:\n  - {workload: websearch, load: 0.1, duration: 1s, hosts: ¦h1}', ['two hosts']],
    ['traffic:\n  - {workload: websearch, load: ¦[0.5], duration: 1s}', ['load: a list is no quantity']],
    ['traffic:\n  - {workload: websearch, load: ¦0%, duration: 1s}', ['a share above zero is needed']],
    ['traffic:\n  - ¦{from: h1, to: h2, size: 1MB, count: 10000, repeat: 11, every: 1us}', ['100000']],
  ])
})

t.test('a pair without a path', async t => {
  const text =
    'hosts: [a, b]\nswitches: [s1, s2]\nlinks: [a--s1, b--s2]\ntraffic:\n  - ¦{from: a, to: b, size: 1B}\n'
  checkProblems(t, '', [[text, ['no path from a to b', 'links']]])
  const through = 'hosts: [a, b, ¦c]\nlinks: [a--b]\ntraffic: [{from: a, to: c, size: 1B}]'
  checkProblems(t, '', [[through, ['host c has no link']]])
})

t.test('watch', async t => {
  checkProblems(t, NET, [
    ['watch: {queues: [¦s1:h9]}', ["no port to 'h9'", 'h1, h2, h3']],
    ['watch: {queues: [¦s2:h1]}', ["no switch is called 's2'", "did you mean 's1'"]],
    ['watch: {queues: [¦s1]}', ['written as s1:s2']],
    ['watch: {queues: ¦some}', ["'all'"]],
    ['watch: {every: ¦0us}', ['above zero']],
    ['watch: {every: ¦99ns}', ['at least 100ns']],
    ['watch: {flows: ¦perhaps}', ['true or false']],
    ["watch: {queues: [¦'s1:h1#1']}", ["s1 has 1 link to 'h1'", '#0']],
    ['watch: {queues: [¦s1:7]}', ['no port 7', '0 to 2']],
  ])
})

t.test('YAML that does not parse, and keys given twice', async t => {
  t.match(problemsOf('hosts: [a, b\nlinks: []'), [/^x\.yaml:2:\d+: /])
  t.match(problemsOf('seed: 1\nseed: 2\n'), [/^x\.yaml:2:1: .*unique/])
})

t.test('all problems of a file come at once, in its order', async t => {
  const found = problemsOf(`hosts: [h1, h2, h2]
switches:
  s1: {bufer: 4MB}
links:
  - h1--s1
  - {ends: h3--s1, rate: 1Gbs}
cc: {name: hpc}
trafic: 3
traffic:
  - {from: s1, to: h2, size: 4GB, cc: {name: hpcc, eta: 3}}
watch: {queues: [s1:s2], every: 4}
`)
  t.strictSame(
    found.map(line => line.split(':').slice(1, 3).join(':')),
    ['1:17', '3:8', '6:12', '6:26', '7:12', '8:1', '10:12', '10:30', '10:57', '11:33'],
  )
})

t.test('a hostile file is refused quickly', async t => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]']
  for (let i = 1; i < 9; i++) {
    const previous = String.fromCharCode(96 + i)
    const own = String.fromCharCode(97 + i)
    bomb.push(`${own}: &${own} [${Array(9).fill(`*${previous}`).join(',')}]`)
  }
  t.equal(problemsOf(bomb.join('\n')).length, 1)
  const many = `hosts: [${Array.from({ length: 500 }, (_, i) => `${i}x`).join(', ')}]\nlinks: []`
  const found = problemsOf(many)
  t.equal(found.length, 51)
  t.match(found[50], /and 450 more problems/)
  const strange = problemsOf(`"a\\n\\u001b[31mb": 1\nhosts: [a, b]\nlinks: [a--b]\nseed: ${'x'.repeat(9000)}`)
  t.equal(strange.length, 2, 'a line each, whatever the file holds')
  t.match(strange[0], "unknown key 'a\\n\\u001b[31mb'")
  t.ok(strange[1]!.length < 600, 'of bounded length')
  t.ok(
    problemsOf('__proto__: {a: 1}\nhosts: [constructor, toString]\nlinks: [constructor--valueOf]').length > 0,
  )
})

t.test('loadScenario reads files, and workloads beside them', async t => {
  const folder = t.testdir({
    'sizes.txt': '0 0\n1000 50\n2000 100 # bytes\n',
    'bad.txt': '0 0\n1000 50\n500 100\n',
  })
  const file = join(folder, 'case.yml')
  writeFileSync(file, `${NET}traffic: [{workload: sizes.txt, load: 0.5, duration: 1ms, name: w}]\n`)
  const scenario = loadScenario(file)
  t.equal(scenario.name, 'case')
  t.equal(scenario.file, file)
  t.match(scenario.workloads[0]?.distribution, { name: 'sizes', sizesBytes: [0, 1000, 2000] })
  writeFileSync(file, `${NET}traffic: [{workload: bad.txt, load: 0.5, duration: 1ms}]\n`)
  t.throws(() => loadScenario(file), {
    code: 'WEIR_BAD_SCENARIO',
    message: /case\.yml:4:22: .*bad\.txt:3:1: .*rise/,
  })
  t.throws(() => loadScenario(join(folder, 'none.yaml')), { code: 'WEIR_NO_FILE', message: /none\.yaml/ })
})

t.test('what is found after the file was read has its place, too', async t => {
  const flows = `${NET}traffic:\n  - { from: h1, to: h2, size: 1B, count: 300 }\n`
  await t.rejects(runOverlay(parseScenario(flows, 'x.yaml')), {
    code: 'WEIR_BAD_SCENARIO',
    message: /^x\.yaml:5:3: 300 flows are too many for real time, which takes 256; .*--on virtual$/,
  })
  const direct = 'hosts: [a, b]\nlinks: [a--b]\ntraffic: [{ from: a, to: b, size: 1B }]\n'
  for (const scenario of [parseScenario(direct, 'x.yaml'), withSeed(parseScenario(direct, 'x.yaml'), 7)]) {
    await t.rejects(runOverlay(scenario), {
      code: 'WEIR_BAD_SCENARIO',
      message: /^x\.yaml:2:8: the link a--b joins two hosts.*switch between them, or use --on virtual$/,
    })
  }
  const elsewhere = {
    ...parseScenario(direct, 'x.yaml'),
    hosts: parseScenario(direct, 'x.yaml').hosts.slice(),
  }
  await t.rejects(runOverlay(elsewhere), { message: /^x\.yaml: the link/ })
})
