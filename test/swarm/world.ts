/**
 * One seed of the swarm: whole hosts, switches and links in virtual time, with real payloads and ICRCs.
 * Whatever happens to them:
 *
 * - each message and each word of memory is exact;
 * - each work request completes once and in order, also when the connection ends early;
 * - a connection ends in error only where a host has restarted, an end has left, or a flow was not admitted;
 * - windows, rates, bytes in flight and queues stay within their bounds;
 * - a lossless network loses nothing, and nothing is retransmitted without a reason;
 * - flows that share everything have like shares;
 * - each frame that was sent has been received, or was dropped where a counter says so, and the pool has all
 * of them back.
 * `checks` has the checks, a file each. `parts` has the parts of networks.
 */
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import type { Connection } from '../../lib/nic/types.js'
import { Agenda } from '../../lib/sim/agenda.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos, SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { directKey } from '../../lib/wire/weir/direct-tag.js'
import { Graph, type GraphEnd } from '../../switch-emu/core/forwarding/graph.js'
import { installRoutes } from '../../switch-emu/core/forwarding/routes.js'
import { Pfc } from '../../switch-emu/core/pfc/pfc.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { checkBalance, checkNic, checkPool, checkSwitches } from './checks/balance.js'
import { checkBounds } from './checks/bounds.js'
import { checkEnding, type Expectation, isRefusal } from './checks/ends.js'
import type { Fail } from './checks/fail.js'
import { checkFairness } from './checks/fairness.js'
import { checkLossless } from './checks/lossless.js'
import { checkEnded, checkEvents } from './checks/progress.js'
import { checkPeak, checkQueues } from './checks/queues.js'
import { checkRetransmissions, type Disturbances, isUndisturbed } from './checks/retransmissions.js'
import { End, numberIn } from './end.js'
import { MESSAGE_MAX } from './limits.js'
import { Attacker } from './parts/attacker.js'
import type { FlapPlan } from './parts/changes.js'
import { CountedSwitch } from './parts/counted-switch.js'
import { SwarmFaults } from './parts/link-faults.js'
import { losslessOptions } from './parts/lossless.js'
import type { SwitchRestartPlan } from './parts/switch-restarts.js'
import { type ConnectionPlan, type Interruption, planOf, type SwarmPlan } from './plan.js'
import { type Life, SwarmHost } from './swarm-host.js'

const PORT = 7000
/** Faults found in one run: later ones follow from the first. */
const FINDINGS_MAX = 8
/** A connection that an end tries again after it was lost, at most. */
const ATTEMPTS_MAX = 3
/** All work is done by then. Retries of the connection manager take 16 times 8 s. */
const WORK_MAX_NS = 400 * SECOND
/** Time within which all connections end after their ends left. */
const ENDING_MAX_NS = 400 * SECOND
/** Events between two checks of the windows. */
const LOOK_EVERY = 50
/** READs of one plan, all of the longest. */
const RESPONSES_BYTES_MAX = 16 * MESSAGE_MAX
/** Flows that ask switches for telemetry by their DSCP. */
const SUBSCRIBED_DSCP = 25
/** Packets that a careful start sends before it knows anything about the path. */
const FIRST_WINDOW_PACKETS = 10
/** Headers, telemetry, and a packet beyond the window of each flow, beside payload. */
const OVERHEAD_SHARE = 0.5
/** An application whose peer has gone gives up after this. */
const GIVE_UP_NS = 2 * SECOND

/** The result of a seed. */
export interface Outcome {
  seed: number
  /** What went wrong. Empty: nothing. */
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
  /** Pauses that switches have sent, and deadlocks that their watchdogs have found. */
  pauses: number
  deadlocks: number
  /** Links that went down, and times that routes changed. */
  flaps: number
  switchRestarts: number
  reroutes: number
  /** Flows that waited for a place, and those that were refused. */
  waited: number
  refused: number
  /** Packets that an attacker added, and feedback that hosts rejected. */
  forged: number
  refusedFeedback: number
  directResponses: number
  fairRates: number
  /** Connections with a host that is no Weir host. */
  plain: number
  /** Moves to other paths. */
  moves: number
  races: number
  /** Seeds without a reason to retransmit, and seeds in which nothing could be lost. */
  undisturbed: number
  lossless: number
}

