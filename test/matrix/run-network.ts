/**
 * One network of the matrix with one set of options: whole hosts and switches in virtual time, with real
 * payloads and ICRCs. Returns what it shows of the options, and what the checkers have found:
 *
 * - each message is exact, and each work request completes once and in order (the swarm's ends check that);
 * - connections end without an error, unless the network provokes errors;
 * - nothing is retransmitted where nothing was lost, dropped or overtaken;
 * - a queue is no longer than the windows of its flows together, and never longer than its buffer;
 * - flows with the same path share it within a bound;
 * - all frames are given back.
 */
import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import type { NicConfig } from '../../lib/nic/config.js'
import { Nic } from '../../lib/nic/nic.js'
import type { HostIntake } from '../../lib/nic/telemetry/host-hop.js'
import type { ConnectOptions } from '../../lib/nic/types.js'
import { jainIndex } from '../../lib/scenario/result/fairness.js'
import { Agenda } from '../../lib/sim/agenda.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Network } from '../../lib/sim/network.js'
import type { Pipe } from '../../lib/sim/pipe.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND, type Nanos, SECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { Graph, type GraphEnd } from '../../switch-emu/core/forwarding/graph.js'
import { installRoutes } from '../../switch-emu/core/forwarding/routes.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { End, numberIn } from '../swarm/end.js'
import { type Figures, FrameWatch } from './figures.js'
import { DELAY_NS, type FlowPlan, type NetworkPlan, RATE_BPS } from './networks.js'

const PORT = 7000
const HOSTS = ['h1', 'h2', 'h3'] as const
/** With more events something repeats for ever. */
const EVENTS_MAX = 400_000
const LOOK_EVERY = 25
/** What a packet's headers and telemetry take beside its payload, for bounds on queues. */
const HEADERS_MAX = 700
/** Tail probes without a loss: at most this number in a run, or this share of its packets. */
const TAIL_PROBES = 6
const TAIL_PROBE_SHARE = 0.02
/** DSCP by which data asks switches for direct responses: the default of `telemetry.subscribeDscp`. */
const SUBSCRIBED_DSCP = 25

export type MatrixConfig = Partial<NicConfig>

interface NetworkRun {
  plan: NetworkPlan
  config: MatrixConfig
  /** Options of the connections of h1 and h2. */
  connect?: ConnectOptions
  seed: number
}

export interface NetworkOutcome {
  figures: Figures
  findings: readonly string[]
}

/** Throws what a NIC or a connection throws for its options. */
export function runNetwork(run: NetworkRun): NetworkOutcome {
  return new World(run).run()
}

class WatchedHost implements Node {
  readonly watch = new FrameWatch()
  readonly nic: Nic
  readonly #intake: BusyIntake

  constructor(nic: Nic, intake: BusyIntake) {
    this.nic = nic
    this.#intake = intake
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    this.#intake.stampNs = now
    this.#intake.takenBytes += frame.wireLength
    this.nic.onFrame(now, port, frame)
  }

  onTimeout(now: Nanos): void {
    this.nic.onTimeout(now)
  }

  nextTimeout(): Nanos {
    return this.nic.nextTimeout()
  }

  pollTransmit(now: Nanos): Frame | null {
    const frame = this.nic.pollTransmit(now)
    if (frame !== null) this.watch.see(now, frame)
    return frame
  }
}

/** Passes nothing from one time to another. */
class Outage extends LinkFaults {
  readonly #span: readonly [Nanos, Nanos]

  constructor(span: readonly [Nanos, Nanos]) {
    super({}, () => 0)
    this.#span = span
  }

  override apply(frame: Frame, arrivalNs: Nanos, pipe: Pipe, pool: FramePool): void {
    const [from, until] = this.#span
    if (arrivalNs < from || arrivalNs >= until) pipe.push(frame, arrivalNs)
    else {
      this.lost++
      pool.give(frame)
    }
  }
}

/** A host that takes in slightly less than its link delivers, so that it is the busiest hop. */
class BusyIntake implements HostIntake {
  stampNs = 0
  takenBytes = 0
  readonly queueByteNs = 0
  readonly rateBps = 0.9 * RATE_BPS
}

/** Frames of all runs, one after the other. A run that does not return all of them keeps the pool. */
let pool = new FramePool(1200)

function emptyPool(): FramePool {
  if (pool.inUse !== 0) pool = new FramePool(1200)
  return pool
}

interface RunningFlow {
  plan: FlowPlan
  end: End
}

