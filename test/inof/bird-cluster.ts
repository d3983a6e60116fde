/**
 * A program for a network namespace of its own: two BIRDs are the reflectors of one cluster, four switches of five hosts each are
 * clients by TCP. It kills one BIRD, and prints what it saw as JSON.
 *
 *     node bird-cluster.js FOLDER
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { HostAgent } from '../../lib/inof/host-agent.js'
import { SwitchAgent } from '../../lib/inof/switch-agent.js'
import { TcpSpeaker } from '../../lib/inof/tcp-speaker.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { formatIpv4 } from '../../lib/wire/net/address.js'
import { InofEvent, type InofNotice } from '../../lib/wire/weir/inof-tlv.js'
import { md5Unsupported } from './md5.js'

const AS = 65_000
const SWITCHES = 4
const HOSTS_A_SWITCH = 5
const REFLECTORS = ['10.255.255.1', '10.255.255.2']
const LIMIT_MS = 20_000
const PASSWORD = 'weir and dam'
/** Sessions are signed where the system can do it. */
const HAS_MD5 = md5Unsupported() === false
/** Zone 7 has the first two hosts: BIRD itself says so, by a static route of 198.18.0.0 + 7 x 128. */
const ZONE_ROUTE = '198.18.3.128/32'

const folder = process.argv[2]!
const hostAddress = (host: number) => 0x0a00_0001 + host
const switchAddress = (id: number) => formatIpv4(0x0aff_0001 + id)
const now = (): Nanos => Math.floor(performance.now() * 1e6)

interface Heard {
  atNs: Nanos
  host: number
  notice: InofNotice
}

const heard: Heard[] = []
const hosts: HostAgent[] = []

function birdConfig(address: string): string {
  const clients = Array.from(
    { length: SWITCHES },
    (_, id) => `protocol bgp c${id} from inof_switch { neighbor ${switchAddress(id)} as ${AS}; }`,
  )
  return `
log stderr { warning, error, fatal, bug, auth };
router id ${address};
protocol device {}
protocol direct { ipv4; interface "inof0"; }
protocol static zones {
  ipv4;
  route ${ZONE_ROUTE} blackhole {
    bgp_large_community.add((${AS}, 16, ${hostAddress(0)}));
    bgp_large_community.add((${AS}, 16, ${hostAddress(1)}));
  };
}
template bgp inof_switch {
  local ${address} as ${AS};
  strict bind on;
  passive on;
  hold time 30;
  multihop 2;
  ttl security on;
  ${HAS_MD5 ? `password "${PASSWORD}";` : ''}
  rr client;
  rr cluster id 10.255.255.0;
  graceful restart on;
  ipv4 { import all; export where source ~ [RTS_BGP, RTS_STATIC]; };
}
${clients.join('\n')}
`
}

async function until(what: string, holds: () => boolean): Promise<number> {
  const began = performance.now()
  while (!holds()) {
    if (performance.now() - began > LIMIT_MS) throw new Error(`waited ${LIMIT_MS} ms for: ${what}`)
    await sleep(1)
  }
  return performance.now() - began
}

/** A switch with its hosts, whose frames take no time. */
async function startSwitch(id: number): Promise<TcpSpeaker> {
  const address = switchAddress(id)
  const identifier = 0x0aff_0001 + id
  let speaker: TcpSpeaker | null = null
  const agent: SwitchAgent = new SwitchAgent(
    now(),
    {
      id,
      as: AS,
      address: identifier,
      ports: HOSTS_A_SWITCH,
      epoch: 1000 * id + 1,
      autoJoin: true,
      hasReflectors: true,
    },
    {
      announce: (_at, prefix, given) =>
        queueMicrotask(() => speaker!.do((at, one) => one.announce(at, prefix, given))),
      withdraw: (_at, prefix) => queueMicrotask(() => speaker!.do((at, one) => one.withdraw(at, prefix))),
      sendNotices: (_at, port, header, notices) => {
        const copy = [...notices]
        queueMicrotask(() => hosts[id * HOSTS_A_SWITCH + port]?.onNotices(now(), header, copy))
      },
    },
  )
  for (let port = 0; port < HOSTS_A_SWITCH; port++) {
    const host = id * HOSTS_A_SWITCH + port
    hosts[host] = new HostAgent(
      now(),
      { address: hostAddress(host), kind: 0, epoch: host + 1 },
      {
        sendPresence: (_at, presence, ttl) =>
          queueMicrotask(() => agent.onPresence(now(), port, presence, ttl)),
        peerChanged: (atNs, notice) => heard.push({ atNs, host, notice }),
      },
    )
  }
  speaker = await TcpSpeaker.start({
    address,
    listens: false,
    protection: { ttlSecurity: true, ...(HAS_MD5 && { password: PASSWORD }) },
    speaker: {
      as: AS,
      identifier,
      neighbours: REFLECTORS.map(one => ({ address: one })),
      random: Math.random,
      // A busy machine is no dead peer.
      holdSeconds: 30,
    },
    routeChanged: (at, prefix, attributes) => agent.onRoute(at, prefix, attributes),
    synchronised: at => agent.onSynchronised(at),
  })
  setInterval(() => agent.nextTimeout() <= now() && agent.onTimeout(now()), 1)
  return speaker
}

