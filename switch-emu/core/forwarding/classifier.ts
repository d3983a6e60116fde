import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import { PRIORITIES } from '../queueing/shared-buffer.js'
import { dscp } from './ip-header.js'

const DSCPS = 64
const PCPS = 8

/** Maps to priorities. A frame that the maps do not contain has priority 0. */
export interface ClassifierOptions {
  /** Priority 0 to 7 by DSCP 0 to 63. Others have 0. */
  dscp?: Readonly<Record<number, number>>
  /** Priority 0 to 7 by PCP 0 to 7 of the VLAN tag. If given, it decides for frames with a tag. */
  pcp?: Readonly<Record<number, number>>
}

/** Returns the priority of frames: 0 unless a map says otherwise. */
export class Classifier {
  readonly #dscp: Uint8Array
  readonly #pcp: Uint8Array | null

  constructor(options: ClassifierOptions = {}) {
    this.#dscp = tableOf('DSCP', DSCPS, options.dscp ?? {})
    this.#pcp = options.pcp === undefined ? null : tableOf('PCP', PCPS, options.pcp)
  }

  /** Priority of a frame whose IP header has been found. */
  priority(frame: Frame): number {
    const { view, l3 } = frame
    if (this.#pcp !== null && l3 === ethernet.TAGGED_BYTES) return this.#pcp[ethernet.vlanPriority(view, 0)]!
    return this.#dscp[dscp(frame)]!
  }
}

function tableOf(what: string, size: number, map: Readonly<Record<number, number>>): Uint8Array {
  const table = new Uint8Array(size)
  for (const [text, priority] of Object.entries(map)) {
    const key = Number(text)
    const valid = Number.isInteger(key) && key >= 0 && key < size
    if (!valid || !Number.isInteger(priority) || priority < 0 || priority >= PRIORITIES) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `classifier: ${what} 0 to ${size - 1} maps to a priority 0 to ${PRIORITIES - 1}, not ${text} to ${priority}`,
      )
    }
    table[key] = priority
  }
  return table
}