class World {
  readonly #run: NetworkRun
  readonly #pool = emptyPool()
  readonly #network = new Network({ pool: this.#pool, startNs: 1000 })
  readonly #random: Random
  readonly #hosts: WatchedHost[] = []
  readonly #hostIds: number[] = []
  readonly #intakes: BusyIntake[] = []
  readonly #switches: Switch[] = []
  readonly #faults: LinkFaults[] = []
  readonly #agenda = new Agenda()
  readonly #agendaId: number
  readonly #flows: RunningFlow[] = []
  readonly #servers: End[] = []
  readonly #findings: string[] = []
  #windowMin = Number.POSITIVE_INFINITY
  #windowMax = 0
  #beginWindow = 0
  #rateMax = 0
  #inFlightMax = 0
  #pathHopsMax = 0
  #baseRttNs = 0
  #baseRttChanges = 0
  readonly #controllers = new Set<string>()
  #judgedFairness = false
  #endsNs = 0

  constructor(run: NetworkRun) {
    this.#run = run
    this.#random = new Random(run.seed).fork('matrix')
    this.#build()
    this.#agendaId = this.#network.addNode(this.#agenda)
    for (const flow of run.plan.flows) this.#at(1000 + flow.startNs, now => this.#connect(now, flow))
    this.#network.kick(this.#agendaId)
  }

  run(): NetworkOutcome {
    const { plan } = this.#run
    const isOver = () => this.#flows.length === plan.flows.length && this.#flows.every(f => this.#isDone(f))
    this.#runWhile(() => !isOver(), plan.untilNs)
    if (!isOver() && plan.isCut !== true) this.#fail('the work has not been done in time')
    this.#endsNs = Math.min(this.#network.now, plan.untilNs)
    this.#look()
    const figures = this.#figures()
    this.#checkQueue(figures)
    this.#checkRetransmissions(figures)
    this.#finish()
    return { figures, findings: this.#findings }
  }

  #isDone({ end }: RunningFlow): boolean {
    return end.closed > 0 || (end.done && end.peer?.done === true)
  }

  #fail(what: string): void {
    if (this.#findings.length < 5) this.#findings.push(what)
  }

  // ---- Building

