/** A tree with everything that a file system of Linux may hold, and what another one has to have to be equal. */
import { createHash } from 'node:crypto'
import {
  closeSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { libcFault } from '../../lib/io/linux/libc.js'

/** A path below a folder, of which a part may be no UTF-8. */
function below(folder: string, ...names: (string | Buffer)[]): Buffer {
  return Buffer.concat([Buffer.from(folder), ...names.flatMap(name => [Buffer.from('/'), Buffer.from(name)])])
}

const NAMES: (string | Buffer)[] = [
  'plain',
  ' ',
  '-rf',
  '*?[x]',
  'line\nbreak',
  'back\\slash',
  '...',
  'ü'.repeat(127),
  '\u{1f600}',
  Buffer.from([0x63, 0x61, 0x66, 0xe9]),
  Buffer.from([0xff, 0xfe, 0x80]),
]
const SIZES = [0, 1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 200_000]

/** Makes it in `folder`, which is empty. Returns how many files it has, hard links not counted. */
export function makeOddTree(folder: string): number {
  let files = 0
  const write = (path: Buffer, size: number) => {
    writeFileSync(path, Buffer.alloc(size, `file ${files} `), {
      mode: [0o644, 0o600, 0o755, 0o444][files % 4],
    })
    utimesSync(path, 1, 1_500_000_000 + files + 0.123)
    files++
  }
  for (const name of NAMES) write(below(folder, name), 10)
  for (const name of NAMES.slice(1)) {
    mkdirSync(below(folder, 'd', name, 'deep', 'er'), { recursive: true })
    write(below(folder, 'd', name, 'deep', name), 20)
  }
  for (const size of SIZES) write(below(folder, `size-${size}`), size)
  mkdirSync(below(folder, 'empty'), { mode: 0o750 })
  linkSync(below(folder, 'size-4097'), below(folder, 'z-same'))
  linkSync(below(folder, 'size-4097'), below(folder, 'empty', '..', 'd', 'z-same'))
  symlinkSync('size-1', below(folder, 'link'))
  symlinkSync('not/there', below(folder, 'd', 'dangling'))
  symlinkSync(Buffer.from([0x2e, 0x2e, 0x2f, 0xff, 0xfe, 0x80]), below(folder, 'd', 'odd-link'))
  for (const link of [['link'], ['d', 'odd-link']]) lutimesSync(below(folder, ...link), 1, 1_400_000_000)
  const holes = openSync(below(folder, 'holes'), 'w')
  writeSync(holes, 'begin', 0)
  writeSync(holes, 'end', 300_000)
  closeSync(holes)
  truncateSync(below(folder, 'holes'), 400_000)
  files++
  utimesSync(below(folder, 'empty'), 1, 1_300_000_000)
  utimesSync(below(folder, 'd'), 1, 1_300_000_001)
  return files
}

/** A line for each thing in a folder: kind, mode, time, size, contents, names of the same file. */
export function linesOf(folder: string): string[] {
  const lines: string[] = []
  const inodes = new Map<number, string>()
  const look = (path: Buffer, shown: string) => {
    const stat = lstatSync(path)
    const { mtimeNs } = lstatSync(path, { bigint: true })
    const time = String(libcFault() === null ? mtimeNs : mtimeNs - (mtimeNs % 1000n))
    const first = stat.isFile() ? (inodes.get(stat.ino) ?? shown) : ''
    inodes.set(stat.ino, first)
    const what = stat.isFile()
      ? `${stat.size} ${createHash('sha1').update(readFileSync(path)).digest('hex')} ${first}`
      : stat.isSymbolicLink()
        ? readlinkSync(path, 'buffer').toString('latin1')
        : ''
    lines.push(JSON.stringify([shown, (stat.mode & 0o170777).toString(8), time, what]))
    if (!stat.isDirectory()) return
    const names = readdirSync(path, 'buffer').sort(Buffer.compare)
    for (const name of names) look(below('', path.subarray(1), name), `${shown}/${name.toString('latin1')}`)
  }
  for (const name of readdirSync(folder, 'buffer').sort(Buffer.compare)) {
    if (name.toString() !== '.weir-delivered') look(below(folder, name), name.toString('latin1'))
  }
  return lines
}
