/** What `npm pack` ships, and what an installation contains: the commands, and the library with its types. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { repositoryRoot } from '../support/fixtures.js'
import { cannotPack, install, link, type Packed, pack, readManifest, scratch } from './packed.js'

t.setTimeout(600_000)

/** Folders and files that users need; a new one is named here and in `files` of package.json. */
const SHIPPED =
  /^(dist\/(bin|lib|weir|switch-emu)\/.*\.js|dist\/man\/weir(-[a-z]+)?\.1|dist\/proto\/\w+\.proto\.json|dist\/weir\/licenses\.txt|dist\/(lib|switch-emu)\/.*\.d\.ts|proto\/\w+\.proto|bench\/scenarios\/.+\.(yaml|md)|bench\/workloads\/\w+\.txt|switch-emu\/wireshark\/weir\.lua|docs\/.+|schema\/.+\.json|README\.md|LICENSE|package\.json)$/

const NEEDED = [
  'LICENSE',
  'README.md',
  'bench/scenarios/README.md',
  'bench/scenarios/dumbbell-100g.yaml',
  'bench/workloads/websearch.txt',
  'dist/lib/capture/index.d.ts',
  'dist/lib/index.d.ts',
  'dist/proto/control.proto.json',
  'dist/switch-emu/index.d.ts',
  'dist/weir/licenses.txt',
  'dist/weir/weir.js',
  'proto/control.proto',
  'switch-emu/wireshark/weir.lua',
]

/** Uses all three entries, and prints its findings as JSON. */
const PROGRAM = `
import { strict as assert } from 'node:assert'
import { connectDaemon, ERROR_CODES, Host, WeirError, type HostRegion, type TransferReply } from 'weir-roce'
import { type Packet, readCapture } from 'weir-roce/capture'
import { bundledScenarios, loadScenario, type RunResult, runScenario, type Scenario, scenarioFrom } from 'weir-roce/lab'

const names: string[] = bundledScenarios().map(({ name }) => name)
const bundled: Scenario = loadScenario('two-switches')
const scenario = scenarioFrom({
  hosts: ['h1', 'h2'],
  switches: ['s1'],
  links: ['h1--s1', 'h2--s1'],
  traffic: [{ from: 'h1', to: 'h2', size: '100KB' }],
})
const result: RunResult = await runScenario(scenario, { captures: { folder: 'captures' }, seed: 3 })
const byOpcode: Record<string, number> = {}
for (const packet of readCapture('captures/s1--h2.pcapng') as Iterable<Packet>) {
  const name = packet.bth?.opcodeName ?? 'other'
  byOpcode[name] = (byOpcode[name] ?? 0) + 1
}
const refused: unknown = await connectDaemon('./none').catch((error: unknown) => error)
assert(refused instanceof WeirError && refused.code in ERROR_CODES)
const open: (options: { address: string }) => Promise<Host> = Host.open
const types: [HostRegion?, TransferReply?] = []
console.log(JSON.stringify({
  names, bundled: bundled.name, seed: result.seed, fctNs: result.flows[0]?.fctNs, byOpcode, code: refused.code,
  rest: [typeof open, types.length],
}))
`

let packed: Packed
let project: string

t.test('packing', { skip: cannotPack(), bail: true }, async t => {
  project = scratch(t.parent as typeof t)
  packed = pack(project)
  install(packed, project)
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
})

const skip = cannotPack()

t.test('what is shipped is what users need', { skip }, async t => {
  t.same(
    packed.files.filter(file => !SHIPPED.test(file)),
    [],
  )
  t.same(
    NEEDED.filter(file => !packed.files.includes(file)),
    [],
  )
  t.ok(packed.files.length < 2600, `${packed.files.length} files`)
})

t.test('publint', { skip }, async t => {
  const publint = await import('publint').catch(() => null)
  if (publint === null) return t.pass('publint', { skip: 'publint is not installed' })
  const bytes = readFileSync(packed.tarball)
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
  const { messages } = await publint.publint({ pack: { tarball }, strict: true })
  t.same(messages, [])
})

t.test('are the types wrong?', { skip }, async t => {
  const attw = await import('@arethetypeswrong/core').catch(() => null)
  if (attw === null) return t.pass('attw', { skip: '@arethetypeswrong/core is not installed' })
  const found = await attw.checkPackage(attw.createPackageFromTarballData(readFileSync(packed.tarball)))
  t.equal(found.types && typeof found.types, 'object', 'it has types')
  if (!('problems' in found)) return
  // The package has ES modules, and subpaths are by "exports". Resolvers of older Node versions support
  // neither.
  const past = ['node10', 'node16-cjs']
  const problems = found.problems.filter(
    one => !('resolutionKind' in one && past.includes(one.resolutionKind)),
  )
  t.same(problems, [])
})

t.test('a program: its types, and what it does', { skip }, async t => {
  link('@types/node', join(project, 'node_modules'))
  link('typescript', join(project, 'node_modules'))
  const source = join(project, 'program.mts')
  writeFileSync(source, PROGRAM)
  const program = ts.createProgram([source], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts'],
    types: ['node'],
    typeRoots: [join(project, 'node_modules/@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
  })
  const wrong = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics]
  t.same(ts.formatDiagnostics(wrong, FORMAT), '')
  const { status, stdout, stderr } = run([process.execPath, 'program.mjs'])
  t.equal(status, 0, stderr)
  t.match(JSON.parse(stdout), {
    bundled: 'two-switches',
    seed: 3,
    fctNs: Number,
    byOpcode: { RC_ACKNOWLEDGE: 98 },
    code: 'WEIR_DAEMON_UNREACHABLE',
  })
  t.ok(JSON.parse(stdout).names.includes('dumbbell-100g'))
})

t.test('the command', { skip }, async t => {
  const { version } = readManifest(repositoryRoot)
  t.equal(run(['node_modules/.bin/weir', '--version']).stdout, `${version}\n`)
  const list = run(['node_modules/.bin/weir', 'run', '--list'])
  t.equal(list.status, 0, list.stderr)
  t.match(list.stdout, /^dumbbell-100g {2,}\S.*\.$/m)
  t.equal(run(['node_modules/.bin/weir', 'lab', 'up', '--list']).stdout, list.stdout)
  const ran = run(['node_modules/.bin/weir', 'run', 'two-switches', '--json', 'a.json'])
  t.equal(ran.status, 0, ran.stderr)
  t.match(JSON.parse(readFileSync(join(project, 'a.json'), 'utf8')), {
    scenario: { name: 'two-switches' },
    on: 'virtual',
  })
})

const FORMAT: ts.FormatDiagnosticsHost = {
  getCanonicalFileName: name => name,
  getCurrentDirectory: () => project,
  getNewLine: () => '\n',
}

/** Runs in the project, with nothing of the repository in its paths. */
function run([program, ...args]: readonly string[]) {
  return spawnSync(program!, args, { cwd: project, encoding: 'utf8', env: { PATH: process.env.PATH } })
}
