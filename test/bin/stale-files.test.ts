import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { removeStale } from '../../bin/stale-files.js'

t.test('the build removes what was compiled of sources that are gone, and nothing else', async t => {
  const root = t.testdir({
    part: { 'a.ts': '', room: { 'b.ts': '' } },
    dist: {
      part: {
        'a.js': '',
        'a.d.ts': '',
        'a.js.map': '',
        'gone.js': '',
        'gone.d.ts': '',
        'gone.js.map': '',
        room: { 'b.js': '', 'c.js': '' },
        'data.json': '',
      },
      bench: { bundled: { 'cc.js': '' } },
      weir: { 'weir.js': '' },
    },
  })
  const removed = removeStale(root, join(root, 'dist'), ['part', 'bench', 'none'])
  t.same(removed.sort(), ['part/gone.d.ts', 'part/gone.js', 'part/gone.js.map', 'part/room/c.js'])
  for (const path of [
    'part/a.js',
    'part/a.d.ts',
    'part/a.js.map',
    'part/room/b.js',
    'part/data.json',
    'bench/bundled/cc.js',
    'weir/weir.js',
  ])
    t.ok(existsSync(join(root, 'dist', path)), path)
})
