/** Completion, by the shells themselves, and manual pages, by the program that shows them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { completionScript } from '../../bin/commands/completion-scripts.js'
import { daemonCommand } from '../../bin/commands/daemon.js'
import { CONFIG_SCHEMA_FILE, configJsonSchema } from '../../bin/commands/daemon-config.js'
import { COMMANDS } from '../../bin/commands/names.js'
import { shown } from '../../bin/commands/watch.js'
import { manPages } from '../../bin/man-pages.js'
import { wholeProgram } from '../../bin/program.js'
import { repositoryRoot } from '../support/fixtures.js'
import { without } from '../support/tools.js'

const program = await wholeProgram()

/** Words that are typed, the last one in part, and some of what is offered for it. */
const CASES: readonly [typed: string, offered: readonly string[], not?: readonly string[]][] = [
  ['weir ', Object.keys(COMMANDS), ['internal']],
  ['weir tra', ['transfers'], ['stop']],
  ['weir perf ', ['bw', 'lat']],
  ['weir perf bw --dur', ['--duration']],
  ['weir daemon --io ', ['auto', 'batch', 'dgram', 'raw', 'packet'], ['--port']],
  ['weir daemon --no-', ['--no-perf', '--no-worker', '--no-config'], ['--overlay']],
  ['weir send -', ['--overwrite', '--help'], ['--share']],
  ['weir service p', ['print']],
  ['weir completion ', ['bash', 'zsh', 'fish']],
]

t.test('bash offers commands, options and values', { skip: without('bash') }, async t => {
  const script = join(t.testdir(), 'weir.bash')
  writeFileSync(script, completionScript('bash', program))
  for (const [typed, offered, not = []] of CASES) {
    const ask = `source "$0"; COMP_WORDS=(${typed.endsWith(' ') ? `${typed}''` : typed}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _weir; printf '%s\\n' "\${COMPREPLY[@]}"`
    const words = execFileSync('bash', ['--norc', '-c', ask, script], { encoding: 'utf8' }).trim().split('\n')
    for (const word of offered) t.ok(words.includes(word), `${typed}: ${word} of ${words}`)
    for (const word of not) t.notOk(words.includes(word), `${typed}: not ${word}`)
    t.same([...new Set(words)], words, 'each once')
  }
  const paths = `source "$0"; COMP_WORDS=(weir send a); COMP_CWORD=2; _weir; echo "\${#COMPREPLY[@]}"; complete -p weir`
  const [count, how] = execFileSync('bash', ['--norc', '-c', paths, script], { encoding: 'utf8' }).split('\n')
  t.equal(count, '0')
  t.match(how, '-o default', 'the shell offers paths')
})

t.test('zsh offers commands, options and values', { skip: without('zsh') }, async t => {
  const script = join(t.testdir(), '_weir')
  writeFileSync(script, completionScript('zsh', program))
  t.match(spawnSync('zsh', ['-n', script], { encoding: 'utf8' }), { status: 0, stderr: '' })
  // What zsh's own completion system gives a function, and takes of it.
  const zsh = `compdef() {}; _files() { print files }; _hosts() {}; _alternative() { print alternative }
    compadd() { shift; print -l -- "$@" }
    source $1; words=("\${(@s: :)2}"); CURRENT=\${#words}; _weir`
  const offers = (typed: string) => {
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', zsh, 'zsh', script, typed], { encoding: 'utf8' })
    t.equal(stderr, '', typed)
    return stdout.trim().split('\n')
  }
  for (const [typed, offered] of CASES) {
    const words = offers(typed)
    for (const word of offered) t.ok(words.includes(word), `${typed}: ${word} of ${words}`)
  }
  t.same(offers('weir send a'), ['alternative'], 'paths and hosts')
})

t.test('fish offers commands, options and values', { skip: without('fish') }, async t => {
  const folder = t.testdir({ key: '', 'a.csv': '' })
  const script = join(folder, 'weir.fish')
  writeFileSync(script, completionScript('fish', program))
  const offers = (typed: string) =>
    execFileSync('fish', ['-c', `source ${script}; complete -C '${typed}'`], {
      encoding: 'utf8',
      cwd: folder,
    })
      .split('\n')
      .map(line => line.split('\t')[0])
  for (const [typed, offered, not = []] of CASES) {
    const words = offers(typed)
    for (const word of offered) t.ok(words.includes(word), `${typed}: ${word}`)
    for (const word of not) t.notOk(words.includes(word), `${typed}: not ${word}`)
  }
  for (const typed of ['weir send ', 'weir send key ', 'weir send -P 4791 key a'])
    t.ok(offers(typed).includes('a.csv'), `${typed}: files, also behind one that is called like a command`)
  t.notOk(offers('weir send key ').includes('show'))
})

t.test('each command has a manual page, and the package lists them', async t => {
  const pages = manPages(program)
  t.same([...pages.keys()].sort(), ['weir.1', ...Object.keys(COMMANDS).map(name => `weir-${name}.1`)].sort())
  const { man } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { man: string[] }
  t.same(man.map(path => path.replace('dist/man/', '')).sort(), [...pages.keys()].sort())
  for (const [name, text] of pages) {
    t.equal(
      readFileSync(join(repositoryRoot, 'dist', 'man', name), 'utf8'),
      text,
      `${name}: the build wrote it`,
    )
    const command = program.commands.find(each => `weir-${each.name()}.1` === name)
    for (const { long, hidden } of command?.options ?? [])
      t.equal(
        text.includes(`.B ${long!.replaceAll('-', '\\-')}`) ||
          text.includes(`, ${long!.replaceAll('-', '\\-')}`),
        !hidden,
        `${name}: ${long}`,
      )
    t.notMatch(text, process.env.HOME ?? '/root', `${name}: nothing of this machine`)
  }
})

t.test('man finds nothing wrong with them', { skip: without('man') }, async t => {
  const folder = t.testdir()
  for (const [name, text] of manPages(program)) {
    writeFileSync(join(folder, name), text)
    const words = ['--warnings', '-E', 'UTF-8', '-l', '-Tutf8', '-Z', join(folder, name)]
    const { stderr, status } = spawnSync('man', words, {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    })
    t.same({ status, stderr }, { status: 0, stderr: '' }, name)
  }
})

t.test('the schema of the config file is the one that "npm run docs" writes', async t => {
  t.equal(readFileSync(join(repositoryRoot, CONFIG_SCHEMA_FILE), 'utf8'), configJsonSchema(daemonCommand()))
})

t.test('a block that is watched is as high as the terminal at most', async t => {
  const block = Array.from({ length: 50 }, (_, i) => `line ${i}`).join('\n')
  t.same(shown(`${block}\n`, 3), ['line 0', 'line 1', '… 48 more lines'])
  t.equal(shown(block, 200).length, 50)
})
