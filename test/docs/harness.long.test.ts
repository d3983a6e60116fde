/** How examples of documents are run: on documents made for it. `documents.long.test.ts` does so with all that there are. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readDocument } from './examples.js'
import { fence } from './fence.js'
import { compilePrograms, linkPackage } from './programs.js'
import { runDocuments } from './run-documents.js'
import { noSessions, runSession } from './session.js'
import { planOf } from './steps.js'

t.setTimeout(600_000)

function scratch(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-docs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

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
${fence('sh', `weir daemon --insecure --address 10.0.0.2 &`)}
<!-- example: background; prints ready -->
${fence('sh', 'weir daemon --insecure --address 10.0.0.1')}
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
