/** The layers of ARCHITECTURE.md: imports point down only. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

/** From the bottom up. A folder imports from those above it in this list, and from none on its own line. */
const LAYERS: readonly (readonly string[])[] = [
  ['lib/byte-text'],
  [
    'lib/double',
    'lib/errors',
    'lib/end-signals',
    'lib/file-reason',
    'lib/fs-by-text',
    'lib/host-port',
    'lib/int-map',
    'lib/koffi',
    'lib/offer',
    'lib/printable',
    'lib/shown',
    'lib/text-width',
  ],
  ['lib/arguments', 'lib/make-folder', 'lib/package-file', 'lib/plain-log'],
  ['lib/log', 'lib/thread', 'lib/time', 'lib/units', 'lib/proto'],
  ['lib/frame', 'lib/options'],
  ['lib/wire'],
  ['lib/bgp', 'lib/capture', 'lib/cc', 'lib/cm', 'lib/io', 'lib/qp', 'lib/sim', 'switch-emu/core/queueing'],
  ['lib/inof', 'switch-emu/core/forwarding', 'switch-emu/core/feature'],
  ['switch-emu/core/flows'],
  [
    'switch-emu/core/marking',
    'switch-emu/core/pfc',
    'switch-emu/core/telemetry',
    'switch-emu/core/scheduling',
    'switch-emu/core/answers',
    'switch-emu/core/vxlan',
  ],
  ['switch-emu/core/ai-ecn', 'switch-emu/core/inof', 'switch-emu/core/ipcc'],
  ['switch-emu/core'],
  ['lib/nic', 'lib/scenario', 'lib/control'],
  ['lib/secure'],
  ['lib/stream'],
  ['lib/traffic', 'lib/perf', 'lib/transfer', 'lib/client', 'lib/tunnel'],
  ['lib/open-nic'],
  ['lib/host'],
  ['lib/net', 'lib/interop'],
  ['lib/daemon'],
  ['lib/index'],
  ['switch-emu'],
  ['switch-emu/captures'],
  ['switch-emu/network'],
  ['switch-emu/results'],
  ['switch-emu/real-time'],
  ['switch-emu/virtual', 'switch-emu/overlay', 'switch-emu/veth'],
  ['switch-emu/lab', 'switch-emu/lab-options'],
  ['switch-emu/index'],
  ['bench', 'bin'],
]

/**
 * Rooms of the folders that have some, from the bottom up, with the same rule. A file beside the rooms is
 * listed by its name.
 */
const ROOMS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'lib/wire': [['bytes'], ['net'], ['telemetry'], ['ib'], ['cm', 'weir', 'bgp'], ['parse.ts'], ['print.ts']],
  'lib/cc': [
    ['path-switches.ts'],
    ['about.ts', 'options.ts', 'context-options.ts', 'congestion-control.ts', 'plausibility.ts', 'needs.ts'],
    ['bounds.ts', 'loss-cap.ts', 'path-options.ts', 'telemetry-options.ts'],
    [
      'rate-guard.ts',
      'path-settings.ts',
      'telemetry-settings.ts',
      'hpcc',
      'cubic',
      'fixed-window',
      'dcqcn',
      'dctcp',
    ],
    ['rttcc', 'swift', 'timely'],
    ['rx-hpcc', 'fncc', 'auto', 'rocc'],
    ['catalogue.ts'],
    ['agreements.ts', 'check-controller.ts', 'describe-controller.ts', 'parse-options.ts', 'conflicts.ts'],
    ['controllers-page.ts'],
  ],
  'lib/qp': [
    ['transport-options.ts', 'memory'],
    ['queues'],
    ['context'],
    ['recovery'],
    ['datagram', 'unreliable'],
    ['requester', 'responder'],
    ['delayed-ack.ts'],
    ['queue-pair.ts'],
  ],
  'lib/io': [
    ['clock.ts', 'waiter.ts', 'source-port.ts', 'interfaces'],
    ['port.ts'],
    ['linux'],
    ['ports', 'loop'],
  ],
  'lib/interop': [
    ['conversation.ts', 'address-towards.ts', 'client-places.ts'],
    ['rping', 'perftest', 'rsocket'],
  ],
  'lib/nic': [
    ['types.ts', 'nic-options.ts', 'link-local.ts'],
    ['keys', 'telemetry'],
    ['config.ts', 'feedback'],
    ['flow'],
    ['tx'],
    ['paced'],
    ['paths'],
    ['rx'],
    ['connect'],
    ['nic.ts'],
    ['both-ends.ts'],
  ],
  'lib/scenario': [['model'], ['schema'], ['read'], ['result'], ['html'], ['repeat.ts']],
  'lib/transfer': [
    ['fault-points.ts'],
    ['protocol'],
    ['file'],
    ['mover'],
    ['session'],
    ['task'],
    ['transfer-options.ts', 'service.ts'],
  ],
}
const ROOM_README_LINES_MAX = 15

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

