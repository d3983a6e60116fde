import { DOUBLE_0 } from '../../double.js'
import type { Nanos } from '../../time/nanos.js'
import { type Need, NeedId, ReverseTelemetry } from '../../wire/weir/needs.js'
import type { EndProof } from '../keys/end-proof.js'
import type { FeedbackGuard } from '../keys/feedback-guard.js'
import type { SwitchGuard } from '../keys/switch-guard.js'
import { CommonWay } from './common-way.js'
import type { FlowOptions } from './flow-options.js'

/** What acknowledgements collect: telemetry of no way, their own, or that of the data. */
export type Reverse = 'none' | 'own-way' | 'data-way'

/** What acknowledgements collect by these needs. */
export function reverseOf(needs: readonly Need[]): Reverse {
  const need = needs.find(({ id }) => id === NeedId.REVERSE_TELEMETRY)
  if (need === undefined) return 'none'
  return need.value === ReverseTelemetry.OWN_WAY ? 'own-way' : 'data-way'
}

/** Needs on which two ends have agreed. */
interface Agreed {
  readonly granted: readonly Need[]
  readonly refused: readonly Need[]
}

/** What follows from them. */
interface Grants {
  /** Bit `id` is set for each need that is granted. */
  bits: number
  stamps: boolean
  reverse: Reverse
  reverseAsked: Reverse
  reportsMarks: boolean
  acksEnough: boolean
}

const KNOWN_GRANTS = new WeakMap<Agreed, Grants>()

/** Worked out once for all connections with the same agreement. */
function grantsOf(agreed: Agreed): Grants {
  const known = KNOWN_GRANTS.get(agreed)
  if (known !== undefined) return known
  const { granted, refused } = agreed
  const refuses = (id: number) => refused.some(need => need.id === id)
  const reverse = reverseOf(granted)
  const grants = {
    bits: granted.reduce((bits, { id }) => bits | (1 << id), 0),
    stamps: granted.some(({ id }) => id === NeedId.TIME_STAMPS || id === NeedId.HOP_COUNT),
    reverse,
    reverseAsked: reverse === 'none' ? reverseOf(refused) : reverse,
    reportsMarks: !refuses(NeedId.MARKS),
    acksEnough: !refuses(NeedId.ACK_EVERY),
  }
  KNOWN_GRANTS.set(agreed, grants)
  return grants
}

/** What a peer that is a Weir host has said of itself. */
interface PeerFeatures {
  answersPaths: boolean
  numbersWindows: boolean
  keepsPort: boolean
  takesRuns: boolean
  selectiveRepeat: boolean
  /** Longest payload of its packets, bytes. */
  pathMtu: number
  /** The payload that fills its packets, 0 = it does not fill them. */
  filledPayload: number
  /** It would do without ICRCs. */
  withoutIcrc: boolean
  /** Packets with payload may carry acknowledgements. */
  carriesAcks: boolean
}

/** What this end would do. */
type OwnWays = Pick<
  FlowOptions,
  'udpPort' | 'packetBytes' | 'pathMtu' | 'filledPayload' | 'selectiveRepeat' | 'withoutIcrc' | 'carriesAcks'
>

/** The other end of a connection: what both ends have agreed on, and by what it is known. Its fields change by its methods. */
export class Peer {
  /** UDP port of RoCEv2 at the peer; 0 = the same as this host's. */
  readonly udpPort: number
  /** Bytes of the longest IP packet that this end tries to send to it; 0 = a user has chosen the path MTU. */
  readonly packetBytes: number
  /** Payload that fills a packet, 0 = packets are not filled. */
  readonly filledPayload: CommonWay<number>
  /** Packets have no ICRC. */
  readonly withoutIcrc: CommonWay<boolean>
  /** Packets with payload may carry acknowledgements. */
  readonly carriesAcks: CommonWay<boolean>
  /** It understands shims, probes and notifications. */
  isWeir = false
  #answersPaths = false
  #numbersWindows = false
  /** It sends all its packets from one UDP port. */
  keepsPort = false
  /** Packets to it may leave in runs, see `Port.takesRuns`. */
  takesRuns = true
  /** Its acknowledgements tell how packets arrived, as this end has asked. */
  stamps = false
  /** What its acknowledgements collect, as this end has asked and the peer has granted. */
  reverse: Reverse = 'none'
  /** What they were asked to collect, whether or not they do. */
  reverseAsked: Reverse = 'none'
  #reportsMarks = true
  #acksEnough = true
  /** What it does for this end's controller: bit `id` is set for each need. */
  granted = 0
  #selectiveRepeat: boolean
  /** Path MTU as InfiniBand knows it. Before the handshake this end's, after it what both have. */
  pathMtu: number
  /** Authenticates feedback, both ways; null without a shared secret. */
  guard: FeedbackGuard | null = null
  #switchGuard: SwitchGuard | null = null
  #ends: EndProof | null = null
  #repeatsNs: Nanos = DOUBLE_0
  /** Somebody claims that the peer no longer knows the connection, and the peer has been asked. */
  challenged = false

