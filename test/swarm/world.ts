/**
 * One seed of the swarm: whole hosts, switches and links in virtual time, with real payloads and ICRCs. Whatever happens to them:
 *
 * - each message and each word of memory is exact;
 * - each work request completes once and in order, also when the connection ends early;
 * - a connection ends in error only where a host has restarted or an end has left;
 * - windows, rates and bytes in flight stay within their bounds;
 * - each frame that was sent has been received, or was dropped where a counter says so, and the pool has all of them back.
 */
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import type { Connection } from '../../lib/nic/types.js'
import { Agenda } from '../../lib/sim/agenda.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos, SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/address.js'
import { Graph, type LinkEnd } from '../../switch-emu/core/graph.js'
import { installRoutes } from '../../switch-emu/core/routes.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { End } from './end.js'
import { type ConnectionPlan, type Interruption, MESSAGE_MAX, planOf, type SwarmPlan } from './plan.js'
import { SwarmFaults } from './swarm-faults.js'
import { type Life, SwarmHost } from './swarm-host.js'

const PORT = 7000
/** Faults found in one run: later ones follow from the first. */
const FINDINGS_MAX = 8
/** A connection that an end tries again after it was lost, at most. */
const ATTEMPTS_MAX = 3
/** All work is done by then. Retries of the connection manager take 16 times 8 s. */
const WORK_MAX_NS = 400 * SECOND
/** All connections have ended so long after their ends left. */
const ENDING_MAX_NS = 400 * SECOND
/** More events mean that something goes round in circles. */
const EVENTS_MAX = 3_000_000
/** Events between two looks at the windows. */
const LOOK_EVERY = 50
/** READs of one plan, all of the longest. */
const RESPONSES_BYTES_MAX = 16 * MESSAGE_MAX
/** Rates are products of floating-point numbers. */
const RATE_SLACK = 1.001
/** An application whose peer has gone gives up after this. */
const GIVE_UP_NS = 2 * SECOND

/** What became of a seed. */
export interface Outcome {
  seed: number
  /** What went wrong, empty: nothing. */
  findings: readonly string[]
  /** What the run reached. */
  reached: Reached
}

export interface Reached {
  events: number
  completed: number
  retransmittedBytes: number
  faults: number
  switchDrops: number
  restarts: number
  /** Connections that ended in error. */
  broken: number
}

