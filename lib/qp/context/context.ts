import type { Nanos } from '../../time/nanos.js'
import { ReceiveQueue } from '../queues/receive-queue.js'
import { SendQueue } from '../queues/send-queue.js'
import type { WorkStatus } from '../queues/work-status.js'
import type { QpSettings } from './config.js'
import { QpCounters } from './counters.js'
import type { QpObserver } from './observer.js'
import { QpState, STATE_TABLE } from './states.js'

/** What the two halves of a queue pair share: settings, state, work queues, counters. */
export class QpContext {
  readonly qpn: number
  readonly settings: QpSettings
  readonly observer: QpObserver
  readonly counters = new QpCounters()
  readonly sendQueue: SendQueue
  readonly receiveQueue: ReceiveQueue
  #state: QpState = QpState.RESET
  /** Requests of the peer are carried out. Like the next two, by the row of the state. */
  responds = false
  /** Responses of the peer are taken, and requests are sent. */
  requests = false
  /** Work requests that have not begun may begin. */
  begins = false
  remoteQpn = 0
  /** Request packets and READ responses sent so far: numbers them, from 0. */
  transmissions = 0
  /** The current packet is new, and is carried out or kept. It did not arrive before, and somebody awaits it. */
  took = false
  /** The current packet is a response of which nothing is taken: it came before, or there is no room to keep it. */
  arrivedInVain = false
  /** Ends timers and what is being sent; set by the queue pair. */
  onStopped: () => void = () => {}

  constructor(settings: QpSettings, observer: QpObserver) {
    this.qpn = settings.qpn
    this.settings = settings
    this.observer = observer
    this.sendQueue = new SendQueue(settings.qpn, settings.sendQueueDepth, settings.sendCq)
    this.receiveQueue = new ReceiveQueue(
      settings.qpn,
      settings.receiveQueueDepth,
      settings.receiveCq,
      settings.receiveSource,
    )
  }

  get state(): QpState {
    return this.#state
  }

  set state(state: QpState) {
    this.#state = state
    const rule = STATE_TABLE[state]!
    this.responds = rule.responds
    this.requests = rule.requests
    this.begins = rule.begins
  }

  /**
   * Into error (IBA 9.9.2, 10.3.1): every work request left completes with WR_FLUSH_ERR, once. A caller that has
   * another status for one of them completes that one first.
   */
  fail(now: Nanos, status: WorkStatus): void {
    if (this.state === QpState.ERR) return
    this.state = QpState.ERR
    this.sendQueue.flush()
    this.receiveQueue.flush()
    this.onStopped()
    this.observer.onError(now, status)
  }
}