/** The files that each file imports, by path within the repository. */
const imports = new Map(files.map(file => [relative(root, file), importsOf(file)]))

function importsOf(file: string): string[] {
  const matches = readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)\.js'/g)
  return [...matches].map(match => `${relative(root, normalize(join(dirname(file), match[1]!)))}.ts`)
}

t.test('imports point down', async t => {
  let count = 0
  for (const [path, targets] of imports) {
    for (const target of targets) {
      count++
      if (target.startsWith('test/')) {
        // A benchmark may build its frames as the tests do.
        if (!path.startsWith('bench/')) t.fail(`${path} imports ${target}`)
        continue
      }
      if (folderOf(path) === folderOf(target)) continue
      if (layerOf(target) >= layerOf(path)) t.fail(`${path} imports ${target}, which is not below it`)
    }
  }
  t.ok(count > 300, `${count} imports were looked at`)
})

t.test('no import leads back to its file', async t => {
  t.same(circleIn(imports), [])
  t.same(
    circleIn(
      new Map([
        ['a', ['b', 'x']],
        ['b', ['c']],
        ['c', ['b']],
      ]),
    ),
    ['b', 'c', 'b'],
    'one is found',
  )
})

t.test('the rooms of a folder point one way, and say what lives there', async t => {
  for (const [folder, rows] of Object.entries(ROOMS)) {
    const roomOf = (path: string) => path.slice(folder.length + 1).split('/')[0]!
    const rankOf = (path: string) => rows.findIndex(rooms => rooms.includes(roomOf(path)))
    for (const [path, targets] of imports) {
      if (!path.startsWith(`${folder}/`)) continue
      if (rankOf(path) < 0) t.fail(`${path} is in no room`)
      for (const target of targets) {
        if (!target.startsWith(`${folder}/`) || roomOf(target) === roomOf(path)) continue
        if (rankOf(target) >= rankOf(path)) t.fail(`${path} imports ${target}, which is not below it`)
      }
    }
    for (const room of rows.flat()) {
      if (room.endsWith('.ts')) continue
      const lines = readFileSync(join(root, folder, room, 'README.md'), 'utf8').split('\n').length - 1
      t.ok(lines <= ROOM_README_LINES_MAX, `${folder}/${room}: ${lines} lines`)
    }
  }
})

/** A circle of imports, by the files along it; empty if there is none. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const way: string[] = []
  const search = (file: string): string[] => {
    const at = way.indexOf(file)
    if (at >= 0) return [...way.slice(at), file]
    if (done.has(file)) return []
    way.push(file)
    for (const target of imports.get(file) ?? []) {
      const circle = search(target)
      if (circle.length > 0) return circle
    }
    way.pop()
    done.add(file)
    return []
  }
  for (const file of imports.keys()) {
    const circle = search(file)
    if (circle.length > 0) return circle
  }
  return []
}

t.test('the protocol reads no clock and draws no random numbers', async t => {
  const pure = ['lib/wire', 'lib/bgp', 'lib/qp', 'lib/cm', 'lib/cc', 'lib/nic', 'lib/sim', 'switch-emu/core']
  const forbidden = /Math\.random|Date\.now|performance\.|hrtime|setTimeout|setInterval|node:dgram|node:net'/
  for (const file of files) {
    const path = relative(root, file)
    if (!pure.some(folder => path.startsWith(`${folder}/`))) continue
    // lib/wire/net/address.ts takes isIPv4 and isIPv6 from node:net: functions over text, no sockets.
    const text = readFileSync(file, 'utf8').replace(/import \{ isIPv4, isIPv6 \} from 'node:net'/, '')
    const found = forbidden.exec(text)
    if (found) t.fail(`${path} has ${found[0]}`)
  }
  t.pass(`${pure.length} folders`)
})
