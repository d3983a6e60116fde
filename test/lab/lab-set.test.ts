/** `weir lab set`: links of a lab that is up fail, change and are as before. */
import t from 'tap'
import type { LabStatus } from '../../switch-emu/lab/lab-status.js'
import { noLabs, Place, SMALL } from './support.js'

const skip = noLabs()

t.test(
  'a link goes down and comes up; status says what is set and what was lost; mistakes are explained',
  { skip },
  async t => {
    const place = new Place(t)
    const events = 'events: [{ at: 0, link: h1--s1, delay: 3ms }]'
    const up = await place.weir([
      'lab',
      'up',
      place.file('small.yaml', `${SMALL}\n${events}\n`),
      '--name',
      'set',
    ])
    t.equal(up.code, 0, up.stderr)
    const set = (...words: string[]) => place.weir(['lab', 'set', 'set', ...words])
    const links = async () => {
      const [lab] = JSON.parse((await place.weir(['lab', 'status', 'set', '--json'])).stdout) as LabStatus[]
      return lab!.links
    }
    t.same(
      (await links()).map(({ set }) => set),
      ['delay=3ms', 'delay=3ms'],
      'the events of the file run in a lab too',
    )
    t.equal((await place.echo('set', 'h1', 'h2')).replies.length, 1)

    t.match((await set('h1--s1', 'down', 'loss=1%')).stdout, /down loss=1% delay=3ms/)
    t.equal((await place.echo('set', 'h1', 'h2')).replies.length, 0, 'nothing passes')
    t.ok((await links()).some(({ name, cut }) => name === 'h1:s1' && cut > 0))
    t.equal((await set('h1--s1', 'reset')).code, 0)
    t.same(
      (await links()).map(({ set }) => set),
      ['', ''],
    )
    t.equal((await place.echo('set', 'h1', 'h2')).replies.length, 1, 'it is as before')

    for (const [words, message] of [
      [['h1--s9', 'down'], /no host or switch is called 's9'.*WEIR_BAD_ARGUMENT/],
      [['h1--s1', 'los=1%'], /no option los.*WEIR_BAD_ARGUMENT/],
      [['h1--s1', 'donw'], /"donw" is no setting of a link.*WEIR_BAD_ARGUMENT/],
      [['h1:s1', 'down'], /both ways: write h1--s1 and not h1:s1.*WEIR_BAD_ARGUMENT/],
      [['h1--s1', 'down', 'up'], /down is set twice, by down and up.*WEIR_BAD_ARGUMENT/],
      [['h1--s1', 'loss=1%', 'loss=2%'], /loss is set twice, by loss=1% and loss=2%.*WEIR_BAD_ARGUMENT/],
    ] as const) {
      const refused = await set(...words)
      t.equal(refused.code, 1)
      t.match(refused.stderr, message)
    }
    t.equal((await place.weir(['lab', 'down', 'set'])).code, 0)
    t.same([place.processes(), place.leftFiles()], [[], []])
  },
)
