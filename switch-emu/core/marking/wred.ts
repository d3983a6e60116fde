import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import { ECN_CE, ECN_NOT_ECT } from '../../../lib/wire/net/ipv4.js'
import { ecn, markCe } from '../forwarding/ip-header.js'

/** Thresholds of marking. */
export interface Thresholds {
  /** Up to this queue length no frame is marked, bytes. */
  kminBytes: number
  /** Above this queue length every frame is marked, bytes, at least kminBytes. */
  kmaxBytes: number
  /** Probability of a mark at kmaxBytes, 0 to 1. */
  pmax: number
}

/** Returns true if both mark alike. */
export function isSame(a: Thresholds, b: Thresholds): boolean {
  return a.kminBytes === b.kminBytes && a.kmaxBytes === b.kmaxBytes && a.pmax === b.pmax
}

/** Options of marking. */
export interface EcnOptions extends Thresholds {
  /**
   * When the length is read and the mark is set: as the frame enters the queue (default), or as it leaves
   * (Fast ECN).
   */
  at?: 'enqueue' | 'dequeue'
  /** Priorities whose queues are marked. Default: all. */
  priorities?: readonly number[]
  /** Thresholds for packets of drop precedence 1, which are those of large flows. Default: those of all. */
  large?: Thresholds
}

export const WredVerdict = { PASS: 0, MARKED: 1, DROP: 2 } as const
export type WredVerdict = (typeof WredVerdict)[keyof typeof WredVerdict]

/**
 * Weighted random early detection with ECN, on the instantaneous length of one egress queue (RED of DCQCN,
 * section 3.1; RFC 3168, section 5). Up to Kmin nothing happens, above Kmax everything is marked, and between
 * them the probability rises linearly from 0 to Pmax. Frames whose transport supports ECN are marked CE.
 * Others are dropped with the same probability, but only as they enter: a frame that has waited is not
 * dropped. A lossless queue drops nothing.
 */
export class Wred {
  /** Frames that it has marked. */
  marks = 0
  #kminBytes = 0
  #kmaxBytes = 0
  #pmax = 0
  readonly #atDequeue: boolean
  readonly #mayDrop: boolean
  readonly #random: () => number

  /** @param mayDrop false for the queue of a lossless priority */
  constructor(options: EcnOptions, random: () => number, mayDrop = true) {
    this.thresholds = options
    this.#atDequeue = options.at === 'dequeue'
    this.#mayDrop = mayDrop
    this.#random = random
  }

  get thresholds(): Thresholds {
    return { kminBytes: this.#kminBytes, kmaxBytes: this.#kmaxBytes, pmax: this.#pmax }
  }

  /** They hold for the next frame. Throws WEIR_BAD_ARGUMENT for thresholds that contradict each other. */
  set thresholds({ kminBytes, kmaxBytes, pmax }: Thresholds) {
    if (!(kminBytes >= 0 && kmaxBytes >= kminBytes && pmax >= 0 && pmax <= 1)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `ecn: 0 <= kmin <= kmax and 0 <= pmax <= 1, not kmin ${kminBytes}, kmax ${kmaxBytes}, pmax ${pmax}`,
      )
    }
    this.#kminBytes = kminBytes
    this.#kmaxBytes = kmaxBytes
    this.#pmax = pmax
  }

  /** Returns the probability of a mark when the queue holds `queueBytes`. */
  probability(queueBytes: number): number {
    if (queueBytes <= this.#kminBytes) return 0
    if (queueBytes > this.#kmaxBytes) return 1
    return (this.#pmax * (queueBytes - this.#kminBytes)) / (this.#kmaxBytes - this.#kminBytes)
  }

  /** A frame will enter the queue, which holds `queueBytes` without it. */
  onEnqueue(frame: Frame, queueBytes: number): WredVerdict {
    if (queueBytes <= this.#kminBytes) return WredVerdict.PASS
    const codepoint = markable(frame)
    if (codepoint === ECN_CE) return WredVerdict.PASS
    if (codepoint === ECN_NOT_ECT) {
      return this.#mayDrop && this.#hits(queueBytes) ? WredVerdict.DROP : WredVerdict.PASS
    }
    if (this.#atDequeue || !this.#hits(queueBytes)) return WredVerdict.PASS
    markCe(frame)
    this.marks++
    return WredVerdict.MARKED
  }

  /** A frame has left the queue, which holds `queueBytes` now. Returns true if it was marked. */
  onDequeue(frame: Frame, queueBytes: number): boolean {
    if (!this.#atDequeue || queueBytes <= this.#kminBytes) return false
    const codepoint = markable(frame)
    if (codepoint === ECN_CE || codepoint === ECN_NOT_ECT || !this.#hits(queueBytes)) return false
    markCe(frame)
    this.marks++
    return true
  }

  #hits(queueBytes: number): boolean {
    const p = this.probability(queueBytes)
    // A certain outcome draws no random number, so that random numbers are used only for choices.
    return p >= 1 || (p > 0 && this.#random() < p)
  }
}

/** Returns the ECN codepoint by which a queue decides. At the ends of a tunnel it is that of the outer header. */
function markable(frame: Frame): number {
  return frame.outerNotEct ? ECN_NOT_ECT : ecn(frame)
}
