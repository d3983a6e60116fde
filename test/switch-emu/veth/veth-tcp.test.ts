import t from 'tap'
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

/**
 * Bytes from one host to another over TCP, by programs that know nothing of the lab. Returns true if they are
 * the same.
 */
async function copyByTcp(lab: VethLab, from: string, to: string, bytes: number): Promise<void> {
  const server = `
    const digest = require('node:crypto').createHash('sha256')
    require('node:net').createServer({ allowHalfOpen: true }, socket => {
      socket.on('data', data => digest.update(data))
      socket.on('end', () => { socket.end(digest.digest('hex')); setTimeout(() => process.exit(), 100) })
    }).listen(7000)`
  const client = `
    const crypto = require('node:crypto')
    const data = crypto.randomBytes(${bytes})
    const socket = require('node:net').connect({ port: 7000, host: '${lab.address(to)}' })
    const retry = () => setTimeout(() => socket.connect({ port: 7000, host: '${lab.address(to)}' }), 50)
    socket.on('error', error => { if (error.code === 'ECONNREFUSED') retry(); else throw error })
    socket.on('connect', () => socket.end(data))
    let answer = ''
    socket.on('data', text => { answer += text })
    socket.on('end', () => process.exit(answer === crypto.createHash('sha256').update(data).digest('hex') ? 0 : 1))`
  const serving = lab.run(to, process.execPath, '-e', server)
  await lab.run(from, process.execPath, '-e', client)
  await serving
}

async function reportOf(lab: VethLab) {
  return (await lab.ask({ type: 'report' }, 'report')).report
}

t.test('TCP fills a small buffer, loses, and still brings every byte', { skip }, async t => {
  const lab = await VethLab.up(t, YAML)
  await lab.ask({ type: 'begin' }, 'begun')
  await copyByTcp(lab, 'h1', 'h3', 3_000_000)
  const report = await reportOf(lab)
  const port = report.ports.find(({ name }) => name === 's2:h3')!
  t.ok(port.txBytes > 3_000_000)
  t.ok(port.drops > 0, 'the buffer of 8 KB overflowed')
  t.ok(port.maxQueueBytes <= 8_000)
  t.equal(report.lostFrames, 0)
  await lab.ask({ type: 'begin' }, 'begun')
  const after = await lab.ask({ type: 'ports' }, 'ports')
  t.equal(after.ports.find(({ name }) => name === 's2:h3')!.drops, 0, 'a new window')
  t.equal(after.queueBytes.length, after.ports.length)
  await lab.down()
})

t.test('TCP with jumbo frames, and by a switch that never sleeps', { skip }, async t => {
  const lab = await VethLab.up(t, YAML.replace('8KB', '4MB'), { mtu: 9000, start: { busyPoll: true } })
  await copyByTcp(lab, 'h1', 'h3', 600_000)
  await copyByTcp(lab, 'h3', 'h2', 300_000)
  const report = await reportOf(lab)
  t.equal(
    report.ports.reduce((sum, { drops }) => sum + drops, 0),
    0,
  )
  t.equal(report.lostFrames, 0)
  await lab.down()
})
