/**
 * Files and limits of this machine that could keep a command busy, or end it with a stack trace. Each is one
 * run.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { problemsOf } from '../scenario/problems-at.js'
import { scratch } from '../support/daemon-process.js'
import { repositoryRoot } from '../support/fixtures.js'
import { without } from '../support/tools.js'

t.test('two million hosts are refused at the first that is too many', async t => {
  const ranges = Array.from({ length: 490 }, (_, i) => `a${i}x0..a${i}x4095`).join(', ')
  const text = `hosts: [${ranges}]\nswitches: [s]\nlinks: [a0x0--s]\ntraffic: [{from: a0x0, to: a0x1, size: 1MB}]\n`
  const problems = problemsOf(text)
  t.match(problems[0], /more than 4096 hosts and switches/)
  t.equal(problems.filter(line => /more than 4096/.test(line)).length, 2, 'the hosts, and the switch')
})

t.test('samples each nanosecond are refused', async t => {
  const network = 'hosts: [a, b]\nswitches: [s]\nlinks: [a--s, b--s]\n'
  const traffic = 'traffic: [{from: a, to: b, size: 10MB}]\n'
  t.match(problemsOf(`${network}watch: {queues: all, every: 1ns}\n${traffic}`), [/at least 100ns, not 1ns/])
  t.same(problemsOf(`${network}watch: {queues: all, every: 100ns}\n${traffic}`), [])
})

t.test(
  'a daemon with too few open files says so, and which limit to raise',
  { skip: without('sh') },
  async t => {
    const weir = join(repositoryRoot, 'dist/bin/weir.js')
    // A folder of tap's has a name too long for a socket, but in the shortest of clones.
    const folder = await scratch(t)
    const command = `ulimit -n 60; exec "$0" "$1" daemon --socket "$2/s" --inbox "$2/in" --port 47990`
    const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath, weir, folder], {
      encoding: 'utf8',
      timeout: 30_000,
    })
    t.notMatch(stderr, /\n {4}at /, 'no stack')
    // The number of files that Node.js opens while it loads depends on the machine.
    if (status === null) t.comment('60 files are enough here')
    else t.match(stderr, /too many open files: raise the limit of this process \(ulimit -n\)/)
  },
)
