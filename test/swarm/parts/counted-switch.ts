/**
 * A switch that also counts the frames of flow control that it takes in: it forwards none of them, and drops
 * the malformed ones.
 */
import type { Frame } from '../../../lib/frame/frame.js'
import type { Node } from '../../../lib/frame/node.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import { WireError } from '../../../lib/wire/bytes/wire-error.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import * as pfc from '../../../lib/wire/net/pfc.js'
import type { Switch } from '../../../switch-emu/core/switch.js'

export class CountedSwitch implements Node {
  readonly sw: Switch
  /** Frames that ended here without being dropped. */
  consumed = 0

  constructor(sw: Switch) {
    this.sw = sw
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    if (isTaken(frame)) this.consumed++
    this.sw.onFrame(now, port, frame)
  }

  onTimeout(now: Nanos): void {
    this.sw.onTimeout(now)
  }

  nextTimeout(): Nanos {
    return this.sw.nextTimeout()
  }

  pollTransmit(now: Nanos): Frame | null {
    return this.sw.pollTransmit(now)
  }
}

function isTaken({ l3, view, length }: Frame): boolean {
  const isControl =
    l3 < 0 && length >= ethernet.BYTES && ethernet.etherType(view, 0) === ethernet.TYPE_MAC_CONTROL
  if (!isControl) return false
  if (pfc.isPfc(view, 0, length)) return pfc.check(view, 0, length) === WireError.OK
  return pfc.isGlobalPause(view, 0, length)
}
