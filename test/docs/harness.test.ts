/** How examples of documents are found, checked and run: on documents made for it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { problemsOf } from './check-document.js'
import { readDocument } from './examples.js'
import { missingLine } from './output.js'
import { compilePrograms, linkPackage } from './programs.js'
import { runDocuments } from './run-documents.js'
import { noSessions, runSession } from './session.js'
import { planOf } from './steps.js'

t.setTimeout(600_000)

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`

function problems(markdown: string): string[] {
  return problemsOf(readDocument('doc.md', markdown), markdown)
}

function scratch(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-docs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
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

t.test('programs are type-checked', async t => {
  const folder = scratch(t)
  linkPackage(folder)
  const { examples } = readDocument(
    'doc.md',
    `${fence('ts', "import { connectDaemon } from 'weir-roce'\nconst daemon = await connectDaemon(7)")}
${fence('ts', 'const a: number = 1')}\n<!-- example: continues -->\n${fence('ts', 'const b: string = a')}`,
  )
  const { problems, files } = compilePrograms(examples, folder)
  t.equal(problems.length, 2)
  t.match(problems[0], /^doc\.md:2, line 2 of the program: .*'number'.*'string'/)
  t.match(problems[1], /^doc\.md:7, line 2 of the program: .*'number'.*'string'/)
  t.equal(files.size, 2)
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

const SESSION = `
${fence(
  'sh',
  `name=world
mkdir place && cd place`,
)}
<!-- example: prints hello …d; prints place -->
${fence('sh', 'echo "hello $name"\npwd')}
<!-- example: file two.yaml -->
${fence('yaml', 'hosts: [h1, h2]\nswitches: [s1]\nlinks: [h1--s1, h2--s1]\ntraffic: [{ name: flow0, from: h1, to: h2, size: 1MB }]')}
<!-- example: hidden
test -f two.yaml && cd
-->
${fence(
  'console',
  `$ weir --version
0.…
$ for i in 1 2; do \\
>   echo "$i"
> done
1
2`,
)}
<!-- example: exit 1; prints WEIR_NO_FILE -->
${fence('sh', 'weir run nowhere.yaml\necho not reached')}
<!-- example: on other; prints "ready" -->
${fence('sh', `weir daemon --address 10.0.0.2 &`)}
<!-- example: background; prints ready -->
${fence('sh', 'weir daemon --address 10.0.0.1')}
${fence('sh', 'weir send big.iso *.csv 10.0.0.2')}
<!-- example: on other -->
${fence('sh', 'cmp .local/share/weir/inbox/big.iso ../here/big.iso')}
${fence('sh', 'weir run two-switches')}
<!-- example: output varies -->
${fence('text', 'flow path bytes seconds goodput slowdown retrans\n-----\neast1 a1 > b1 10MB 0.17 400Mbps 2 0B')}
<!-- example: needs no-such-tool -->
${fence('sh', 'no-such-tool')}
${fence('ts', "import { ERROR_CODES } from 'weir-roce'\nexport const codes: readonly string[] = Object.keys(ERROR_CODES)")}
<!-- example: continues; prints true -->
${fence('ts', "console.log(codes.includes('WEIR_FULL'))")}
<!-- example: not run: it needs a week -->
${fence('sh', 'sleep 1w')}
`

t.test('a document runs, and says what it does not run', async t => {
  const notRun = await runDocuments(t, [{ name: 'doc.md', markdown: SESSION }])
  t.match(notRun, [{ marker: { notRun: 'it needs a week' } }])
})

t.test('what fails in a session', { skip: noSessions() }, async t => {
  const outcomes = async (markdown: string) => {
    const { steps } = planOf(readDocument('doc.md', markdown), new Map(), () => null)
    return (await runSession(steps, scratch(t))).map(({ fault, output }) => ({ fault, output }))
  }
  const failing = await outcomes(fence('sh', 'echo one\nfalse\necho two') + fence('sh', 'true'))
  t.match(failing, [{ fault: 'exit code 1 instead of 0', output: /^one\n$/ }, { fault: /not reached/ }])
  const [[lasting], [late], [quiet]] = await Promise.all([
    outcomes(`<!-- example: exit 2 -->\n${fence('sh', 'true')}`),
    outcomes(fence('sh', 'sh -c "exit 4" &')),
    outcomes(`<!-- example: prints b…d -->\n${fence('sh', 'echo abc')}`),
  ])
  t.equal(lasting!.fault, 'exit code 0 instead of 2')
  t.equal(late!.fault, 'exit code 4 instead of 0', 'in the background')
  t.equal(quiet!.fault, 'its output lacks: b…d')
})
