import { TxKind } from '../../qp/queue-pair.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { Flow } from '../flow/flow.js'
import { FlowRing } from './flow-ring.js'
import { TimingWheel } from './timing-wheel.js'

const NONE = -1

/**
 * The scheduler of the draft's NIC (section on implementation, the figure of the NIC): paces every flow by its rate,
 * holds it to its window, and shares the link fairly among the flows that may send.
 *
 * A flow is in one of three places: nowhere (nothing to send, or its window is full), in the timing wheel (it may
 * send later), or in the ready ring (it may send now). Acknowledgements have a ring of their own, and are never
 * paced. A packet with payload that carries one leaves by that ring, when its pace allows it. Each ring holds a flow at
 * most once, so the number of flows bounds them.
 *
 * When its turn comes, a flow whose priority the switch has paused is set aside in a similar ring, and goes back to
 * the one it came from once its priority may send again.
 */
export class Scheduler {
  readonly #flows: readonly (Flow | null)[]
  readonly #wheel: TimingWheel
  readonly #ready: FlowRing
  readonly #acks: FlowRing
  readonly #heldReady: FlowRing
  readonly #heldAcks: FlowRing
  /** Bit p: flows of priority p must not send. */
  #held = 0
  /** The flow whose turn it is, or -1, and the packets that it has left. */
  #turn = NONE
  #turnPackets = 0
  /** What the flow that `nextReady` returned has to send first: RESPONSE or REQUEST. */
  readyKind: TxKind = TxKind.NONE

  /** @param flows the NIC's table: a flow's index is its entry; @param capacity the table's size */
  constructor(flows: readonly (Flow | null)[], capacity: number) {
    this.#flows = flows
    this.#wheel = new TimingWheel(capacity)
    this.#ready = new FlowRing(capacity)
    this.#acks = new FlowRing(capacity)
    this.#heldReady = new FlowRing(capacity)
    this.#heldAcks = new FlowRing(capacity)
  }

  /** Bit p: from now on flows of priority p must not send. Those that may again take their turn behind the others. */
  hold(mask: number): void {
    const released = this.#held & ~mask
    this.#held = mask
    if (released === 0) return
    this.#release(this.#heldReady, this.#ready)
    this.#release(this.#heldAcks, this.#acks)
  }

  /** Something about the flow has changed: what it has to send, its window or its rate. */
  update(flow: Flow, now: Nanos): void {
    const { index } = flow
    if (this.#ready.has(index) || (this.#held !== 0 && this.#heldReady.has(index))) {
      if (flow.owesAck) this.#pushAck(flow)
      return
    }
    const kind = flow.next()
    if (kind === TxKind.ACK) this.#pushAck(flow)
    this.#place(flow, kind > TxKind.ACK ? flow.sender.nextSendNs() : NEVER, now)
  }

  /** The flow that `nextReady` returned has sent so many packets, a run at most: it goes on at once, or its turn is over. */
  sent(flow: Flow, now: Nanos, packets: number): void {
    const kind = flow.next()
    if (kind === TxKind.ACK) this.#pushAck(flow)
    const due = kind > TxKind.ACK ? flow.sender.nextSendNs() : NEVER
    this.#turnPackets -= packets
    if (this.#turnPackets > 0 && due <= now) {
      this.#wheel.remove(flow.index)
      this.#ready.putFirst(flow.index)
      return
    }
    this.#turn = NONE
    this.#place(flow, due, now)
  }

  /**
   * A packet with payload has left with the acknowledgement that was owed. If the flow was ready, its pace may not allow the next one
   * yet.
   */
  carried(flow: Flow, now: Nanos): void {
    if (this.#ready.has(flow.index) && flow.sender.nextSendNs() > now) this.#ready.drop(flow.index)
    this.update(flow, now)
  }

  #pushAck(flow: Flow): void {
    if (this.#isHeld(flow)) this.#heldAcks.push(flow.index)
    else this.#acks.push(flow.index)
  }

  /** @param due when the flow may send a packet with payload, NEVER = it may not */
  #place(flow: Flow, due: Nanos, now: Nanos): void {
    const { index } = flow
    if (due <= now) {
      this.#wheel.remove(index)
      this.#ready.push(index)
    } else if (due === NEVER) this.#wheel.remove(index)
    else if (due !== this.#wheel.dueOf(index)) this.#wheel.set(index, due)
  }

  /** Forgets the flow. */
  remove(flow: Flow): void {
    this.#wheel.remove(flow.index)
    this.#ready.drop(flow.index)
    this.#acks.drop(flow.index)
    this.#heldReady.drop(flow.index)
    this.#heldAcks.drop(flow.index)
  }

  /** The next flow with an acknowledgement to send, or null. */
  nextAck(): Flow | null {
    for (let index = this.#acks.shift(); index >= 0; index = this.#acks.shift()) {
      const flow = this.#flows[index]!
      if (!flow?.owesAck) continue
      if (!this.#isHeld(flow)) return flow
      this.#heldAcks.push(index)
    }
    return null
  }

  /** The next flow that may send a packet with payload now, or null. */
  nextReady(now: Nanos): Flow | null {
    for (let due = this.#wheel.pollDue(now); due >= 0; due = this.#wheel.pollDue(now)) this.#ready.push(due)
    for (let index = this.#ready.shift(); index >= 0; index = this.#ready.shift()) {
      const flow = this.#flows[index]!
      // What was true when it became ready may have changed since.
      const kind = flow === null ? TxKind.NONE : flow.next()
      if (kind <= TxKind.ACK) continue
      if (this.#isHeld(flow)) this.#heldReady.push(index)
      else {
        this.readyKind = kind
        return this.#begin(flow)
      }
    }
    return null
  }

  #begin(flow: Flow): Flow {
    if (this.#turn !== flow.index) this.#turnPackets = flow.sender.turnPackets
    this.#turn = flow.index
    return flow
  }

  #isHeld(flow: Flow): boolean {
    return this.#held !== 0 && ((this.#held >>> flow.path.priority) & 1) === 1
  }

  #release(held: FlowRing, into: FlowRing): void {
    for (let n = held.size; n > 0; n--) {
      const index = held.shift()
      const flow = this.#flows[index]!
      if (flow !== null && this.#isHeld(flow)) held.push(index)
      else into.push(index)
    }
  }

  /** No flow may send now. */
  isIdle(now: Nanos): boolean {
    return this.#acks.size === 0 && this.#ready.size === 0 && this.#wheel.nextDue() > now
  }

  /** When a flow may next send: `now` if one may already, NEVER if none will without an event. */
  nextTimeout(now: Nanos): Nanos {
    return this.#acks.size > 0 || this.#ready.size > 0 ? now : this.#wheel.nextDue()
  }
}
