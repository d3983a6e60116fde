/** The page of `weir run --report`: what it draws and lists, and that nothing of a scenario becomes markup. */
import t from 'tap'
import { htmlReport } from '../../lib/scenario/html/html-report.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { resultJson } from '../../lib/scenario/result/write-result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { flowResult, portResult, runResult } from './synthetic-result.js'

const FOLLOW = `
name: follow
link: { rate: 100Gbps, delay: 5us }
hosts: [h1, h2, r]
switches:
  s1: { ecn: { kmin: 50KB, kmax: 50KB, pmax: 1 }, aiEcn: {}, pfc: { xoff: 100KB } }
links: [h1..h2--s1, s1--r]
cc: dctcp
transport: { pathMtu: 4096 }
events: [{ at: 1ms, link: h1--s1, loss: 0.1%, for: 100us }]
traffic: [{ name: elephant, incast: [h1, h2], to: r, size: 10MB }]
watch: { queues: [s1:r], every: 20us }
`

t.test('thresholds, pauses and decisions of AI ECN are drawn, and why each changed is listed', async t => {
  const result = new VirtualRun(parseScenario(FOLLOW, 'follow.yaml')).run()
  const { aiEcn } = result.ports.find(({ name }) => name === 's1:r') as unknown as {
    aiEcn: { decisions: { atNs: number }[] }
  }
  t.ok(aiEcn.decisions.length > 0)
  for (const kind of ['kmin', 'kmax', 'pmax', 'pauses']) t.ok(result.series[`${kind}/s1:r.3`], kind)
  const page = htmlReport(result)
  for (const title of [
    'thresholds of marking',
    's1:r, priority 3: Pmax',
    'PFC pauses sent',
    's1:r: rate',
    'Goodput',
  ])
    t.match(page, title)
  t.equal(page.match(/<line class="mark /g)!.length, 2 * aiEcn.decisions.length, 'in two graphs')
  t.match(page, '<line class="event"')
  t.match(page, '<span class="event"><i></i><span>event</span></span>')
  t.match(page, 'AI ECN: why thresholds changed')
  t.equal(page.match(/<td>s1:r\.3<\/td>/g)!.length, aiEcn.decisions.length)
  t.match(page, /<td>the traffic is another one<\/td><td>elephants<\/td><td>50KB → /)
  t.notMatch(page, /NaN|undefined|Infinity/)
})

t.test('a thousand events are a band of marks that hides nothing, and all are listed', async t => {
  const timesNs = Array.from({ length: 500 }, (_, i) => i * 2000)
  const queue = { unit: 'bytes' as const, timesNs, values: timesNs.map((_, i) => i) }
  const timeline = Array.from({ length: 1000 }, (_, i) => ({ atNs: i * 1000, event: `event ${i}` }))
  const page = htmlReport(
    runResult({ ports: [portResult('s1:h1')], timeline, series: { 'queue/s1:h1': queue } }),
  )
  const marks = page.match(/<line class="event band" .*<\/line>/g)!
  t.ok(marks.length > 100 && marks.length <= 500, `${marks.length} marks`)
  t.ok(marks.every(mark => mark.includes('y1="0" y2="10"')))
  t.match(marks[0], '<title>event 0 and 1 more</title>')
  t.notMatch(page, '<line class="event"')
  t.match(page, 'The first 1000: a result has no more.')
  t.equal(page.match(/<td>event \d+<\/td>/g)!.length, 1000)
  const few = htmlReport(
    runResult({
      ports: [portResult('s1:h1')],
      timeline: timeline.slice(0, 40),
      series: { 'queue/s1:h1': queue },
    }),
  )
  t.equal(few.match(/<line class="event" .* y1="0" y2="200">/g)!.length, 40)
})

t.test('it loads nothing, runs nothing, and no name becomes markup', async t => {
  const flow = flowResult('<script>alert(1)</script>', { failed: '"&' })
  const page = htmlReport(runResult({ flows: [flow], command: ['run', '<b>'] }))
  t.notMatch(page, /<script|<b>alert|https?:|<link|src=/)
  t.match(page, '&lt;script&gt;alert(1)&lt;/script&gt;')
  t.match(page, '<pre>&lt;script&gt;alert(1)&lt;/script&gt;: &quot;&amp;</pre>', 'why it failed')
  t.match(page, 'Nothing was sampled')
})

t.test('many series', async t => {
  const one = { unit: 'bytes' as const, timesNs: [5, 10], values: [0, 1] }
  const series = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`acked/flow${i}`, one]))
  const flows = Array.from({ length: 1000 }, (_, i) => flowResult(`flow${i}`))
  const page = htmlReport(runResult({ flows, series }))
  t.match(page, 'Goodput of 8 of 1000 flows')
  t.match(page, '<span>5ns</span>')
  t.match(page, /500 more/)
})

t.test('runs without flows, and with hosts of iNOF', async t => {
  t.match(htmlReport(runResult({ flows: [], ports: [] })), 'flows finished')
  const text =
    'name: known\nhosts: [h1, h2]\nswitches: [s1]\nlinks: [h1..h2--s1]\ninof: {}\ntraffic: [{ from: h1, to: h2, size: 10KB }]\n'
  const result = new VirtualRun(parseScenario(text, 'known.yaml')).run()
  const page = htmlReport(result)
  t.match(page, '<h2>iNOF</h2>')
  t.match(page, 'iNOF: 2 hosts up')
  t.match(page, /<td>h1 arrived<\/td>/)
  t.same(JSON.parse(resultJson(result)).inof, result.inof, 'the JSON has what the report shows')
})
