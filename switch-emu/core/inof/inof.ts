/**
 * iNOF in a switch: the agent that knows which hosts are there, its BGP speaker, and the LLDP frames by which it hears and tells its
 * own hosts.
 */
import { Speaker } from '../../../lib/bgp/speaker.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import type { ChangeLog } from '../../../lib/inof/change-log.js'
import { type FrameSender, isLldp, presenceOf, writeNoticesFrame } from '../../../lib/inof/frames.js'
import { SwitchAgent } from '../../../lib/inof/switch-agent.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import { formatIpv4 } from '../../../lib/wire/net/address.js'
import type { MacAddress } from '../../../lib/wire/net/mac.js'
import type { InofNotice, NoticesHeader } from '../../../lib/wire/weir/inof-tlv.js'
import type { FeatureSwitch, SwitchFeature } from '../feature/feature.js'
import type { FeatureEntry } from '../feature/feature-entry.js'
import type { QueueTimers } from '../feature/queue-timers.js'
import type { UrgentFrames } from '../queueing/egress-port.js'

/** When no frame was free, the next attempt is after this time. */
const NO_FRAME_RETRY_NS: Nanos = 1000
/** Source of the switch's LLDP frames: administered locally, its number, and the port in the last two bytes. */
const MAC_BASE: MacAddress = 0x0257_0000_0000

/** Options of iNOF at one switch. A network has the same for all its switches, but for `address` and `hosts`. */
export interface InofOptions {
  as: number
  /** The switch's, as a number: its BGP identifier, and the next hop of its routes. */
  address: number
  /** Addresses of the reflectors. */
  reflectors: readonly string[]
  /** By port: the address of the host that may announce itself there, 0: none may. */
  hosts: readonly number[]
  /** Free hosts join the default zone, unless a reflector says otherwise. */
  autoJoin: boolean
  holdSeconds: number
  log?: ChangeLog
}

/** Who carries the bytes of the speaker, and learns when it has something to send. */
export interface InofNetworkEnd {
  connect(now: Nanos, from: string, neighbour: number): void
  /** The speaker of a switch has been replaced by one that knows nothing. */
  replaced(now: Nanos, feature: Inof): void
  changed(now: Nanos): void
}

export class Inof implements SwitchFeature {
  /** `forged`: a host announced an address that is not its own. */
  readonly counters = { presences: 0, forged: 0, otherLldp: 0 }
  readonly address: string
  readonly #options: InofOptions
  readonly #sw: FeatureSwitch
  readonly #timers: QueueTimers
  readonly #senders: readonly NoticeSender[]
  #network: InofNetworkEnd | null = null
  #agent: SwitchAgent
  #speaker: Speaker

  constructor(options: InofOptions, sw: FeatureSwitch, timers: QueueTimers) {
    this.#options = options
    this.#sw = sw
    this.#timers = timers
    this.address = formatIpv4(options.address)
    this.#senders = sw.ports.map(
      ({ index }) =>
        new NoticeSender(sw.pool, {
          mac: MAC_BASE + sw.id * 0x1_0000 + index,
          name: sw.name,
          port: `${index}`,
        }),
    )
    for (const port of sw.ports) port.addUrgent(this.#senders[port.index]!)
    this.#agent = this.#makeAgent(sw.startNs)
    this.#speaker = this.#makeSpeaker()
  }

  get agent(): SwitchAgent {
    return this.#agent
  }

  get speaker(): Speaker {
    return this.#speaker
  }

  /** The network of switches and reflectors is there: it begins. */
  join(now: Nanos, network: InofNetworkEnd): void {
    this.#network = network
    this.#begin(now)
  }

