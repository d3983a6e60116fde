/**
 * Two parts of one stage, called as one: first the one, then the other. A switch calls one part at each stage, or none. So a
 * stage with one feature costs a call of that feature, and no loop.
 */
import type { Frame } from '../../../lib/frame/frame.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import { DropReason } from '../queueing/counters.js'
import type { EgressPort, EnqueueStage, GrowStage } from '../queueing/egress-port.js'
import { type SwitchFeature, UNDECIDED } from './feature.js'

type Stage<K extends keyof SwitchFeature> = Required<Pick<SwitchFeature, K>>
export type ForwardStage = Stage<'forward'>
export type ArriveStage = Stage<'arrive'>
/** Admits frames, and learns when they leave. */
export type AdmitStage = Stage<'admit'> & Pick<SwitchFeature, 'leave'>
export type OfferedStage = Stage<'offered'>
export type StartStage = Stage<'start'>
export type PauseStage = Stage<'pause'>
export type LinkLocalStage = Stage<'linkLocal'>

class InTurn<T> {
  protected readonly one: T
  protected readonly other: T

  constructor(one: T, other: T) {
    this.one = one
    this.other = other
  }
}

/** The first that decides counts. */
export class ForwardInTurn extends InTurn<ForwardStage> implements ForwardStage {
  forward(now: Nanos, frame: Frame, ingress: number): number {
    const chosen = this.one.forward(now, frame, ingress)
    return chosen === UNDECIDED ? this.other.forward(now, frame, ingress) : chosen
  }
}

/** The other gets the priority that the one has chosen. */
export class ArriveInTurn extends InTurn<ArriveStage> implements ArriveStage {
  arrive(now: Nanos, frame: Frame, ingress: number, egress: number, priority: number): number {
    const chosen = this.one.arrive(now, frame, ingress, egress, priority)
    return this.other.arrive(now, frame, ingress, egress, chosen)
  }
}

/** If the other refuses a frame, the one that has admitted it learns that it leaves. */
export class AdmitInTurn extends InTurn<AdmitStage> implements AdmitStage {
  admit(now: Nanos, frame: Frame, ingress: number, priority: number): DropReason {
    const refused = this.one.admit(now, frame, ingress, priority)
    if (refused !== DropReason.NONE) return refused
    const reason = this.other.admit(now, frame, ingress, priority)
    if (reason !== DropReason.NONE) this.one.leave?.(now, frame, ingress, priority)
    return reason
  }

  leave(now: Nanos, frame: Frame, ingress: number, priority: number): void {
    this.one.leave?.(now, frame, ingress, priority)
    this.other.leave?.(now, frame, ingress, priority)
  }
}

/** The other does not see a frame that the one drops. */
export class EnqueueInTurn extends InTurn<EnqueueStage> implements EnqueueStage {
  enqueue(now: Nanos, frame: Frame, port: EgressPort, priority: number): DropReason {
    const refused = this.one.enqueue(now, frame, port, priority)
    return refused === DropReason.NONE ? this.other.enqueue(now, frame, port, priority) : refused
  }
}

export class OfferedInTurn extends InTurn<OfferedStage> implements OfferedStage {
  offered(now: Nanos, frame: Frame, ingress: number, port: EgressPort, priority: number): void {
    this.one.offered(now, frame, ingress, port, priority)
    this.other.offered(now, frame, ingress, port, priority)
  }
}

/** A frame gets longer by the sum. */
export class GrowInTurn extends InTurn<GrowStage> implements GrowStage {
  grow(frame: Frame): number {
    return this.one.grow(frame) + this.other.grow(frame)
  }
}

export class StartInTurn extends InTurn<StartStage> implements StartStage {
  start(startNs: Nanos, frame: Frame, port: EgressPort, ingress: EgressPort): void {
    this.one.start(startNs, frame, port, ingress)
    this.other.start(startNs, frame, port, ingress)
  }
}

export class PauseInTurn extends InTurn<PauseStage> implements PauseStage {
  pause(now: Nanos, port: number, priority: number): void {
    this.one.pause(now, port, priority)
    this.other.pause(now, port, priority)
  }
}

/** The other does not see a frame that the one takes. */
export class LinkLocalInTurn extends InTurn<LinkLocalStage> implements LinkLocalStage {
  linkLocal(now: Nanos, frame: Frame, port: number): boolean {
    return this.one.linkLocal(now, frame, port) || this.other.linkLocal(now, frame, port)
  }
}
