/** `weir demo` as a user runs it. */
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CommandLines } from '../support/command-lines.js'
import { cannotForbid, FORBIDDEN } from '../support/no-namespaces.js'
import { shortFolder, startDemo } from './demos.js'

/** Where veth is not available the demonstration runs without, and says so. */
const withoutVeth = cannotForbid() === false

t.test('both files arrive, the tables say so, the JSON is where it says, nothing is left', async t => {
  const folder = shortFolder(t)
  const { child, left, output } = startDemo(folder, 400_000, withoutVeth ? FORBIDDEN : [])
  const [code] = await once(child, 'close')
  t.equal(code, 0, output())
  if (withoutVeth) {
    t.match(output(), /VXLAN over UDP on loopback\.\nveth does not work here: .*max_user_namespaces/)
  }
  t.match(output(), /h1-h3 .*equal\n/)
  t.match(output(), /h2-h3 .*equal\n/)
  t.match(output(), /s1:s2 +100Mbps/)
  t.match(output(), `JSON: ${join(folder, 'json')}`)
  const result = JSON.parse(readFileSync(join(folder, 'json'), 'utf8'))
  t.match(result, { on: 'overlay', flows: [{ digestEqual: true }, { digestEqual: true }] })
  t.same(left(), { files: [], processes: [] })
})

t.test('a lab that cannot come up says why, at once, and leaves nothing', async t => {
  const folder = join(shortFolder(t), 'x'.repeat(90))
  mkdirSync(folder)
  const { child, left, output } = startDemo(folder, 1000)
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.match(output(), /longer than 103 bytes/)
  t.same(left(), { files: [], processes: [] })
})

t.test('a file that is not there: one line that names it', async t => {
  const { code, stderr } = await new CommandLines(t).run(['demo', '/nowhere/file'])
  t.equal(code, 1)
  t.match(stderr, /^weir: .*\/nowhere\/file.*\(WEIR_NO_FILE\)\n$/)
})