  linkLocal(now: Nanos, frame: Frame, port: number): boolean {
    if (!isLldp(frame)) return false
    const said = presenceOf(frame)
    if (said === null) this.counters.otherLldp++
    else if (said.presence.address !== this.#options.hosts[port] || said.presence.address === 0)
      this.counters.forged++
    else {
      this.counters.presences++
      this.#agent.onPresence(now, port, said.presence, said.ttlSeconds)
      this.#setTimer()
    }
    return true
  }

  link(now: Nanos, port: number, isUp: boolean): void {
    this.#senders[port]!.clear()
    if (isUp) this.#agent.onLinkUp(now, port)
    else this.#agent.onLinkDown(now, port)
    this.#setTimer()
  }

  timeout(at: Nanos): void {
    this.#agent.onTimeout(at)
    this.#setTimer()
  }

  /** As `SwitchAgent.onHeldUp`. */
  heldUp(now: Nanos): void {
    this.#agent.onHeldUp(now)
    this.#setTimer()
  }

  restart(now: Nanos): void {
    for (const sender of this.#senders) sender.clear()
    this.#agent = this.#makeAgent(now)
    this.#speaker = this.#makeSpeaker()
    this.#network?.replaced(now, this)
    this.#begin(now)
  }

  #begin(now: Nanos): void {
    this.#speaker.start(now)
    for (const { index, isUp } of this.#sw.ports) if (!isUp) this.#agent.onLinkDown(now, index)
    this.#agent.start(now)
    this.#setTimer()
    this.#network?.changed(now)
  }

  #makeAgent(now: Nanos): SwitchAgent {
    const { as, address, autoJoin, reflectors, hosts, log } = this.#options
    const { id, ports, random } = this.#sw
    return new SwitchAgent(
      now,
      {
        id,
        as,
        address,
        ports: ports.length,
        epoch: Math.floor(random() * 2 ** 32),
        autoJoin,
        hasReflectors: reflectors.length > 0,
        leadsToHost: port => hosts[port] !== 0,
        log,
      },
      {
        announce: (at, prefix, attributes) => {
          this.#speaker.announce(at, prefix, attributes)
          this.#network?.changed(at)
        },
        withdraw: (at, prefix) => {
          this.#speaker.withdraw(at, prefix)
          this.#network?.changed(at)
        },
        sendNotices: (at, port, header, notices) => {
          this.#senders[port]!.send(at, header, notices)
          this.#sw.wake(at, port)
        },
      },
    )
  }

  #makeSpeaker(): Speaker {
    const { as, address, reflectors, holdSeconds } = this.#options
    return new Speaker(
      {
        as,
        identifier: address,
        neighbours: reflectors.map(one => ({ address: one })),
        holdSeconds,
        random: this.#sw.random,
      },
      {
        connect: (now, neighbour) => this.#network?.connect(now, this.address, neighbour),
        routeChanged: (now, prefix, attributes) => {
          this.#agent.onRoute(now, prefix, attributes)
          this.#setTimer()
        },
        synchronised: now => {
          this.#agent.onSynchronised(now)
          this.#setTimer()
        },
      },
    )
  }

  #setTimer(): void {
    this.#timers.set(0, 0, this.#agent.nextTimeout())
  }
}

/** Notices that wait for a port's line: one frame, as the agent has one on its way. A later one takes its place. */
class NoticeSender implements UrgentFrames {
  readonly #pool: FramePool
  readonly #from: FrameSender
  #waiting: { header: NoticesHeader; notices: readonly InofNotice[] } | null = null
  #dueNs: Nanos = NEVER

  constructor(pool: FramePool, from: FrameSender) {
    this.#pool = pool
    this.#from = from
  }

  get dueNs(): Nanos {
    return this.#dueNs
  }

  send(now: Nanos, header: NoticesHeader, notices: readonly InofNotice[]): void {
    this.#waiting = { header, notices }
    this.#dueNs = now
  }

  clear(): void {
    this.#waiting = null
    this.#dueNs = NEVER
  }

  transmit(startNs: Nanos): Frame | null {
    const frame = this.#pool.take()
    if (frame === null) {
      this.#dueNs = startNs + NO_FRAME_RETRY_NS
      return null
    }
    const { header, notices } = this.#waiting!
    writeNoticesFrame(frame, this.#from, header, notices)
    this.clear()
    return frame
  }
}

/** Its options are those of a whole network: `inof` of a scenario file. */
export const INOF: FeatureEntry = {
  name: 'inof',
  doc: 'The switch knows which hosts are there, and tells them of each other.',
  usual: 'off',
  example: { as: 65_000, address: 0xac1f_0001, reflectors: [], hosts: [0x0a00_0001] },
  options: null,
  create: (options: InofOptions, sw, timers) => new Inof(options, sw, timers),
}
