/** How examples of documents are found and checked: on documents made for it. harness.long.test.ts runs some. */
import t from 'tap'
import { problemsOf } from './check-document.js'
import { readDocument } from './examples.js'
import { fence } from './fence.js'
import { missingLine } from './output.js'

function problems(markdown: string): string[] {
  return problemsOf(readDocument('doc.md', markdown), markdown)
}

t.test('blocks and their markers', async t => {
  const { examples, problems } = readDocument(
    'doc.md',
    `# Title\n\n${fence('sh', 'true')}\nText.\n\n<!-- example: needs ping, veth; exit 3; prints a, b; on h2; background -->\n\n${fence('sh', 'false')}
<!-- example: not run: it takes a day; and more -->\n${fence('sh', 'sleep 1d')}\n<!-- example: hidden\nls\n-->\n<!-- a comment -->\n${fence('text', '┌')}`,
  )
  t.same(problems, [])
  t.match(examples, [
    { line: 4, language: 'sh', text: 'true', hidden: false },
    {
      text: 'false',
      marker: { needs: ['ping', 'veth'], exitCode: 3, prints: ['a, b'], host: 'h2', background: true },
    },
    { marker: { notRun: 'it takes a day; and more' } },
    { text: 'ls', hidden: true },
    { language: 'text', line: 25 },
  ])
})

t.test('what is wrong is said with its place', async t => {
  for (const [markdown, says] of [
    [fence('', 'ls'), /doc\.md:1: a code block of ""/],
    [fence('bash', 'ls'), /of "bash".*sh, console, ts/],
    ['Text:\n\n    indented\n', /doc\.md:3: an indented code block/],
    [`- one\n\n  ${fence('sh', 'ls').replaceAll('\n', '\n  ')}`, /beside a list/],
    ['<!-- example: need ping -->\n\nText.\n', /doc\.md:1: "need ping" is unknown; there are needs/],
    ['<!-- example: not run: no -->\n\nText.\n', /doc\.md:1: no code block follows/],
    [`<!-- example: not run: -->\n${fence('sh', 'ls')}`, /not run needs a value/],
    [`<!-- example: exit one -->\n${fence('sh', 'ls')}`, /not "one"/],
    [fence('sh', 'weir get h:a /srv/data'), /doc\.md:2: \/srv\/data is outside/],
    ['Use `npx weir send`.', /doc\.md:1: npx may fetch/],
    ['Use `npx --yes weir send`.', /npx may fetch/],
    [fence('json', '{"a": …}'), /doc\.md:2: this is not JSON/],
    [fence('yaml', 'hosts: [h1, h2]\nlinks: [h1--s1, h2--s1]\nswitches: [s1'), /doc\.md:2/],
    [fence('yaml', 'hosts: [h1, h2]\nlinks: [h1--s1, h2--s1]'), /doc\.md:2:2:.*s1/],
    [fence('yaml', 'switches: { s1: { bufer: 1MB } }'), /in its base.*'bufer'/],
    [fence('yaml', '- { from: h1, to: h2 }'), /begins with its top-level key/],
  ] as const) {
    const found = problems(markdown)
    t.equal(found.length, 1, markdown)
    t.match(found[0], says)
  }
})

t.test('parts of scenarios', async t => {
  t.same(
    problems(
      fence(
        'yaml',
        'switches:\n  s1..s4: { pfc: { xoff: 20KB } }\nroutes: [{ switch: s1, to: h3, via: s2 }]',
      ),
    ),
    [],
  )
  t.same(problems(fence('yaml', 'watch: { queues: [s3:s4] }\ntransport: { pathMtu: 4096 }')), [])
  t.same(
    problems(
      `<!-- example: base bench/scenarios/two-switches.yaml -->\n${fence('yaml', 'traffic: [{ from: a1, to: b2, size: 1MB }]')}`,
    ),
    [],
  )
})

t.test('output that is compared', async t => {
  const output = 'sent 12.5MB in 1.2s\n\nflow0   9.9Mbps  -\ndone\n'
  t.equal(missingLine(output, 'sent 12.5MB in 1.2s\ndone', false), null)
  t.equal(missingLine(output, 'sent 12.5MB in …s\n…\ndone', false), null)
  t.equal(missingLine(output, 'done\nsent 12.5MB in 1.2s', false), 'sent 12.5MB in 1.2s', 'in its order')
  t.equal(missingLine(output, 'sent 1GB in 30ms\nflow0 10Gbps -', true), null)
  t.equal(missingLine(output, 'sent 1GB in 30ms', false), 'sent 1GB in 30ms')
  t.equal(missingLine(output, 'got 1GB in 30ms', true), 'got 1GB in 30ms')
})