/** Runs one seed; whatever it throws is a finding as well. */
export function runSeed(seed: number): Outcome {
  const world = new World(planOf(seed))
  try {
    world.run()
  } catch (error) {
    world.fail(error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  return { seed, findings: world.findings, reached: world.reached() }
}

class World {
  readonly findings: string[] = []
  readonly #plan: SwarmPlan
  readonly #pool: FramePool
  readonly #network: Network
  readonly #random: Random
  readonly #addresses: readonly HostAddress[]
  readonly #hosts: SwarmHost[] = []
  readonly #hostIds: number[] = []
  readonly #lives: Life[] = []
  readonly #switches: Switch[] = []
  readonly #faults: SwarmFaults[] = []
  /** NICs of before a restart: nobody hears them, and their connections have to end too. */
  readonly #ghosts: { id: number; host: SwarmHost }[] = []
  readonly #ends: End[] = []
  readonly #restarted = new Set<number>()
  /** Connecting ends by the number that their peer is told. */
  readonly #clients: { end: End; plan: ConnectionPlan }[] = []
  readonly #agenda = new Agenda()
  readonly #agendaId: number
  #unfinished: number

  constructor(plan: SwarmPlan) {
    this.#plan = plan
    this.#random = new Random(plan.seed).fork('world')
    this.#pool = new FramePool(plan.frames)
    this.#network = new Network({ pool: this.#pool })
    this.#addresses = plan.hosts.map((_, i) =>
      HostAddress.parse(plan.ipv6 ? `fd00::${i + 1}` : `10.0.0.${i + 1}`),
    )
    this.#unfinished = plan.connections.length
    this.#agendaId = this.#network.addNode(this.#agenda)
    this.#build()
    this.#schedule()
  }

  fail(what: string): void {
    if (this.findings.length < FINDINGS_MAX) {
      this.findings.push(`at ${this.#network.now / MILLISECOND} ms: ${what}`)
    }
  }

  run(): void {
    this.#runWhile(() => this.#unfinished > 0, WORK_MAX_NS)
    // What follows from a fault is no news.
    if (this.findings.length > 0) return
    if (this.#unfinished > 0) this.fail(`${this.#unfinished} connections have not finished`)
    const { now } = this.#network
    // What is left is what a restart has left behind.
    for (const end of this.#ends) this.#leave(now, end)
    const isOpen = (end: End) => end.closed === 0 && end.connection !== null
    this.#runWhile(() => this.#ends.some(isOpen), now + ENDING_MAX_NS)
    for (const end of this.#ends.filter(isOpen)) this.fail(`${end.name} has not ended`)
    if (this.findings.length > 0) return
    this.#network.runUntil(this.#network.now + SECOND)
    this.#checkBalance()
  }

  reached(): Reached {
    const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0)
    return {
      events: this.#network.events,
      completed: sum(this.#ends.map(end => end.succeeded)),
      retransmittedBytes: sum(this.#ends.map(end => end.connection?.stats.retransmittedBytes ?? 0)),
      faults: sum(this.#faults.map(f => f.lost + f.taken + f.corrupted + f.duplicated + f.reordered)),
      switchDrops: this.#switchTotals().drops,
      restarts: this.#ghosts.length,
      broken: this.#ends.filter(end => end.error !== null).length,
    }
  }

  // ---- Building

  #build(): void {
    const { switches, hosts, links } = this.#plan
    const ports = new Map<string, number>(
      [...switches, ...hosts.map(({ name }) => name)].map(name => [name, 0]),
    )
    const ended = links.map(({ a, b }) => ({ a: nextPort(ports, a), b: nextPort(ports, b) }))
    for (const [i, name] of switches.entries())
      this.#switches.push(this.#makeSwitch(i, name, ports.get(name)!))
    const ids = new Map(this.#switches.map(sw => [sw.name, this.#network.addNode(sw)]))
    for (const [i, { name }] of hosts.entries()) {
      const host = new SwarmHost(this.#makeLife(i), this.#pool)
      this.#hosts.push(host)
      this.#hostIds.push(this.#network.addNode(host))
      ids.set(name, this.#hostIds[i]!)
    }
    for (const [i, link] of links.entries()) {
      const { a, b } = ended[i]!
      const made = ['ab', 'ba'].map(way => {
        const random = this.#random.fork(`faults ${i} ${way}`)
        return new SwarmFaults(link, () => random.next())
      })
      this.#faults.push(...made)
      const faults = { ab: made[0]!, ba: made[1]! }
      this.#network.connect(ids.get(a.node)!, a.port, ids.get(b.node)!, b.port, link.delayNs, faults)
    }
    const graph = new Graph({ switches, hosts: hosts.map(({ name }) => name), links: ended })
    const located = hosts.map(({ name }, i) => ({ name, address: this.#addresses[i]! }))
    installRoutes(graph, located, new Map(this.#switches.map(sw => [sw.name, sw.routes])), {
      seed: this.#plan.seed,
    })
  }

  #makeSwitch(id: number, name: string, ports: number): Switch {
    const random = this.#random.fork(name)
    const { rateBps, bufferBytes, directResponses } = this.#plan
    return new Switch({
      id: id + 1,
      name,
      ports: Array.from({ length: ports }, () => ({ rateBps })),
      bufferBytes,
      pool: this.#pool,
      random: () => random.next(),
      ...(directResponses && { directResponses: { thresholdBytes: 5000, subscribedDscp: 25 } }),
    })
  }

  #makeLife(index: number): Life {
    const life = { nic: this.#makeNic(index), handed: 0, sent: 0 }
    this.#lives.push(life)
    return life
  }

  #makeNic(index: number): Nic {
    const { name, psnNearWrap, ...options } = this.#plan.hosts[index]!
    const { secret, rateBps, ackTimeoutNs } = this.#plan
    const random = this.#random.fork(`${name} ${this.#lives.length}`)
    // Words whose low 24 bits lie just under the wrap: so do the PSNs drawn from them.
    const word = () => (psnNearWrap ? ((random.u32() & 0xff0000ff) | 0x00ffff00) >>> 0 : random.u32())
    const nic = new Nic({
      ...options,
      address: this.#addresses[index]!,
      pool: this.#pool,
      random: word,
      lineRateBps: rateBps,
      ackTimeoutNs,
      connectionsMax: 32,
      ...(secret !== null && { secret: Buffer.from(secret) }),
    })
    nic.listen(PORT, { accept: (_now, { privateData }) => this.#accept(nic, Buffer.from(privateData)) })
    return nic
  }

  // ---- Connections

  #schedule(): void {
    for (const plan of this.#plan.connections) {
      this.#at(plan.startNs, now => this.#connect(now, plan, 1))
    }
    for (const interruption of this.#plan.interruptions) {
      this.#at(interruption.atNs, now => this.#interrupt(now, interruption))
    }
  }

  /** Later, even if that is now: never from within a NIC's own processing. */
  #at(at: Nanos, act: (now: Nanos) => void): void {
    this.#agenda.add(at, act)
    this.#network.kick(this.#agendaId)
  }

  #connect(now: Nanos, plan: ConnectionPlan, attempt: number): void {
    const number = this.#clients.length
    const { nic } = this.#hosts[plan.from]!.life
    const end = new End(nic, {
      name: `connection ${number}, client`,
      plan: plan.work[0],
      peerPlan: plan.work[1],
      receives: plan.receives[0],
      fail: what => this.fail(what),
    })
    this.#clients.push({ end, plan })
    this.#ends.push(end)
    end.onReady = connection => this.#meet(end, connection)
    end.onProgress = at => this.#leaveWhenDone(at, end, plan)
    end.onEnded = at => this.#onClientEnded(at, end, plan, attempt)
    const told = Buffer.concat([end.targetData(), Buffer.alloc(4)])
    told.writeUInt32BE(number, 12)
    end.connection = nic.connect(now, this.#addresses[plan.to]!, PORT, end, { privateData: told })
    this.#kickHosts()
  }

  #accept(nic: Nic, told: Buffer): End {
    const { end: client, plan } = this.#clients[told.readUInt32BE(12)]!
    const end = new End(nic, {
      name: `${client.name.replace('client', 'server')} ${this.#ends.length}`,
      plan: plan.work[1],
      peerPlan: plan.work[0],
      receives: plan.receives[1],
      fail: what => this.fail(what),
    })
    this.#ends.push(end)
    end.meet(client)
    end.onProgress = now => this.#leaveWhenDone(now, client, plan)
    end.onEnded = now => {
      const { error } = end
      if (error !== null && !this.#isExcused(plan))
        this.fail(`${end.name} ended: ${error.code} ${error.message}`)
      // An application that hears nothing gives up: the transport of an idle end cannot know of a restart.
      this.#at(now + GIVE_UP_NS, at => this.#leave(at, client))
    }
    return end
  }

  /** A repeated request may have been accepted twice, by a host that has restarted: the peer is who answered. */
  #meet(client: End, connection: Connection): void {
    const told = Buffer.from(connection.peerPrivateData).subarray(0, 12)
    const peer = this.#ends.find(end => end.targetData().equals(told))
    if (peer === undefined) this.fail(`${client.name}: its peer says nothing that it has sent`)
    else client.meet(peer)
  }

  #leaveWhenDone(now: Nanos, client: End, plan: ConnectionPlan): void {
    const leaves = plan.leavesAfter !== null && client.succeeded >= plan.leavesAfter
    if (leaves || (client.done && client.peer?.done)) this.#at(now, at => this.#leave(at, client))
  }

  #leave(now: Nanos, end: End): void {
    if (end.closed > 0) return
    end.connection?.disconnect(now)
    this.#kickHosts()
  }

  #onClientEnded(now: Nanos, end: End, plan: ConnectionPlan, attempt: number): void {
    const finished = end.done && end.peer?.done === true
    const excused = this.#isExcused(plan)
    if (!excused && end.error !== null) this.fail(`${end.name} ended: ${end.error.code} ${end.error.message}`)
    else if (!excused && !finished) this.fail(`${end.name} ended in order before its work was done`)
    const again = !finished && excused && plan.leavesAfter === null && attempt < ATTEMPTS_MAX
    if (again) this.#at(now + MILLISECOND, at => this.#connect(at, plan, attempt + 1))
    else this.#unfinished--
  }

  /** True where a connection may end before its work is done. */
  #isExcused({ from, to, leavesAfter }: ConnectionPlan): boolean {
    return leavesAfter !== null || this.#restarted.has(from) || this.#restarted.has(to)
  }

  // ---- Interruptions

  #interrupt(now: Nanos, { host: index, pauseNs }: Interruption): void {
    const host = this.#hosts[index]!
    if (pauseNs !== null) {
      host.pause(now + pauseNs)
      this.#kickHosts()
      return
    }
    this.#restarted.add(index)
    const { life } = host
    const ghost = new SwarmHost(life, this.#pool)
    const ends = this.#ends.filter(end => end.nic === life.nic)
    this.#ghosts.push({ id: this.#network.addNode(ghost), host: ghost })
    host.restart(this.#makeLife(index))
    for (const end of ends) this.#leave(now, end)
    this.#kickHosts()
  }

  #kickHosts(): void {
    for (const id of this.#hostIds) this.#network.kick(id)
    for (const { id } of this.#ghosts) this.#network.kick(id)
  }

  // ---- Running and checking

  #runWhile(holds: () => boolean, untilNs: Nanos): void {
    const network = this.#network
    for (let n = 0; holds() && this.findings.length === 0; n++) {
      if (network.nextEventNs() > untilNs || network.events > EVENTS_MAX) return
      network.step()
      if (n % LOOK_EVERY === 0) this.#look()
    }
  }

  /** What is bounded is within its bounds. */
  #look(): void {
    const { rateBps } = this.#plan
    for (const { name, connection, nic } of this.#ends) {
      if (!connection?.established) continue
      const { windowBytes, rateBps: rate, inFlightBytes, baseRttNs, ackedBytes } = connection.stats
      // Its requests, and the responses to the peer's READs.
      const most = nic.settings.packetsInFlightMax * connection.pathMtu + RESPONSES_BYTES_MAX
      if (!(windowBytes >= 0 && windowBytes < Number.MAX_SAFE_INTEGER))
        this.fail(`${name}: window ${windowBytes}`)
      if (!(rate >= 0 && rate <= rateBps * RATE_SLACK)) this.fail(`${name}: rate ${rate} of ${rateBps} bit/s`)
      if (!(inFlightBytes >= 0 && inFlightBytes <= most))
        this.fail(`${name}: ${inFlightBytes} bytes in flight`)
      if (!(baseRttNs >= 0 && ackedBytes >= 0))
        this.fail(`${name}: T ${baseRttNs}, ${ackedBytes} bytes acknowledged`)
    }
    if (this.#pool.inUse > this.#pool.capacity) this.fail('more frames than the pool has')
  }

  /** Each frame that was made has come to an end that somebody counted. */
  #checkBalance(): void {
    const { inUse } = this.#pool
    if (inUse !== 0) this.fail(`${inUse} frames have not been given back`)
    const hosts = [...this.#hosts, ...this.#ghosts.map(({ host }) => host)]
    const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0)
    const switches = this.#switchTotals()
    const sent = sum(hosts.map(host => host.sent)) + switches.made + sum(this.#faults.map(f => f.duplicated))
    const ended =
      sum(hosts.map(host => host.received)) +
      switches.drops +
      this.#network.unplugged +
      sum(this.#faults.map(f => f.lost + f.taken))
    if (sent !== ended) this.fail(`${sent} frames were sent or made, ${ended} received or dropped`)
    if (switches.received + switches.made !== switches.sent + switches.drops) {
      this.fail(`switches: ${JSON.stringify(switches)} does not add up`)
    }
    for (const { nic, handed, sent } of this.#lives) {
      const { rx, tx, pause } = nic.counters
      if (tx.frames !== sent) this.fail(`a NIC counts ${tx.frames} frames sent, not ${sent}`)
      const control = pause.pauses + pause.resumes + pause.malformed + pause.globalPauses
      if (rx.frames + control !== handed)
        this.fail(`a NIC counts ${rx.frames} frames received, not ${handed}`)
    }
  }

  #switchTotals() {
    const totals = { received: 0, sent: 0, made: 0, drops: 0 }
    for (const sw of this.#switches) {
      for (const port of sw.ports.keys()) {
        const { rxFrames, txFrames, drops, directResponses = 0 } = sw.report(this.#network.now, port)
        totals.received += rxFrames
        totals.sent += txFrames
        totals.drops += drops
        totals.made += directResponses
      }
    }
    return totals
  }
}

function nextPort(ports: Map<string, number>, node: string): LinkEnd {
  const port = ports.get(node)!
  ports.set(node, port + 1)
  return { node, port }
}
