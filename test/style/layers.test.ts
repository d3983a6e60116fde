/** The layers of ARCHITECTURE.md: imports point down only. And files that a newcomer can hold. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

/** From the bottom up. A folder imports from those above it in this list, and from none on its own line. */
const LAYERS: readonly (readonly string[])[] = [
  ['lib/byte-text'],
  ['lib/errors', 'lib/end-signals', 'lib/file-reason', 'lib/fs-by-text', 'lib/printable'],
  ['lib/make-folder', 'lib/package-file'],
  ['lib/log', 'lib/thread', 'lib/time', 'lib/units', 'lib/proto'],
  ['lib/frame'],
  ['lib/wire'],
  ['lib/capture', 'lib/cc', 'lib/cm', 'lib/io', 'lib/qp', 'lib/sim', 'switch-emu/core/queueing'],
  ['switch-emu/core/forwarding', 'switch-emu/core/feature'],
  ['switch-emu/core/marking', 'switch-emu/core/pfc', 'switch-emu/core/telemetry', 'switch-emu/core/answers'],
  ['switch-emu/core'],
  ['lib/nic', 'lib/scenario', 'lib/control'],
  ['lib/traffic', 'lib/perf', 'lib/transfer', 'lib/client'],
  ['lib/daemon'],
  ['lib/host'],
  ['lib/index'],
  ['switch-emu'],
  ['switch-emu/real-time'],
  ['switch-emu/virtual', 'switch-emu/overlay', 'switch-emu/veth'],
  ['switch-emu/lab'],
  ['switch-emu/index'],
  ['bench', 'bin'],
]

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? sources(path) : path.endsWith('.ts') ? [path] : []
  })
}

/** The layer of a file: the longest name in the list that its path begins with. */
function layerOf(path: string): number {
  let best = -1
  let length = 0
  for (const [i, names] of LAYERS.entries()) {
    for (const name of names) {
      const inside = path === name || path.startsWith(`${name}/`) || path.startsWith(`${name}.`)
      if (inside && name.length > length) {
        best = i
        length = name.length
      }
    }
  }
  return best
}

function folderOf(path: string): string {
  const layer = LAYERS[layerOf(path)] ?? []
  return layer.find(name => path.startsWith(`${name}/`) || path.startsWith(`${name}.`)) ?? path
}

const root = repositoryRoot
const files = ['lib', 'switch-emu', 'bin', 'bench'].flatMap(folder => sources(join(root, folder)))

t.test('every source file has a layer', async t => {
  t.ok(files.length > 100, `${files.length} files were found`)
  for (const file of files) {
    const path = relative(root, file)
    if (layerOf(path) < 0) t.fail(`${path} is in no layer`)
  }
})

t.test('imports point down', async t => {
  let imports = 0
  for (const file of files) {
    const path = relative(root, file)
    for (const match of readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)\.js'/g)) {
      const target = `${relative(root, normalize(join(dirname(file), match[1]!)))}.ts`
      imports++
      if (target.startsWith('test/')) {
        // A benchmark may build its frames as the tests do.
        if (!path.startsWith('bench/')) t.fail(`${path} imports ${target}`)
        continue
      }
      if (folderOf(path) === folderOf(target)) continue
      if (layerOf(target) >= layerOf(path)) t.fail(`${path} imports ${target}, which is not below it`)
    }
  }
  t.ok(imports > 300, `${imports} imports were looked at`)
})

t.test('the protocol reads no clock and draws no random numbers', async t => {
  const pure = ['lib/wire', 'lib/qp', 'lib/cm', 'lib/cc', 'lib/nic', 'lib/sim', 'switch-emu/core']
  const forbidden = /Math\.random|Date\.now|performance\.|hrtime|setTimeout|setInterval|node:dgram|node:net'/
  for (const file of files) {
    const path = relative(root, file)
    if (!pure.some(folder => path.startsWith(`${folder}/`))) continue
    // lib/wire/address.ts takes isIPv4 and isIPv6 from node:net: functions over text, no sockets.
    const text = readFileSync(file, 'utf8').replace(/import \{ isIPv4, isIPv6 \} from 'node:net'/, '')
    const found = forbidden.exec(text)
    if (found) t.fail(`${path} has ${found[0]}`)
  }
  t.pass(`${pure.length} folders`)
})
