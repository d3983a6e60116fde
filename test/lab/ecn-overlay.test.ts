/** ECN overlay on veth: the other end of the tunnel is Linux's own vxlan device, in a host of the lab. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { VtepReport } from '../../switch-emu/core/vxlan/vtep.js'
import type { LabStatus } from '../../switch-emu/lab/lab-status.js'
import { noLabs, Place } from './support.js'

/** Why Linux has no such device here, or false. */
function noVxlan(): string | false {
  const device = [
    'ip',
    'link',
    'add',
    'weir0',
    'type',
    'vxlan',
    'id',
    '1',
    'dstport',
    '4789',
    'remote',
    '10.0.0.1',
    'dev',
    'lo',
  ]
  const { status, stderr, error } = spawnSync('unshare', ['--user', '--map-root-user', '--net', ...device], {
    encoding: 'utf8',
  })
  return status === 0 ? false : `ip link add type vxlan: ${stderr || error?.message}`
}

const NETWORK = `
name: linux-end
link: { rate: 200Mbps, delay: 500us }
hosts: [h1, h2]
switches: { leaf1: {}, spine: { ecn: { kmin: 10KB, kmax: 10KB, pmax: 1 } } }
links: [h1--leaf1, leaf1--spine, { ends: spine--h2, rate: 1Mbps }]
vtep:
  vni: 100
  ecn: normal
  ends: { leaf1: {}, h2: { inner: [{ address: 10.9.0.2, mac: '02:00:00:00:00:09' }] } }
`

const DEVICE = [
  'link add vx type vxlan id 100 local 10.0.0.2 remote 10.254.0.1 dstport 4789',
  'link set vx address 02:00:00:00:00:09 mtu 4450 up',
  'address add 10.9.0.2/32 dev vx',
  'route add 10.0.0.1/32 dev vx src 10.9.0.2',
]

const PACKETS = 60
const BURSTS_MOST = 10

/** h1 sends 60 packets at once: 60 KB that wait for the spine's slow link. Returns when they have passed it. */
async function burst(place: Place): Promise<void> {
  const before = await sentBytes(place)
  const program = join(import.meta.dirname, 'ect-burst.js')
  const words = [process.execPath, program, '10.9.0.2', `${PACKETS}`, '1000']
  const { code, stderr } = await place.exec('linux-end', 'h1', words)
  if (code !== 0) throw new Error(stderr)
  // The link takes half a second for them. What a socket without room drops never passes.
  for (let looks = 0; (await sentBytes(place)) < before + PACKETS * 1000; looks++) {
    if (looks === 500)
      throw new Error(`${(await sentBytes(place)) - before} bytes of ${PACKETS * 1000} have passed`)
    await sleep(20)
  }
  // The link is 0.5 ms long.
  await sleep(100)
}

async function portOf(place: Place): Promise<LabStatus['ports'][number]> {
  const [lab] = JSON.parse((await place.weir(['lab', 'status', 'linux-end', '--json'])).stdout) as LabStatus[]
  return lab!.ports.find(({ name }) => name === 'spine:h2')!
}

const sentBytes = async (place: Place) => (await portOf(place)).txBytes
const ecnMarks = async (place: Place) => (await portOf(place)).ecnMarks

/** Packets with CE that h2's IP has received (RFC 3168), outer ones and inner ones. */
async function marksSeen(place: Place): Promise<number> {
  const { stdout } = await place.exec('linux-end', 'h2', ['cat', '/proc/net/netstat'])
  const [names, values] = stdout.split('\n').filter(line => line.startsWith('IpExt:')) as [string, string]
  return Number(values.split(' ')[names.split(' ').indexOf('InCEPkts')])
}

t.test(
  'a host behind a leaf reaches an address behind a vxlan device',
  { skip: noLabs() || noVxlan() },
  async t => {
    const place = new Place(t)
    const up = await place.weir(['lab', 'up', place.file('linux-end.yaml', NETWORK)])
    t.equal(up.code, 0, up.stderr)
    for (const line of DEVICE) {
      const done = await place.exec('linux-end', 'h2', ['ip', ...line.split(' ')])
      t.equal(done.code, 0, done.stderr)
    }
    const replies = (await place.echo('linux-end', 'h1', '10.9.0.2', 3)).replies
    t.equal(replies.length, 3, 'ARP and echoes pass both ways')
    const [lab] = JSON.parse(
      (await place.weir(['lab', 'status', 'linux-end', '--json'])).stdout,
    ) as LabStatus[]
    const port = lab!.ports.find(({ name }) => name === 'leaf1:spine') as { vtep?: VtepReport } | undefined
    t.ok(port!.vtep!.encapsulated >= 3, `${port!.vtep!.encapsulated} went in`)
    t.ok(port!.vtep!.decapsulated >= 3, `${port!.vtep!.decapsulated} came out`)
    t.same(port!.vtep!.dropped, { malformed: 0, unknownVni: 0, unknownVtep: 0, ecn: 0, tooBig: 0 })
    t.match((await place.weir(['lab', 'status', 'linux-end'])).stdout, /into tunnel/)

    // The spine marks outer headers. Linux combines both fields, and counts what comes in: the outer packet, and the inner one.
    const before = await marksSeen(place)
    // A sender that waits for its core between packets makes no queue.
    let [bursts, marks] = [0, 0]
    for (; bursts < BURSTS_MOST && marks <= 10; bursts++) {
      await burst(place)
      marks = await ecnMarks(place)
    }
    t.ok(marks > 10, `${marks} marks of ${bursts * PACKETS} packets`)
    const seen = await marksSeen(place)
    t.equal(seen - before, 2 * marks, 'each mark is in the packet that Linux delivers')

    t.equal((await place.weir(['lab', 'down', 'linux-end'])).code, 0)
  },
)
