/** What `weir --help` says, how soon, and how a wrong command line is told. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { COMMANDS } from '../../bin/commands/names.js'
import { scratch } from '../support/daemon-process.js'

const WEIR = fileURLToPath(new URL('../../bin/weir.js', import.meta.url))
const SUBCOMMANDS = ['perf bw', 'perf lat', 'lab up', 'lab down', 'lab status', 'lab exec', 'lab list']
const COLUMNS = 80

function weir(words: string, env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [WEIR, ...words.split(' ')], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
}

/** A process each takes its time. */
const told = new Map<string, string>()
function help(words: string): string {
  if (!told.has(words)) told.set(words, weir(words).stdout)
  return told.get(words)!
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ')

t.test('the list of commands is what the commands say of themselves', async t => {
  const list = oneLine(help('--help'))
  for (const [name, { usage, description }] of Object.entries(COMMANDS)) {
    const stdout = help(`${name} --help`)
    t.ok(oneLine(stdout).startsWith(`Usage: weir ${name} ${usage} ${description} `), stdout)
    t.match(list, ` ${name} ${usage.replace(/\[options\] ?/, '')}`.trimEnd(), 'how it is used')
    t.match(list, description)
  }
  t.notMatch(list, 'internal', 'what is not for people')
  t.equal(help('help run'), help('run --help'))
})

t.test('no help is wider than a terminal', async t => {
  for (const command of ['', ...Object.keys(COMMANDS), ...SUBCOMMANDS]) {
    const lines = help(`${command} --help`.trim()).split('\n')
    t.ok(lines.length > 5, command)
    t.same(
      lines.filter(line => line.length > COLUMNS),
      [],
      command,
    )
  }
})

t.test('help and version load no command', async t => {
  const folder = await scratch(t)
  const hook = `export async function resolve(name, context, next) {
  const found = await next(name, context)
  process.stderr.write(found.url + '\\n')
  return found
}`
  const file = join(folder, 'tell.mjs')
  writeFileSync(
    file,
    `import { register } from 'node:module'\nregister(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)})`,
  )
  const ofCommands = (words: string) => {
    const { stderr, status } = weir(words, { NODE_OPTIONS: `--import ${file}` })
    t.equal(status, 0, stderr)
    return stderr.split('\n').filter(url => url.includes('/bin/commands/'))
  }
  t.ok(
    ofCommands('send --help').some(url => url.endsWith('/commands/send.js')),
    'seen if it is loaded',
  )
  for (const words of ['--help', '--version', 'help']) {
    const loaded = ofCommands(words)
    t.equal(loaded.length, 1, words)
    t.match(loaded[0], /\/bin\/commands\/names\.js$/)
  }
})

t.test('a wrong command line: one line, how to mend it, a code', async t => {
  for (const [words, ...says] of [
    ['rnu', "unknown command 'rnu'", 'did you mean run?', 'see weir --help'],
    ['--hlep', "unknown option '--hlep'", 'did you mean --help?'],
    ['run', "missing required argument 'scenario'", 'see weir run --help'],
    ['run a b', 'too many arguments', 'see weir run --help'],
    ['run --on nowhere a.yaml', "'nowhere' is invalid", 'virtual, overlay, veth'],
    ['lab up --nme x a.yaml', "unknown option '--nme'", 'did you mean --name?', 'see weir lab up --help'],
    ['perf wb host', "unknown command 'wb'", 'see weir perf --help'],
  ] as const) {
    const { status, stdout, stderr } = weir(words)
    t.equal(status, 1, words)
    t.equal(stdout, '')
    t.match(stderr, /^weir: [^\n]+ \(WEIR_BAD_ARGUMENT\)\n$/, words)
    for (const text of says) t.ok(stderr.includes(text), `${text}: ${stderr}`)
  }
})