  constructor(own: OwnWays) {
    this.udpPort = own.udpPort
    this.packetBytes = own.packetBytes
    this.pathMtu = own.pathMtu
    this.filledPayload = new CommonWay(own.filledPayload, 0)
    this.withoutIcrc = new CommonWay(own.withoutIcrc, false)
    this.carriesAcks = new CommonWay(own.carriesAcks, false)
    this.#selectiveRepeat = own.selectiveRepeat
  }

  /** It answers path probes. */
  get answersPaths(): boolean {
    return this.#answersPaths
  }

  /** Its data packets say with which of this end's windows they were sent. */
  get numbersWindows(): boolean {
    return this.#numbersWindows
  }

  /** It reports CE marks, as this end has asked: packets may be marked instead of dropped. */
  get reportsMarks(): boolean {
    return this.#reportsMarks
  }

  /** It acknowledges as often as this end has asked. If not, packets ask for acknowledgements themselves. */
  get acksEnough(): boolean {
    return this.#acksEnough
  }

  /** Selective repeat instead of go-back-N. Before the handshake what this end would do, after it what both do. */
  get selectiveRepeat(): boolean {
    return this.#selectiveRepeat
  }

  /** Payload bytes of a full packet, once the handshake has settled them. */
  get payloadMax(): number {
    return this.filledPayload.offered || this.pathMtu
  }

  /** Authenticates what switches say directly; null without a shared secret. */
  get switchGuard(): SwitchGuard | null {
    return this.#switchGuard
  }

  /** What proves who ends the connection; null without a key. */
  get ends(): EndProof | null {
    return this.#ends
  }

  /** How long it repeats a request that nobody answers. */
  get repeatsNs(): Nanos {
    return this.#repeatsNs
  }

  /** What the peer does for this end's controller, and what it refuses to do. Nobody may change `agreed` any more. */
  grant(agreed: Agreed): void {
    const { bits, stamps, reverse, reverseAsked, reportsMarks, acksEnough } = grantsOf(agreed)
    this.granted = bits
    // What comes unasked from now on is dropped, but what was asked for may be on its way.
    this.stamps ||= stamps
    this.reverse = reverse
    this.reverseAsked = reverseAsked
    this.#reportsMarks = reportsMarks
    this.#acksEnough = acksEnough
  }

  /** The peer is a Weir host, and both do what both can. */
  agree(said: PeerFeatures): void {
    this.isWeir = true
    this.#answersPaths = said.answersPaths
    this.#numbersWindows = said.numbersWindows
    this.keepsPort = said.keepsPort
    this.takesRuns = said.takesRuns
    this.#selectiveRepeat &&= said.selectiveRepeat
    this.pathMtu = Math.min(this.pathMtu, said.pathMtu)
    this.filledPayload.agree(said.filledPayload)
    this.withoutIcrc.agree(said.withoutIcrc)
    this.carriesAcks.agree(said.carriesAcks)
  }

  /** The peer has said nothing of itself: it has what RoCEv2 has. */
  isPlain(): void {
    this.#selectiveRepeat = false
    this.filledPayload.drop()
    this.withoutIcrc.drop()
    this.carriesAcks.drop()
  }

  /** Both ends have the connection's keys. */
  trust(guard: FeedbackGuard, ends: EndProof): void {
    this.guard = guard
    this.#ends = ends
  }

  /** Switches have a key with this host. */
  trustSwitches(guard: SwitchGuard): void {
    this.#switchGuard = guard
  }

  /** @param ns retries and their timeout, as negotiated */
  repeatsFor(ns: Nanos): void {
    this.#repeatsNs = ns
  }

  /** The peer is asked whether it knows the connection. */
  onChallenged(): void {
    this.challenged = true
  }

  /** It does. */
  onAlive(): void {
    this.challenged = false
  }
}