  #build(): void {
    const { plan } = this.#run
    const names = plan.shape === 'chain' ? ['s1', 's2'] : ['s1', 's2', 's3', 's4']
    const trunks: [string, string][] =
      plan.shape === 'chain'
        ? [['s1', 's2']]
        : ['s1', 's2'].flatMap(leaf => ['s3', 's4'].map((spine): [string, string] => [leaf, spine]))
    const joins: [string, string][] = [...trunks, ['h1', 's1'], ['h2', 's1'], ['h3', 's2']]
    const rates = new Map<string, number[]>([...names, ...HOSTS].map(name => [name, []]))
    const links = joins.map(([a, b]) => {
      const rateBps = a.startsWith('h') ? RATE_BPS : plan.trunkBps
      return { a: plug(rates, a, rateBps), b: plug(rates, b, rateBps) }
    })
    for (const [i, name] of names.entries()) this.#switches.push(this.#makeSwitch(i, name, rates.get(name)!))
    const ids = new Map(this.#switches.map(sw => [sw.name, this.#network.addNode(sw)]))
    for (const [i, name] of HOSTS.entries()) {
      const host = new WatchedHost(this.#makeNic(i), this.#intakes[i]!)
      this.#hosts.push(host)
      this.#hostIds.push(this.#network.addNode(host))
      ids.set(name, this.#hostIds[i]!)
    }
    for (const { a, b } of links) {
      const faults = this.#faultsOf(a.node)
      this.#network.connect(ids.get(a.node)!, a.port, ids.get(b.node)!, b.port, DELAY_NS, faults)
    }
    const graph = new Graph({ switches: names, hosts: HOSTS, links })
    const located = HOSTS.map((name, i) => ({ name, address: addressOf(i) }))
    installRoutes(graph, located, new Map(this.#switches.map(sw => [sw.name, sw.routes])), { seed: 1 })
  }

  #faultsOf(host: string): { ab?: LinkFaults; ba?: LinkFaults } {
    const { loss = 0, reorder = 0, outage } = this.#run.plan
    if (host === 'h1' && loss + reorder > 0) {
      const random = this.#random.fork('faults')
      const faults = new LinkFaults({ loss, reorder, reorderNs: 8000 }, () => random.next())
      this.#faults.push(faults)
      return { ab: faults }
    }
    if (host !== 'h3' || outage === undefined) return {}
    const [ab, ba] = [new Outage(outage), new Outage(outage)]
    this.#faults.push(ab, ba)
    return { ab, ba }
  }

  #makeSwitch(id: number, name: string, rates: readonly number[]): Switch {
    const { bufferBytes, port, features } = this.#run.plan
    const subscribedDscp = this.#run.config.telemetry?.subscribeDscp ?? SUBSCRIBED_DSCP
    const random = this.#random.fork(name)
    return new Switch({
      id: id + 1,
      name,
      ports: rates.map(rateBps => ({ ...port, rateBps })),
      bufferBytes,
      pool: this.#pool,
      random: () => random.next(),
      features: { direct: { thresholdBytes: 4000, of: 'subscribed', subscribedDscp }, ...features },
    })
  }

  #makeNic(index: number): Nic {
    const random = this.#random.fork(HOSTS[index]!)
    const intake = new BusyIntake()
    this.#intakes.push(intake)
    const nic = new Nic({
      lineRateBps: RATE_BPS,
      connectionsMax: 16,
      packetsInFlightMax: 256,
      reorderPackets: 512,
      hostIntake: intake,
      ...this.#run.plan.hosts,
      ...this.#run.config,
      address: addressOf(index),
      pool: this.#pool,
      random: () => random.u32(),
    })
    nic.listen(PORT, { accept: (_now, { privateData }) => this.#accept(nic, privateData) })
    return nic
  }

  // ---- Connections

  #at(at: Nanos, act: (now: Nanos) => void): void {
    this.#agenda.add(at, act)
    if (this.#network.now > 1000) this.#network.kick(this.#agendaId)
  }

  #connect(now: Nanos, plan: FlowPlan): void {
    const { nic } = this.#hosts[HOSTS.indexOf(plan.from)]!
    const number = this.#flows.length
    const end = new End(nic, {
      name: `flow ${number}`,
      number,
      plan: plan.work,
      peerPlan: plan.answers ?? [],
      receives: 1,
      fail: what => this.#fail(what),
    })
    if (plan.pauseNs !== undefined) this.#pace(end, plan.pauseNs)
    const flow = { plan, end }
    this.#flows.push(flow)
    end.onReady = () => this.#meet(end)
    const onProgress = end.onProgress
    end.onProgress = at => {
      if (end.done && !this.#judgedFairness) this.#judgeFairness(flow)
      onProgress(at)
    }
    end.onEnded = () => this.#onEnded(end)
    try {
      end.connection = nic.connect(now, addressOf(2), PORT, end, {
        ...this.#run.connect,
        privateData: end.connectData(),
      })
    } catch (error) {
      if (!(error instanceof WeirError) || !this.#mayEndWith(error.code)) throw error
      end.closed = 1
      end.error = error
    }
    this.#kickHosts()
  }

  /** The application waits after each message. */
  #pace(end: End, pauseNs: Nanos): void {
    end.allowed = 1
    end.onProgress = now => {
      if (end.succeeded < end.allowed || end.done) return
      end.allowed++
      this.#at(now + pauseNs, at => {
        end.goOn(at)
        this.#kickHosts()
      })
    }
  }

  #accept(nic: Nic, told: Uint8Array): End {
    const { end: client, plan } = this.#flows[numberIn(told)]!
    const end = new End(nic, {
      name: `${client.name}, h3`,
      number: this.#servers.length,
      plan: plan.answers ?? [],
      peerPlan: plan.work,
      receives: plan.receives ?? 64,
      fail: what => this.#fail(what),
    })
    this.#servers.push(end)
    end.meet(client)
    return end
  }

