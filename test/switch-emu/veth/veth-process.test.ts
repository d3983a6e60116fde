import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { noNamespaces } from '../../support/netns.js'
import { VethLab } from '../../support/veth-lab.js'

const skip = noNamespaces()
const YAML = `
name: veth
link: {rate: 1Gbps, delay: 500us}
hosts: [h1, h2, h3]
switches: {s1: {}, s2: {buffer: 8KB}}
links: [h1--s1, h2--s1, s1--s2, {ends: s2--h3, rate: 20Mbps}]
traffic: [{name: flow0, from: h1, to: h3, size: 1MB}]
watch: {queues: [s2:h3], every: 1ms}
`

t.test('an idle switch sleeps, also when an interface has gone down', { skip }, async t => {
  const lab = await VethLab.up(t, YAML)
  const ticks = () => {
    const fields = readFileSync(`/proc/${lab.pid}/stat`, 'utf8').split(' ')
    return Number(fields[13]) + Number(fields[14])
  }
  lab.namespaces.exec(lab.switchNamespace, 'ip', 'link', 'set', 'to-h3', 'down')
  // A core has 200 ticks in this time. 4 wakes a second take none. A slow machine is idle later.
  for (let used = Number.POSITIVE_INFINITY; used >= 40; t.comment(`${used} ticks in 2 s`)) {
    const before = ticks()
    await new Promise(resolve => setTimeout(resolve, 2000))
    used = ticks() - before
  }
  lab.namespaces.exec(lab.switchNamespace, 'ip', 'link', 'set', 'to-h3', 'up')
  t.equal((await lab.echo('h1', 'h3')).replies.length, 1)
  await lab.down()
})

t.test('what cannot be started says why, and leaves a process that answers', { skip }, async t => {
  await t.rejects(start(t, { links: [{ host: 'h1', interface: 'nowhere' }] }), /nowhere/)
  await t.rejects(
    start(t, {
      links: [
        { host: 'h1', interface: 'to-h1' },
        { host: 'h2', interface: 'to-h2' },
      ],
    }),
    /h3 has no link/,
  )
})

async function start(t: Test, wrong: object): Promise<void> {
  const lab = await VethLab.up(t, YAML, { start: wrong })
  await lab.down()
}
