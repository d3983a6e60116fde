/** `vtep` of scenario files: what it becomes, and the mistakes. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { checkProblems } from './problems-at.js'

const BASE = `
hosts: [h1..h4, { name: h9, address: 10.0.0.9 }]
switches: [s1, s2, s3]
links: [h1--s1, h2--s1, h3--s2, h4--s2, h9--s3, s1--s3, s2--s3]
`

t.test('defaults and settings', async t => {
  const read = (vtep: string) => parseScenario(`${BASE}vtep: ${vtep}`, 'x.yaml').vtep
  t.same(read('{ vni: 7, ends: [s1..s2] }'), [
    {
      vni: 7,
      ecn: 'normal',
      mtuBytes: 4500,
      ends: [
        { node: 's1', address: '10.254.0.1', hosts: ['h1', 'h2'], inner: [] },
        { node: 's2', address: '10.254.0.2', hosts: ['h3', 'h4'], inner: [] },
      ],
    },
  ])
  const [network] = read(`
  - vni: 0xffffff
    ecn: compatibility
    mtu: 2KB
    ends:
      s1: { address: 10.1.0.1, hosts: [h2] }
      h9: { inner: [{ address: 10.9.0.1, mac: '02:00:00:00:00:09' }] }
`)!
  t.match(network, { vni: 0xffffff, ecn: 'compatibility', mtuBytes: 2000 })
  t.same(network!.ends, [
    { node: 's1', address: '10.1.0.1', hosts: ['h2'], inner: [] },
    {
      node: 'h9',
      address: '10.0.0.9',
      hosts: [],
      inner: [{ address: '10.9.0.1', mac: '02:00:00:00:00:09' }],
    },
  ])
  t.equal(parseScenario(BASE, 'x.yaml').vtep, undefined)
  const routed = parseScenario(
    `${BASE}vtep: { vni: 7, ends: [s1, s2] }\nroutes: [{ switch: s3, to: s2, via: s2 }]`,
    'x.yaml',
  )
  t.match(routed.routes, [{ switch: 's3', to: 's2', ports: [2] }])
})

t.test('mistakes are explained where they are', async t => {
  checkProblems(t, BASE, [
    ['vtep: ¦7', ['a mapping', 'vni, ends']],
    ['vtep: { vni: ¦16777216, ends: [s1, s2] }', ['16777215']],
    ['vtep: { vni: 1, ends: ¦[s1] }', ['two ends', 'leave out vtep']],
    ['vtep: { vni: 1, ends: [s1, s2, ¦s8] }', ["no switch or host is called 's8'", 's1, s2, s3']],
    ['vtep: { vni: 1, ends: [s1, s2, ¦s2] }', ['s2 is an end twice']],
    [
      'vtep: { vni: 1, ends: { s1: { hosts: [¦h3] }, s2: {} } }',
      ['h3 is no host that is linked to s1', 'h1, h2'],
    ],
    ['vtep: { vni: 1, ends: { s1: {}, s2: { address: ¦here } } }', ['"here" is no address']],
    ['vtep: { vni: 1, ends: ¦{ s1: {}, s2: { address: fd00::2 } } }', ['one family', 's1 has none of IPv6']],
    [
      'vtep: { vni: 1, ends: ¦{ s1: {}, s2: { address: 10.0.0.9 } } }',
      ['10.0.0.9 of s2 already belongs to h9'],
    ],
    ['vtep: { vni: 1, ends: { s1: {}, h9: ¦{} } }', ['h9 is a host', 'inner says']],
    [
      'vtep: [{ vni: 1, ends: [s1, s2] }, { vni: ¦1, ends: { s1: { hosts: [] }, s2: { hosts: [] } } }]',
      ['VNI 1 is described already'],
    ],
    [
      'vtep: [{ vni: 1, ends: [s1, s2] }, { vni: 2, ends: ¦{ s1: { hosts: [] }, s2: { hosts: [h3] } } }]',
      ['h3 is in VNI 1 already'],
    ],
    // 1,024 bytes of payload; IP 20, UDP 8, the INT shim 8 + 24 for each of 3 switches, BTH 12, RETH 16, ICRC 4: 1,164; 50 more.
    [
      'vtep: { vni: 1, mtu: ¦1213B, ends: [s1, s2] }\ntraffic: [{ from: h1, to: h3, size: 1MB }]',
      ['1164 B', '1214 B with the 50', 'takes 1213', 'pathMtu'],
    ],
    [
      'vtep: { vni: 1, ends: [s1, s2] }\ntraffic: ¦[{ from: h1, to: h9, size: 1MB }]',
      ['h1 is in VNI 1 and h9 in the underlay', 'neither reaches'],
    ],
    [
      'vtep: { vni: 1, ends: [s1, s2] }\nroutes: [{ switch: s3, to: ¦h3, via: s2 }]',
      ['h3 is behind s2', 'name s2'],
    ],
    ['vtep: { vni: 1, ends: [s1, s2] }\nroutes: [{ switch: s1, to: ¦s1, via: s3 }]', ['no route to itself']],
  ])
  const fits = 'vtep: { vni: 1, mtu: 1214B, ends: [s1, s2] }\ntraffic: [{ from: h1, to: h3, size: 1MB }]'
  t.ok(parseScenario(BASE + fits, 'x.yaml'))
})