function ip(...args: string[]): void {
  execFileSync('ip', args)
}

async function run(): Promise<Record<string, unknown>> {
  ip('link', 'set', 'lo', 'up')
  ip('link', 'add', 'inof0', 'type', 'veth', 'peer', 'name', 'inof1')
  for (const address of [...REFLECTORS, ...Array.from({ length: SWITCHES }, (_, id) => switchAddress(id))])
    ip('addr', 'add', `${address}/16`, 'dev', 'inof0')
  for (const device of ['inof0', 'inof1']) ip('link', 'set', device, 'up')
  const startBird = (i: number, ...more: string[]): ChildProcess => {
    const config = join(folder, `bird${i}.conf`)
    writeFileSync(config, birdConfig(REFLECTORS[i]!))
    const args = ['-f', '-c', config, '-s', join(folder, `bird${i}.ctl`), '-P', join(folder, `bird${i}.pid`)]
    return spawn('bird', [...args, ...more], { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const birds: ChildProcess[] = REFLECTORS.map((_, i) => startBird(i))
  process.on('exit', () => {
    for (const bird of birds) bird.kill('SIGKILL')
  })
  const speakers: TcpSpeaker[] = []
  for (let id = 0; id < SWITCHES; id++) speakers.push(await startSwitch(id))
  const isUp = () => speakers.every(one => one.speaker.status().every(({ state }) => state === 'established'))
  const establishedMs = await until('sessions', isUp)
  const last = hosts.length - 1
  const announcing = setInterval(() => {
    for (const host of hosts.slice(0, last)) if (host.nextTimeout() <= now()) host.onTimeout(now())
  }, 1)
  const others = hosts.slice(2, last)
  await until('members', () => others.every(host => host.peers().length === others.length - 1))
  await until('zone 7', () => hosts[0]!.peers().length === 1 && hosts[1]!.peers().length === 1)
  const heardOf = (event: InofEvent) => () =>
    heard.filter(({ notice }) => notice.event === event && notice.address === hostAddress(last)).length >=
    others.length
  const lastMs = (sinceNs: Nanos) => (Math.max(...heard.map(({ atNs }) => atNs)) - sinceNs) / 1e6
  heard.length = 0
  const arrivedNs = now()
  hosts[last]!.announce(arrivedNs)
  await until('the arrival', heardOf(InofEvent.ARRIVED))
  const arrivalMs = lastMs(arrivedNs)
  await until('the list of the newcomer', () => hosts[last]!.peers().length === others.length)
  heard.length = 0
  birds[0]!.kill('SIGKILL')
  await until('the end of a session', () =>
    speakers.every(one => one.speaker.status()[0]!.state !== 'established'),
  )
  const keepAlive = setInterval(() => hosts[last]!.announce(now()), 300)
  await sleep(5000)
  const lost = heard.length
  const stale = speakers[0]!.speaker.status()[0]!.stale
  const known = others.every(host => host.peers().length === others.length)
  clearInterval(keepAlive)
  const leftNs = now()
  hosts[last]!.leave(leftNs)
  await until('the departure', heardOf(InofEvent.DEPARTED))
  const departureMs = lastMs(leftNs)
  heard.length = 0
  // Graceful restart: what its neighbours kept is refreshed, and what is gone meanwhile goes.
  birds[0] = startBird(0, '-R')
  const isBack = () =>
    speakers.every(({ speaker }) => {
      const [first, second] = speaker.status()
      return first!.state === 'established' && first!.stale === 0 && first!.routes === second!.routes
    })
  const restartMs = await until('the restarted reflector', isBack)
  const restart = { ms: restartMs, heard: heard.length, hosts: others.map(host => host.peers().length) }
  clearInterval(announcing)
  const status = speakers[0]!.speaker.status()
  return {
    establishedMs,
    arrivalMs,
    departureMs,
    lost,
    stale,
    known,
    zone: hosts[0]!.peers(),
    status,
    signed: HAS_MD5,
    restart,
  }
}

run().then(
  result => {
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
  },
  error => {
    process.stderr.write(`${error}\n`, () => process.exit(1))
  },
)
