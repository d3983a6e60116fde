/** Which paths globs choose. */
import t from 'tap'
import { pathFilter } from '../../lib/transfer/file/path-filter.js'

const PATHS = [
  'a.tmp',
  'b.txt',
  '.hidden',
  'd/',
  'd/a.tmp',
  'd/b.txt',
  'd/e/',
  'd/e/keep.tmp',
  'cache/',
  'cache/x',
  '\udce9.txt',
]

/** As a walk asks: nothing in a folder that is left out. */
function chosen(exclude: string[], include: string[] = []): string[] {
  const admits = pathFilter(exclude, include)
  const left: string[] = []
  return PATHS.filter(path => {
    const isFolder = path.endsWith('/')
    if (left.some(folder => path.startsWith(folder))) return false
    if (admits(isFolder ? path.slice(0, -1) : path, isFolder)) return true
    if (isFolder) left.push(path)
    return false
  })
}

const without = (...names: string[]) => PATHS.filter(path => !names.includes(path))

t.test('globs', async t => {
  t.same(chosen([]), PATHS)
  t.same(chosen(['*.tmp']), without('a.tmp', 'd/a.tmp', 'd/e/keep.tmp'))
  t.same(chosen(['*.tmp'], ['keep.tmp']), without('a.tmp', 'd/a.tmp'))
  t.same(chosen(['d/*.tmp']), without('d/a.tmp'))
  t.same(chosen(['/a.tmp']), without('a.tmp'))
  t.same(chosen(['**/*.tmp']), without('a.tmp', 'd/a.tmp', 'd/e/keep.tmp'))
  t.same(chosen(['cache/']), without('cache/', 'cache/x'))
  t.same(chosen(['x/']), PATHS, 'a file is no folder')
  t.same(chosen(['.*']), without('.hidden'))
  t.same(chosen(['*']), [])
  t.same(chosen([], ['*.txt']), ['b.txt', 'd/', 'd/b.txt', 'd/e/', 'cache/', '\udce9.txt'])
  t.same(chosen([], ['cache/']), ['d/', 'd/e/', 'cache/', 'cache/x'])
})

t.test('globs that cannot be', async t => {
  for (const glob of ['', '/', 'x'.repeat(1001)])
    t.throws(() => pathFilter([glob], []), { code: 'WEIR_BAD_ARGUMENT' })
  t.throws(() => pathFilter(Array(101).fill('a'), []), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('a glob that no path can match is refused', async t => {
  for (const glob of ['', '/', '.', '../x', 'a//x', 'a/../x', 'a/./x']) {
    t.throws(() => pathFilter([glob], []), { code: 'WEIR_BAD_ARGUMENT' }, glob)
  }
  t.same(chosen(['./a.tmp', './d/b.txt']), without('a.tmp', 'd/b.txt'))
})
