/**
 * Controllers that only tests need: one object each. They send with a fixed window, and record what they
 * learn.
 */
import type { ControllerEntry } from '../../lib/cc/catalogue.js'
import {
  type AckSample,
  type CongestionContext,
  type CongestionControl,
  type FeedbackSource,
  NO_RATE,
  type ReceiverControl,
  WindowDue,
} from '../../lib/cc/congestion-control.js'
import { optionNumber } from '../../lib/cc/options.js'

/** What a sample contained. */
interface Heard {
  now: number
  source: FeedbackSource
  seq: number
  rttNs: number
  sentNs: number
  arrivedNs: number
  leftNs: number
  turnaroundNs: number
  hopCount: number
  /** Ids of the switches, in the order of the records. */
  hops: number[]
  reverse: number[]
  /** Queues, bytes. */
  queues: number[]
  reverseQueues: number[]
  /** N. */
  flows: number
  ackedBytes: number
  inFlightBytes: number
  ecnEcho: boolean
}

function heard(now: number, sample: AckSample): Heard {
  const { source, seq, rttNs, sentNs, arrivedNs, leftNs, turnaroundNs, hopCount, hops, reverseHops } = sample
  return {
    now,
    source,
    seq,
    rttNs,
    sentNs,
    arrivedNs,
    leftNs,
    turnaroundNs,
    hopCount,
    hops: [...hops.switchId.subarray(0, hops.count)],
    reverse: [...reverseHops.switchId.subarray(0, reverseHops.count)],
    queues: [...hops.qlenBytes.subarray(0, hops.count)],
    flows: hops.flows,
    ackedBytes: sample.ackedBytes,
    inFlightBytes: sample.inFlightBytes,
    ecnEcho: sample.ecnEcho,
    reverseQueues: [...reverseHops.qlenBytes.subarray(0, reverseHops.count)],
  }
}

/** A window of one bandwidth-delay product, whatever arrives. */
class Listener implements CongestionControl {
  readonly name: string
  readonly observed = ['windowBytes'] as const
  readonly #windowBytes: number
  readonly #into: Heard[]
  readonly #cnps: number[]

  constructor(name: string, { lineRateBps, baseRttNs }: CongestionContext, into: Heard[], cnps: number[]) {
    this.name = name
    this.#windowBytes = Math.max(4096, (lineRateBps * baseRttNs) / 8e9)
    this.#into = into
    this.#cnps = cnps
  }

  onAck(now: number, sample: AckSample): void {
    this.#into.push(heard(now, sample))
  }
  onTelemetry(now: number, sample: AckSample): void {
    this.#into.push(heard(now, sample))
  }
  onCnp(now: number, sample: AckSample): void {
    this.#cnps.push(now)
    this.#into.push(heard(now, sample))
  }
  onLoss(): void {}
  windowBytes(): number {
    return this.#windowBytes
  }
  rateBps(): number {
    return NO_RATE
  }
  observe(into: Float64Array): void {
    into[0] = this.#windowBytes
  }
}

export const stampsHeard: Heard[] = []
/** Needs a time stamp of the remote host. */
export const STAMPS: ControllerEntry = {
  name: 'stamps',
  options: [
    {
      name: 'target',
      kind: 'time',
      min: 1000,
      max: 1e9,
      default: 20_000,
      doc: 'delay of the network, without that of the peer, that the flow aims at',
    },
  ],
  needs: { timeStamps: true, hopCount: true },
  otherwise: 'cubic',
  create: (context, options) => {
    optionNumber('stamps', STAMPS.options, options, 'target')
    return new Listener('stamps', context, stampsHeard, [])
  },
}

export const wayBackHeard: Heard[] = []
/** Needs the telemetry of both ways. */
export const WAY_BACK: ControllerEntry = {
  name: 'way-back',
  options: [],
  needs: { telemetry: 'all', reverseTelemetry: 'own-way' },
  create: context => new Listener('way-back', context, wayBackHeard, []),
}

export const dataWayHeard: Heard[] = []
/** Needs the telemetry of the data's way, collected by acknowledgements. */
export const DATA_WAY: ControllerEntry = {
  name: 'data-way',
  options: [],
  needs: { reverseTelemetry: 'data-way' },
  create: context => new Listener('data-way', context, dataWayHeard, []),
}

export const cnpsHeard: number[] = []
export const cnpSamples: Heard[] = []
/** Needs CNPs. */
export const MARKED: ControllerEntry = {
  name: 'marked',
  options: [],
  needs: { cnpIntervalNs: 50_000 },
  create: context => new Listener('marked', context, cnpSamples, cnpsHeard),
}

/** Needs an acknowledgement for each 4 packets, and no other controller without. */
export const OFTEN: ControllerEntry = {
  name: 'often',
  options: [],
  needs: { ackEvery: 4 },
  create: context => new Listener('often', context, [], []),
}

export const probedHeard: Heard[] = []
/** Needs probes that collect telemetry. */
export const PROBED: ControllerEntry = {
  name: 'probed',
  options: [],
  needs: { telemetry: 'probes' },
  otherwise: 'fixed-window',
  create: context => new Listener('probed', context, probedHeard, []),
}

export const greedyHeard: Heard[] = []
/** Needs everything that a peer can grant; what takes over needs nothing. */
export const GREEDY: ControllerEntry = {
  name: 'greedy',
  options: [],
  needs: {
    telemetry: 'all',
    reverseTelemetry: 'own-way',
    timeStamps: true,
    hopCount: true,
    marks: true,
    cnpIntervalNs: 50_000,
    ackEvery: 2,
  },
  otherwise: 'fixed-window',
  create: context => new Listener('greedy', context, greedyHeard, []),
}

/** Gives one window for each T, whatever the telemetry contains. */
class Giver implements ReceiverControl {
  readonly baseRttNs: number
  readonly #windowBytes: number
  #given = false

  constructor({ baseRttNs }: CongestionContext, windowBytes: number) {
    this.baseRttNs = baseRttNs
    this.#windowBytes = windowBytes
  }

  onTelemetry(): number {
    const due = this.#given ? WindowDue.NOTHING : WindowDue.NEW
    this.#given = true
    return due
  }
  onDirectResponse(): number {
    return WindowDue.NOTHING
  }
  onPathChange(): void {}
  onBaseRtt(): void {}
  windowBytes(): number {
    return this.#windowBytes
  }
}

export const windowsTaken: number[] = []
class Taker extends Listener {
  onReceiverWindow(_now: number, windowBytes: number): void {
    windowsTaken.push(windowBytes)
  }
}

/** Makes the receiver compute the window, with an option that the request carries. */
export const GIVEN: ControllerEntry = {
  name: 'given',
  options: [
    { name: 'window', kind: 'bytes', min: 1, max: 1e9, default: 50_000, doc: 'what the receiver gives' },
  ],
  needs: { telemetry: 'all' },
  otherwise: 'fixed-window',
  create: context => new Taker('given', context, [], []),
  receivingPart: {
    number: 5,
    optionPlaces: { window: 10 },
    create: (context, options) => new Giver(context, optionNumber('given', GIVEN.options, options, 'window')),
  },
}
