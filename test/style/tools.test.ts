/**
 * Test files may run a program that not every machine has only if they skip without it: `without('tshark')`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

const OPTIONAL = 'bash|curl|dumpcap|ethtool|gdb|iperf3|mkfifo|nc|ping|sysctl|tcpdump|tshark'
/** exec(…, 'ping', …), spawn('ping', …), run(…, ['ping', …]), `ping -c 1`. */
const RUNS = new RegExp(`(?:exec|run|spawn)\\w*\\([^)]*['"\`](?:${OPTIONAL})['"\`]|\`(?:${OPTIONAL}) `)
/** They run `weir ping`, or name tools. */
const OTHERS = ['cli/ping.test.ts', 'interop/command-cases.ts', 'style/tools.test.ts', 'support/tshark.ts']
const SKIPS = /from '.*\/support\/(?:tools|tshark)\.js'/

t.test('what needs a tool skips without it', async t => {
  const folder = join(repositoryRoot, 'test')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(file =>
    file.endsWith('.ts'),
  )
  const found = files.filter(file => {
    const text = readFileSync(join(folder, file), 'utf8')
    return RUNS.test(text) && !SKIPS.test(text)
  })
  t.same(
    found.filter(file => !OTHERS.includes(file)),
    [],
  )
})