/** Runs one seed. Whatever it throws is a finding, too. */
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
  readonly #counted: CountedSwitch[] = []
  readonly #faults: SwarmFaults[] = []
  /** NICs from before a restart. Nobody receives from them, and their connections have to end too. */
  readonly #ghosts: { id: number; host: SwarmHost }[] = []
  readonly #ends: End[] = []
  readonly #restarted = new Set<number>()
  /** Connecting ends by the number that their peer gets. */
  readonly #clients: { end: End; plan: ConnectionPlan }[] = []
  readonly #agenda = new Agenda()
  readonly #agendaId: number
  /** By link: its ends, for routes, and whether the switches consider it up. */
  readonly #links: { a: GraphEnd; b: GraphEnd; known: boolean; downs: number }[] = []
  /** By name of a host or switch. */
  readonly #ids = new Map<string, number>()
  #hashSeed: number
  #reroutes = 0
  #flaps = 0
  #switchRestarts = 0
  #refused = 0
  #raceOver = false
  /** Bytes that each flow of a race had moved when it began to count. */
  #atStart: number[] = []
  #undisturbed = 0
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
    this.#hashSeed = plan.seed
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
    const failing: Fail = what => this.fail(what)
    this.#runWhile(() => this.#unfinished > 0, WORK_MAX_NS)
    // Later findings follow from the first fault.
    if (this.findings.length > 0) return
    checkEnded('has not finished', this.#unfinishedNames(), WORK_MAX_NS, failing)
    const { now } = this.#network
    // The rest is what a restart has left behind.
    for (const end of this.#ends) this.#leave(now, end)
    const isOpen = (end: End) => end.closed === 0 && end.connection !== null
    this.#runWhile(() => this.#ends.some(isOpen), now + ENDING_MAX_NS)
    if (this.findings.length > 0) return
    const open = this.#ends.filter(isOpen).map(({ name }) => name)
    checkEnded('has not ended', open, ENDING_MAX_NS, failing)
    const { now: endNs } = this.#network
    this.#runWhile(() => true, endNs + SECOND)
    if (this.findings.length === 0) this.#checkAll()
  }

  #unfinishedNames(): string[] {
    return this.#unfinished > 0 ? [`${this.#unfinished} of ${this.#plan.connections.length} connections`] : []
  }

  reached(): Reached {
    return {
      events: this.#network.events,
      completed: sum(this.#ends.map(end => end.succeeded)),
      retransmittedBytes: this.#retransmittedBytes(),
      faults: sum(this.#faults.map(({ total }) => total)),
      switchDrops: this.#switchTotals().drops,
      restarts: this.#ghosts.length,
      broken: this.#ends.filter(end => end.error !== null).length,
      pauses: this.#switchTotals().pauses,
      deadlocks: this.#switchTotals().deadlocks,
      flaps: this.#flaps,
      switchRestarts: this.#switchRestarts,
      reroutes: this.#reroutes,
      waited: this.#ends.filter(({ connection }) => (connection?.stats.admissionDelayNs ?? 0) > 0).length,
      refused: this.#refused,
      forged: sum(this.#faults.map(({ added }) => added)),
      refusedFeedback: sum(this.#ends.map(end => end.connection?.stats.refusedFeedback ?? 0)),
      directResponses: this.#switchTotals().direct,
      fairRates: this.#switchTotals().fairRates,
      plain: this.#clients.filter(({ plan: { from, to } }) => this.#isPlain(from) || this.#isPlain(to))
        .length,
      moves: sum(this.#ends.map(end => end.connection?.stats.pathMoves ?? 0)),
      races: this.#raceOver ? 1 : 0,
      undisturbed: this.#undisturbed,
      lossless: this.#isLossless() ? 1 : 0,
    }
  }

  // ---- Building

  #build(): void {
    const { switches, hosts, links } = this.#plan
    const ports = new Map<string, number>(
      [...switches, ...hosts.map(({ name }) => name)].map(name => [name, 0]),
    )
    const ended = links.map(({ a, b }) => ({ a: nextPort(ports, a), b: nextPort(ports, b) }))
    for (const [i, name] of switches.entries()) this.#switches.push(this.#makeSwitch(i, name, ended))
    this.#counted.push(...this.#switches.map(sw => new CountedSwitch(sw)))
    const ids = this.#ids
    for (const counted of this.#counted) ids.set(counted.sw.name, this.#network.addNode(counted))
    for (const [i, { name }] of hosts.entries()) {
      const host = new SwarmHost(this.#makeLife(i), this.#pool, this.#isPlain(i))
      this.#hosts.push(host)
      this.#hostIds.push(this.#network.addNode(host))
      ids.set(name, this.#hostIds[i]!)
    }
    for (const [i, link] of links.entries()) {
      const { a, b } = ended[i]!
      const made = ['ab', 'ba'].map(way => {
        const random = this.#random.fork(`faults ${i} ${way}`)
        return new SwarmFaults(link, () => random.next(), this.#makeAttacker(i, way))
      })
      this.#faults.push(...made)
      const faults = { ab: made[0]!, ba: made[1]! }
      this.#network.connect(ids.get(a.node)!, a.port, ids.get(b.node)!, b.port, link.delayNs, faults)
    }
    for (const ends of ended) this.#links.push({ ...ends, known: true, downs: 0 })
    this.#installRoutes()
  }

  /** Routes of all switches, by the links that they consider up. */
  #installRoutes(): void {
    const { switches, hosts } = this.#plan
    const links = this.#links.filter(({ known }) => known)
    const graph = new Graph({ switches, hosts: hosts.map(({ name }) => name), links })
    const located = hosts.map(({ name }, i) => ({ name, address: this.#addresses[i]! }))
    const tables = new Map(this.#switches.map(sw => [sw.name, sw.routes]))
    installRoutes(graph, located, tables, { seed: this.#hashSeed })
  }

  #makeSwitch(id: number, name: string, links: readonly { a: GraphEnd; b: GraphEnd }[]): Switch {
    const random = this.#random.fork(name)
    const { rateBps, bufferBytes, directResponses, fairRates, lossless, secret } = this.#plan
    const delays: { rateBps: number; delayNs: Nanos }[] = []
    for (const [i, { a, b }] of links.entries()) {
      const { delayNs } = this.#plan.links[i]!
      for (const end of [a, b]) if (end.node === name) delays[end.port] = { rateBps, delayNs }
    }
    const key = secret === null ? {} : { key: directKey(Buffer.from(secret)) }
    const { features, ...sizes } = lossless === null ? {} : losslessOptions(lossless, delays)
    return new Switch({
      id: id + 1,
      name,
      ports: delays.map(() => ({ rateBps })),
      bufferBytes,
      pool: this.#pool,
      random: () => random.next(),
      ...sizes,
      features: {
        ...features,
        ...(directResponses !== null && {
          direct: { ...directResponses, subscribedDscp: SUBSCRIBED_DSCP, ...key },
        }),
        ...(fairRates !== null && { rocc: { ...fairRates.options, ...key } }),
      },
    })
  }

  #makeAttacker(link: number, way: string): Attacker | null {
    const { attack } = this.#plan
    if (attack?.link !== link) return null
    return new Attacker(attack, this.#random.fork(`attacker ${way}`), this.#pool)
  }

  #isPlain(host: number): boolean {
    return this.#plan.hosts[host]!.plain
  }

  #makeLife(index: number): Life {
    const life = { nic: this.#makeNic(index), handed: 0, sent: 0 }
    this.#lives.push(life)
    return life
  }

  #makeNic(index: number): Nic {
    const { name, psnNearWrap, plain: _, ...options } = this.#plan.hosts[index]!
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
    nic.listen(PORT, { accept: (_now, { privateData }) => this.#accept(nic, privateData) })
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
    const { flaps, rehashNs } = this.#plan.changes
    for (const flap of flaps) this.#scheduleFlap(flap)
    for (const restart of this.#plan.switchRestarts) this.#scheduleRestart(restart)
    if (rehashNs !== null) {
      this.#at(rehashNs, () => {
        this.#hashSeed++
        this.#reroute()
      })
    }
    const { race } = this.#plan
    if (race !== null) this.#at(race.fromNs, () => (this.#atStart = this.#moved()))
  }

  /** Later, even if that is now, but never within a NIC's own processing. */
  #at(at: Nanos, act: (now: Nanos) => void): void {
    this.#agenda.add(at, act)
    this.#network.kick(this.#agendaId)
  }

  #connect(now: Nanos, plan: ConnectionPlan, attempt: number): void {
    const number = this.#clients.length
    const { nic } = this.#hosts[plan.from]!.life
    const end = new End(nic, {
      name: `connection ${number}, client`,
      number,
      plan: plan.work[0],
      peerPlan: plan.work[1],
      receives: plan.receives[0],
      fail: what => this.fail(what),
    })
    this.#clients.push({ end, plan })
    this.#ends.push(end)
    end.onReady = connection => this.#meet(end, connection)
    end.onProgress = at => {
      this.#judgeRace()
      this.#leaveWhenDone(at, end, plan)
    }
    end.onEnded = at => this.#onClientEnded(at, end, plan, attempt)
    end.connection = nic.connect(now, this.#addresses[plan.to]!, PORT, end, {
      privateData: end.connectData(),
    })
    this.#kickHosts()
  }

  #accept(nic: Nic, told: Uint8Array): End {
    const { end: client, plan } = this.#clients[numberIn(told)]!
    const end = new End(nic, {
      name: `${client.name.replace('client', 'server')} ${this.#ends.length}`,
      number: this.#ends.length,
      plan: plan.work[1],
      peerPlan: plan.work[0],
      receives: plan.receives[1],
      fail: what => this.fail(what),
    })
    this.#ends.push(end)
    end.meet(client)
    end.onProgress = now => this.#leaveWhenDone(now, client, plan)
    end.onEnded = now => {
      // The client decides whether all work was done.
      checkEnding(end.error, true, this.#expectation(plan, client), what => this.fail(`${end.name} ${what}`))
      // An application without an answer gives up: the transport of an idle end cannot know of a restart.
      this.#at(now + GIVE_UP_NS, at => this.#leave(at, client))
    }
    return end
  }

  /**
   * A repeated request may have been accepted twice, by a host that has restarted. The peer is the one that
   * answered.
   */
  #meet(client: End, connection: Connection): void {
    const peer = this.#ends[numberIn(connection.peerPrivateData)]
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
    const expectation = this.#expectation(plan, end.peer)
    checkEnding(end.error, finished, expectation, what => this.fail(`${end.name} ${what}`))
    const refused = isRefusal(end.error) || isRefusal(end.peer?.error ?? null)
    if (refused) this.#refused++
    const mayEnd = expectation.excused || refused
    const again = !finished && mayEnd && plan.leavesAfter === null && attempt < ATTEMPTS_MAX
    if (again) this.#at(now + MILLISECOND, at => this.#connect(at, plan, attempt + 1))
    else this.#unfinished--
  }

  #expectation({ from, to, leavesAfter }: ConnectionPlan, peer: End | null): Expectation {
    const excused = leavesAfter !== null || this.#restarted.has(from) || this.#restarted.has(to)
    const asks = (host: number) => (this.#plan.hosts[host]!.paths.admission ?? 0) > 0
    return { excused, mayBeRefused: asks(from) || asks(to), peerError: peer?.error ?? null }
  }

  // ---- Changes of the network

  #scheduleFlap({ link, downNs, upNs, noticedAfterNs }: FlapPlan): void {
    this.#at(downNs, now => {
      this.#flaps++
      this.#setDown(now, link, true)
    })
    this.#at(upNs, now => this.#setDown(now, link, false))
    if (noticedAfterNs === null) return
    const know = (known: boolean) => {
      this.#links[link]!.known = known
      this.#reroute()
    }
    this.#at(downNs + noticedAfterNs, () => know(false))
    this.#at(upNs + noticedAfterNs, () => know(true))
  }

  /** A link goes down or comes up, as the switches at its ends see it. Several causes may hold it down. */
  #setDown(now: Nanos, link: number, down: boolean): void {
    const state = this.#links[link]!
    const before = state.downs > 0
    state.downs += down ? 1 : -1
    const isDown = state.downs > 0
    if (isDown === before) return
    for (const [way, { node, port }] of [state.a, state.b].entries()) {
      const faults = this.#faults[2 * link + way]!
      faults.down = isDown
      const id = this.#ids.get(node)!
      if (isDown) faults.taken += this.#network.cut(id, port)
      this.#switches.find(({ name }) => name === node)?.setLink(now, port, !isDown)
      this.#network.kick(id, now)
    }
  }

  #scheduleRestart({ switch: index, atNs, forNs }: SwitchRestartPlan): void {
    const sw = this.#switches[index]!
    const links = [...this.#links.keys()].filter(link =>
      [this.#links[link]!.a, this.#links[link]!.b].some(({ node }) => node === sw.name),
    )
    this.#at(atNs, now => {
      this.#switchRestarts++
      sw.restart(now)
      for (const link of links) this.#setDown(now, link, true)
    })
    this.#at(atNs + forNs, now => {
      for (const link of links) this.#setDown(now, link, false)
    })
  }

  #reroute(): void {
    this.#reroutes++
    this.#installRoutes()
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
    const ghost = new SwarmHost(life, this.#pool, this.#isPlain(index))
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
      if (network.nextEventNs() > untilNs) return
      network.step()
      if (n % LOOK_EVERY === 0) this.#look()
    }
  }

  /** What is bounded is within its bounds. */
  #look(): void {
    checkEvents(this.#network.events, what => this.fail(what))
    const { rateBps } = this.#plan
    for (const { name, connection, nic } of this.#ends) {
      if (!connection?.established) continue
      // Its requests, and the responses to the peer's READs. One that is asked for again is in flight once more, until an answer shows
      // what has arrived: the path may be down until then.
      const { retransmittedBytes } = connection.stats
      const most =
        nic.settings.packetsInFlightMax * connection.pathMtu + RESPONSES_BYTES_MAX + retransmittedBytes
      checkBounds(connection.stats, rateBps, most, what => this.fail(`${name}: ${what}`))
    }
    for (const { name, ports, buffer, ownMemory } of this.#switches) {
      const queued = {
        name,
        gauges: ports.map(({ gauge }) => gauge.bytes),
        queues: ports.map(({ queues }) => queues.reduce((sum, { bytes }) => sum + bytes, 0)),
        usedBytes: buffer.usedBytes + ownMemory.usedBytes,
        bufferBytes: buffer.bytesMax + ownMemory.bytesMax,
      }
      checkQueues(queued, what => this.fail(what))
    }
    if (this.#pool.inUse > this.#pool.capacity) this.fail('more frames than the pool has')
  }

  /** The run is over. */
  #checkAll(): void {
    const fail: Fail = what => this.fail(what)
    checkPool(this.#pool.inUse, fail)
    const hosts = [...this.#hosts, ...this.#ghosts.map(({ host }) => host)]
    const switches = this.#switchTotals()
    checkSwitches(switches, fail)
    checkBalance(
      {
        sent: sum(hosts.map(({ sent }) => sent)),
        made: switches.made,
        copied: sum(this.#faults.map(({ duplicated, added }) => duplicated + added)),
        received: sum(hosts.map(({ received }) => received)),
        consumed: switches.consumed,
        dropped: switches.drops,
        lost: sum(this.#faults.map(({ lost, taken }) => lost + taken)),
        unplugged: this.#network.unplugged,
      },
      fail,
    )
    for (const { nic, handed, sent } of this.#lives) {
      const { rx, tx, pause } = nic.counters
      const control = pause.pauses + pause.resumes + pause.malformed + pause.globalPauses
      checkNic({ rx: rx.frames, control, tx: tx.frames }, handed, sent, fail)
    }
    if (isUndisturbed(this.#disturbances())) {
      this.#undisturbed = 1
      for (const { name, retransmissions } of this.#ends)
        if (retransmissions !== null) checkRetransmissions(name, retransmissions, fail)
    }
    if (this.#isLossless()) {
      for (const sw of this.#switches) {
        for (const port of sw.ports.keys()) {
          const { dropsByReason } = sw.report(this.#network.now, port)
          checkLossless(`${sw.name}, port ${port}`, dropsByReason, fail)
        }
      }
    }
  }

  #retransmittedBytes(): number {
    return sum(this.#ends.map(end => end.connection?.stats.retransmittedBytes ?? 0))
  }

  #disturbances(): Disturbances {
    const { drops, pauses } = this.#switchTotals()
    const noFrame = sum(this.#lives.map(({ nic }) => nic.counters.tx.noFrame))
    return {
      faults: sum(this.#faults.map(({ total }) => total)),
      drops: drops + sum(this.#hosts.map(({ dropped }) => dropped)),
      stops: this.#plan.interruptions.length + pauses + noFrame,
      reroutes:
        this.#reroutes +
        this.#flaps +
        this.#switchRestarts +
        sum(this.#ends.map(end => end.connection?.stats.pathMoves ?? 0)),
    }
  }

  /** Every pause reaches its peer in time, so nothing may be lost. */
  #isLossless(): boolean {
    const { lossless, interruptions, changes, switchRestarts } = this.#plan
    if (lossless === null || lossless.watchdog !== null) return false
    const disturbed =
      interruptions.length +
      changes.flaps.length +
      switchRestarts.length +
      sum(this.#faults.map(({ total }) => total))
    const noFrame = sum(
      this.#switches.flatMap(sw => sw.find(Pfc)?.senders.map(({ counters }) => counters.noFrame) ?? []),
    )
    return disturbed + noFrame === 0
  }

  #switchTotals() {
    const totals = {
      received: 0,
      sent: 0,
      made: 0,
      direct: 0,
      fairRates: 0,
      control: 0,
      consumed: 0,
      drops: 0,
      pauses: 0,
      deadlocks: 0,
    }
    for (const sw of this.#switches) {
      for (const { index } of sw.ports) {
        const report = sw.report(this.#network.now, index)
        const { pauses, resumes } = sw.find(Pfc)?.senders[index]?.counters ?? { pauses: 0, resumes: 0 }
        totals.received += report.rxFrames
        totals.sent += report.txFrames
        totals.drops += report.drops
        totals.control += pauses + resumes
        const direct = report.directResponses ?? 0
        const fairRates = report.rocc?.sent ?? 0
        totals.direct += direct
        totals.fairRates += fairRates
        totals.made += direct + fairRates + pauses + resumes
        totals.pauses += pauses
        totals.deadlocks += report.watchdog?.detected ?? 0
      }
    }
    totals.consumed = sum(this.#counted.map(({ consumed }) => consumed))
    return totals
  }

  // ---- Races

  #moved(): number[] {
    return this.#clients.map(({ end }) => end.connection?.stats.ackedBytes ?? 0)
  }

  /** The first flow is done. Until now all have shared the network. */
  #judgeRace(): void {
    const { race } = this.#plan
    if (race === null || this.#raceOver || !this.#clients.some(({ end }) => end.done)) return
    this.#raceOver = true
    if (this.#atStart.length === 0) return
    const moved = this.#moved().map((bytes, i) => bytes - (this.#atStart[i] ?? 0))
    checkFairness(moved, race.least, what => this.fail(what))
    if (!race.windowed) return
    const tNs = Math.max(...this.#clients.map(({ end }) => end.connection!.stats.baseRttNs))
    const firstBytes = FIRST_WINDOW_PACKETS * this.#plan.hosts[0]!.pathMtu
    const windowBytes = Math.max(firstBytes, (tNs * this.#plan.rateBps) / 8e9)
    for (const sw of this.#switches) {
      for (const port of sw.ports.keys()) {
        const { maxQueueBytes } = sw.report(this.#network.now, port)
        const name = `${sw.name}, port ${port}`
        checkPeak(name, maxQueueBytes, moved.length, windowBytes, OVERHEAD_SHARE, what => this.fail(what))
      }
    }
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0)
}

function nextPort(ports: Map<string, number>, node: string): GraphEnd {
  const port = ports.get(node)!
  ports.set(node, port + 1)
  return { node, port }
}