  #meet(client: End): void {
    const peer = this.#servers[numberIn(client.connection!.peerPrivateData)]
    if (peer === undefined) this.#fail(`${client.name}: its peer says nothing that it has sent`)
    else client.meet(peer)
  }

  #onEnded(end: End): void {
    const { error } = end
    if (error === null || this.#mayEndWith(error.code)) return
    this.#fail(`${end.name} ended: ${error.code} ${error.message}`)
  }

  /** The network provokes that end, or the options request it. */
  #mayEndWith(code: string): boolean {
    const { plan, config } = this.#run
    if (plan.mayEndWith?.includes(code)) return true
    if (code === 'WEIR_NOT_ADMITTED') return (config.paths?.admission ?? 0) > 0
    if (code === 'WEIR_FULL' || code === 'WEIR_REJECTED') return config.connectionsMax !== undefined
    // Few retries, or fast ones, are used up where many packets are dropped.
    const impatient = config.retryCount !== undefined || config.ackTimeoutNs !== undefined
    return code === 'WEIR_CONNECTION_LOST' && (impatient || config.rnrRetry !== undefined)
  }

  #kickHosts(): void {
    for (const id of this.#hostIds) this.#network.kick(id)
  }

  // ---- Running and checking

  #runWhile(holds: () => boolean, untilNs: Nanos): void {
    const network = this.#network
    for (let n = 0; holds(); n++) {
      if (network.nextEventNs() > untilNs) return
      if (network.events > EVENTS_MAX) {
        this.#fail(`${EVENTS_MAX} events, and no end`)
        return
      }
      network.step()
      if (n % LOOK_EVERY === 0) this.#look()
    }
  }

  #look(): void {
    for (const { end } of this.#flows) {
      const { connection } = end
      if (!connection?.established) continue
      const { windowBytes, rateBps, inFlightBytes, baseRttNs, pathHops, controller } = connection.stats
      if (controller === '') continue
      this.#controllers.add(controller)
      if (this.#beginWindow === 0) this.#beginWindow = windowBytes
      this.#windowMin = Math.min(this.#windowMin, windowBytes)
      this.#windowMax = Math.max(this.#windowMax, windowBytes)
      this.#rateMax = Math.max(this.#rateMax, rateBps)
      this.#inFlightMax = Math.max(this.#inFlightMax, inFlightBytes)
      this.#pathHopsMax = Math.max(this.#pathHopsMax, pathHops)
      if (end !== this.#flows[0]!.end || baseRttNs === this.#baseRttNs) continue
      this.#baseRttNs = baseRttNs
      this.#baseRttChanges++
    }
  }

  #judgeFairness({ plan }: RunningFlow): void {
    this.#judgedFairness = true
    const { jainLeast } = this.#run.plan
    if (jainLeast === undefined) return
    const rivals = this.#flows.filter(other => other.plan.startNs === plan.startNs)
    const jain = jainIndex(rivals.map(({ end }) => end.connection!.stats.ackedBytes))
    if (jain < jainLeast) this.#fail(`the Jain index is ${jain.toFixed(3)}, not ${jainLeast}`)
  }

  /** Windows bound queues. A controller without one (`windowBytes` 0) leaves them to the buffer. */
  #checkQueue({ queueMax, windowMin, windowMax }: Figures): void {
    const { plan, config } = this.#run
    if (windowMin === 0 && queueMax <= plan.bufferBytes) return
    const mtu = Math.max(config.pathMtu ?? 1024, config.packetBytesMax ?? 0)
    // READ responses have no window of their own.
    const responses = plan.flows.length * 12_000
    const windows = plan.flows.length * (Math.max(windowMax, this.#inFlightMax) + 2 * mtu) + responses
    const bound = Math.min(plan.bufferBytes, windows * (1 + HEADERS_MAX / mtu))
    if (queueMax > bound) this.#fail(`a queue was ${queueMax} bytes long, of at most ${Math.round(bound)}`)
  }

  #checkRetransmissions({ retransmittedBytes, drops, timeouts, dataFrames }: Figures): void {
    const { loss = 0, reorder = 0, outage, isCut } = this.#run.plan
    if (loss > 0 || reorder > 0 || outage !== undefined || isCut || drops > 0) return
    // Timers that are shorter than a queue lasts expire without a loss.
    const { ackTimeoutNs, retransmitTimeoutLeastNs, probeTimeoutLeastNs } = this.#run.config
    if ((ackTimeoutNs ?? retransmitTimeoutLeastNs ?? probeTimeoutLeastNs) !== undefined) return
    const refused = this.#hosts.reduce(
      (sum, { nic }) => sum + nic.dropTotals.sum(nic.table.flows).droppedReorder,
      0,
    )
    if (refused > 0) return
    const { pathMtu = 1024, packetBytesMax = 0 } = this.#run.config
    const mtu = Math.max(pathMtu, packetBytesMax)
    const probes = this.#tailProbes()
    if (retransmittedBytes > probes * mtu) {
      this.#fail(
        `${retransmittedBytes} bytes were retransmitted, ${probes} tail probes among them, and nothing was lost`,
      )
    }
    const most = Math.max(TAIL_PROBES, dataFrames * TAIL_PROBE_SHARE)
    if (probes > most) this.#fail(`${probes} tail probes, and nothing was lost`)
    if (timeouts > 0) this.#fail(`${timeouts} timeouts, and nothing was lost`)
  }

  /**
   * Repetitions of a last packet without an answer. A queue that grows fast causes some (RFC 8985, section
   * 7).
   */
  #tailProbes(): number {
    const flows = this.#hosts.flatMap(({ nic }) => nic.table.flows)
    return flows.reduce((sum, flow) => sum + (flow?.qp.counters.tailProbes ?? 0), 0)
  }

  /** All connections end, and all frames come back. */
  #finish(): void {
    // Both ends disconnect, because one may not learn that the other has left.
    for (const end of [...this.#flows.map(({ end }) => end), ...this.#servers]) {
      if (end.closed === 0) end.connection?.disconnect(this.#network.now)
    }
    this.#kickHosts()
    const isOpen = () => this.#hosts.some(({ nic }) => nic.table.count > 0)
    this.#runWhile(isOpen, this.#network.now + 2000 * SECOND)
    if (isOpen()) this.#fail('connections do not end')
    this.#network.runUntil(this.#network.now + MILLISECOND)
    if (this.#pool.inUse !== 0) this.#fail(`${this.#pool.inUse} frames have not been given back`)
  }

  #figures(): Figures {
    const [one, two, three] = this.#hosts.map(({ watch }) => watch) as [FrameWatch, FrameWatch, FrameWatch]
    const senders = [one, two]
    const stats = this.#flows.flatMap(({ end }) => end.connection?.stats ?? [])
    const ports = this.#switches.flatMap(sw => sw.ports.map((_, i) => sw.report(this.#network.now, i)))
    const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0)
    const most = (numbers: readonly number[]) => Math.max(0, ...numbers)
    const of = (key: NumberKey) => sum(senders.map(watch => watch[key]))
    const all = <T>(sets: readonly Set<T>[]) => [...new Set(sets.flatMap(set => [...set]))].sort().join(' ')
    const counters = this.#hosts.map(({ nic }) => nic.counters)
    return {
      dataFrames: of('dataFrames'),
      collecting: of('collecting'),
      empty: of('empty'),
      plain: of('plain'),
      asking: of('asking'),
      probes: of('probes'),
      pathProbes: of('pathProbes'),
      headerBytes: of('headerBytes'),
      payloadMax: most(senders.map(({ payloadMax }) => payloadMax)),
      formats: all(senders.map(({ formats }) => formats)),
      dscps: all(senders.map(({ dscps }) => dscps)),
      sourcePorts: all(senders.map(({ sourcePorts }) => sourcePorts)),
      trace: senders.reduce((mixed, { trace }) => (Math.imul(mixed, 31) + trace) | 0, 1),
      firstDataNs: one.firstDataNs,
      acks: three.acks,
      sacks: three.sacks,
      naks: three.naks,
      notifications: three.notifications,
      windows: three.windows,
      stamped: three.stamped,
      hopLimits: three.hopLimits,
      collectingAcks: three.collectingAcks,
      cnps: three.cnps,
      cnpDscp: three.cnpDscp,
      answerBytes: three.answerBytes,
      controllers: all([this.#controllers]),
      baseRttNs: this.#baseRttNs,
      baseRttChanges: this.#baseRttChanges,
      windowMin: this.#windowMin,
      windowMax: this.#windowMax,
      beginWindow: this.#beginWindow,
      rateMax: this.#rateMax,
      inFlightMax: this.#inFlightMax,
      pathHopsMax: this.#pathHopsMax,
      lastPathHops: stats.at(-1)?.pathHops ?? 0,
      pathMoves: sum(stats.map(({ pathMoves }) => pathMoves)),
      admissionDelayNs: most(stats.map(({ admissionDelayNs }) => admissionDelayNs)),
      retransmittedBytes: sum(stats.map(({ retransmittedBytes }) => retransmittedBytes)),
      timeouts: sum(stats.map(({ timeouts }) => timeouts)),
      implausible: sum(
        counters.map(({ rx, feedback }) => rx.implausibleTelemetry + feedback.implausibleTelemetry),
      ),
      refusedFeedback: sum(counters.map(({ rx }) => rx.untaggedFeedback + rx.forgedFeedback)),
      errors: this.#flows.map(({ end }) => end.error?.code ?? '-').join(' '),
      endsNs: this.#endsNs,
      queueMax: most(ports.map(({ maxQueueBytes }) => maxQueueBytes)),
      drops: sum(ports.map(({ drops }) => drops)),
      marks: sum(ports.map(({ ecnMarks }) => ecnMarks)),
      directResponses: sum(ports.map(({ directResponses = 0 }) => directResponses)),
    }
  }
}

type NumberKey = { [key in keyof FrameWatch]: FrameWatch[key] extends number ? key : never }[keyof FrameWatch]

function addressOf(index: number): HostAddress {
  return HostAddress.parse(`10.0.0.${index + 1}`)
}

function plug(rates: Map<string, number[]>, node: string, rateBps: number): GraphEnd {
  const ports = rates.get(node)!
  ports.push(rateBps)
  return { node, port: ports.length - 1 }
}
