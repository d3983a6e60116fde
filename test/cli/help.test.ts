/** What `weir --help` prints, how fast, and how a wrong command line is reported. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, CommanderError } from 'commander'
import t from 'tap'
import { COMMANDS } from '../../bin/commands/names.js'
import { makeProgram } from '../../bin/program.js'
import { weirProgram } from '../../lib/package-file.js'
import { scratch } from '../support/daemon-process.js'
import { repositoryRoot } from '../support/fixtures.js'

const WEIR = weirProgram()
const SUBCOMMANDS = [
  'perf bw',
  'perf lat',
  'lab up',
  'lab down',
  'lab status',
  'lab exec',
  'lab pfc',
  'lab list',
  'cc list',
  'cc show',
  'service print',
]
const COLUMNS = 80

function weir(words: string, env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [WEIR, ...words.split(' ')], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
}

/** What a command line prints that asks for help or cannot be parsed, without a process of its own. */
async function said(words: string, columns = COLUMNS): Promise<{ out: string; error: string }> {
  const args = words.split(' ')
  const program = await makeProgram(args)
  const printed = { out: '', error: '' }
  const capture = (command: Command): void => {
    command.exitOverride().configureOutput({
      getOutHelpWidth: () => columns,
      writeOut: text => {
        printed.out += text
      },
      writeErr: text => {
        printed.error += text
      },
    })
    command.commands.forEach(capture)
  }
  capture(program)
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error
  })
  return printed
}

const help = async (words: string, columns = COLUMNS) => (await said(words, columns)).out

const oneLine = (text: string) => text.replace(/\s+/g, ' ')

t.test('the list of commands is what the commands say of themselves', async t => {
  const list = oneLine(await help('--help'))
  for (const [name, { usage, description }] of Object.entries(COMMANDS)) {
    const stdout = await help(`${name} --help`)
    t.ok(oneLine(stdout).startsWith(`Usage: weir ${name} ${usage} ${description} `), stdout)
    t.match(list, ` ${name} ${usage.replace(/\[options\] ?/, '')}`.trimEnd(), 'how it is used')
    t.match(list, description)
  }
  t.notMatch(list, 'internal', 'what is not for people')
  t.equal(await help('help run'), await help('run --help'))
  t.equal(weir('run --help').stdout, await help('run --help'), 'and so the process says')
})

t.test('no help is wider than a terminal, but for a word that is, as a path', async t => {
  for (const columns of [50, COLUMNS, 140]) {
    for (const command of ['', ...Object.keys(COMMANDS), ...SUBCOMMANDS]) {
      const lines = (await help(`${command} --help`.trim(), columns)).split('\n')
      t.ok(lines.length > 5, command)
      t.same(
        lines.filter(line => line.length > columns && line.trim().includes(' ')),
        [],
        `${command} in ${columns} columns`,
      )
    }
  }
})

t.test('ranges, choices, defaults and what does not go together have one form', async t => {
  const daemon = oneLine(await help('daemon --help'))
  for (const text of [
    '--port <port> UDP port of RoCEv2; packets with telemetry use the next one (1 to 65534, default: 4791)',
    '(auto, batch, dgram, raw, packet; default: auto; environment: WEIR_IO)',
    '(default: the one that has the address; only while --io is packet)',
    '(0 to 7, default: 0; not while --io is dgram)',
    'unit of a transfer; each end holds 8 of them in memory, and more on long paths (4KiB to 1600KiB, default: 1MiB)',
    "rate of this host's link, as in 10Gbps (1Kbps to 1Tbps, default: what the network card reports)",
    '(0 to 2h, default: 268ms)',
    'subscribeDscp=0 to 63, default 25: the DSCP that asks',
    'only while subscribe is dscp',
    'telemetry plain, while everyPackets is 1 and cc is one that takes all telemetry, such as hpcc: every packet collects',
  ]) {
    t.ok(daemon.includes(text), text)
  }
  const run = oneLine(await help('run --help'))
  t.match(run, '(64B to 65535B, default: all; not without --pcap)')
  t.match(run, '(default: that of the scenario; not beside --repeat)')
  t.match(oneLine(await help('dump --help')), /--port <port>.*repeatable\)/)
  for (const name of Object.keys(COMMANDS)) t.notMatch(await help(`${name} --help`), /default: "/, name)
})

/** The options of a command and of its parts; those that helps hide are nobody's. */
function optionsOf({ options, commands }: Command): string[] {
  const own = options.filter(({ hidden }) => !hidden).map(({ long }) => long!)
  return [...own, ...commands.flatMap(optionsOf)]
}

t.test('every option is in the documents', async t => {
  const folder = join(repositoryRoot, 'docs')
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.md'),
  )
  const pages = names.map(name => readFileSync(join(folder, name), 'utf8'))
  const words = new Set(pages.join('\n').match(/--[a-z][a-z-]*/g))
  for (const name of Object.keys(COMMANDS)) {
    const command = (await makeProgram([name])).commands.find(command => command.name() === name)!
    t.same(
      optionsOf(command).filter(option => !words.has(option)),
      [],
      name,
    )
  }
})

t.test('help and version load no command', async t => {
  const folder = await scratch(t)
  // It runs on a thread of its own, whose streams may be lost at the end of the process.
  const hook = `export async function resolve(name, context, next) {
  const found = await next(name, context)
  writeSync(2, found.url + '\\n')
  return found
}
import { writeSync } from 'node:fs'`
  const file = join(folder, 'tell.mjs')
  writeFileSync(
    file,
    `import { register } from 'node:module'\nregister(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)})`,
  )
  const ofCommands = (words: string) => {
    const { stderr, status } = weir(words, { NODE_OPTIONS: `--import ${file}` })
    t.equal(status, 0, stderr)
    // In the bundle a hash follows the name of the module.
    const names = stderr.split('\n').map(url => /\/(\w+)(-[A-Z0-9]{8})?\.js$/.exec(url)?.[1] ?? '')
    return names.filter(name => Object.hasOwn(COMMANDS, name))
  }
  t.same(ofCommands('send --help'), ['send'], 'seen if it is loaded')
  for (const words of ['--help', '--version', 'help']) t.same(ofCommands(words), [], words)
})

t.test('a wrong command line: one line, how to mend it, a code', async t => {
  for (const [words, ...says] of [
    ['rnu', "unknown command 'rnu'", 'did you mean run?', 'see weir --help'],
    ['--hlep', "unknown option '--hlep'", 'did you mean --help?'],
    ['run', "missing required argument 'scenario'", 'see weir run --help'],
    ['run a b', 'too many arguments', 'see weir run --help'],
    ['lab up --nme x a.yaml', "unknown option '--nme'", 'did you mean --name?', 'see weir lab up --help'],
    ['perf wb host', "unknown command 'wb'", 'see weir perf --help'],
  ] as const) {
    const { out, error } = await said(words)
    t.equal(out, '')
    t.match(error, /^weir: [^\n]+ \(WEIR_BAD_ARGUMENT\)\n$/, words)
    for (const text of says) t.ok(error.includes(text), `${text}: ${error}`)
  }
  const { status, stdout, stderr } = weir('lab up --nme x a.yaml')
  t.match(
    { status, stdout, stderr },
    { status: 1, stdout: '', stderr: (await said('lab up --nme x a.yaml')).error },
  )
})
