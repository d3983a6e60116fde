/** Mistakes on the command line of the swarm. */
import t from 'tap'
import { parseArguments, replayOf } from './arguments.js'

t.test('defaults, values, and the command that replays a seed', async t => {
  t.same(parseArguments([]), { seeds: 1000, from: 1, jobs: 1, help: false })
  t.same(parseArguments(['--seeds', '7', '--from=0', '--jobs', '2']), {
    seeds: 7,
    from: 0,
    jobs: 2,
    help: false,
  })
  t.equal(parseArguments(['-h']).help, true)
  const [, , , , ...words] = replayOf(132_811).split(' ')
  t.match(parseArguments(words), { seeds: 1, from: 132_811 })
})

t.test('what is wrong, and what is right instead', async t => {
  const wrong: [string[], RegExp][] = [
    [['--sedes', '3'], /Unknown option '--sedes'; the options are --seeds, --from, --jobs and --help$/],
    [['3'], /argument '3'.*; the options are/],
    [['--seeds'], /'--seeds <value>' argument missing; the options are/],
    [['--seeds', '0'], /^--seeds is a whole number from 1 to 4294967296, not "0"$/],
    [['--seeds', ''], /--seeds .* not ""$/],
    [['--from', '1e3'], /--from .* not "1e3"$/],
    [['--jobs', '1.5'], /--jobs is a whole number from 1 to 256, not "1\.5"$/],
  ]
  for (const [args, message] of wrong)
    t.throws(() => parseArguments(args), { code: 'WEIR_BAD_ARGUMENT', message }, args.join(' '))
})
