/**
 * Empty options and arguments, which `--json "$FILE"` makes when FILE is not set, and texts that are no
 * numbers.
 */
import t from 'tap'
import { makeProgram } from '../../bin/program.js'

async function run(...words: string[]): Promise<void> {
  const program = await makeProgram(words)
  await program.parseAsync(words, { from: 'user' })
}

t.test('nothing that is empty is taken for something', async t => {
  const cases: string[][] = [
    ['run', 'dumbbell', '--json', ''],
    ['run', 'dumbbell', '--pcap', ''],
    ['run', '--repeat', ''],
    ['run', ''],
    ['dump', ''],
    ['demo', ''],
    ['send', '', '127.0.0.1'],
    ['get', '127.0.0.1:a', ''],
    ['perf', 'bw', ''],
    ['status', '--socket', ''],
    ['cancel', ''],
    ['cancel', 'send-1', ''],
    ['daemon', '--inbox', ''],
    ['daemon', '--share', ''],
    ['lab', 'up', 'dumbbell', '--pcap', ''],
    ['lab', 'up', 'dumbbell', '--inbox', ''],
    ['lab', 'down', ''],
    ['lab', 'exec', '', 'h1', '--', 'true'],
  ]
  for (const words of cases) {
    await t.rejects(run(...words), { code: 'WEIR_BAD_ARGUMENT', message: / is empty: / }, words.join(' '))
  }
})

t.test('words of another program may be empty', async t => {
  await t.rejects(run('lab', 'exec', 'no-such-lab', 'h1', '--', 'echo', ''), {
    message: /no.such.lab|no lab/,
  })
})

t.test('whole numbers are decimal digits', async t => {
  for (const text of [' ', ' 7', '0x10', '1e2', '1.0', '+7', '-7', 'NaN', 'Infinity', '9007199254740993']) {
    const words = ['run', 'dumbbell', `--seed=${text}`]
    await t.rejects(run(...words), { code: 'WEIR_BAD_ARGUMENT', message: /--seed is a whole number/ }, text)
  }
  for (const text of ['0x1000', '5e3', ' 5000']) {
    await t.rejects(run('daemon', '--port', text), { message: /--port is a whole number/ }, text)
  }
})
