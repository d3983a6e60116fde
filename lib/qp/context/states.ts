import { WeirError } from '../../errors.js'

/** States of a queue pair (IBA 10.3.1), with the verbs' names. */
export const QpState = {
  RESET: 0,
  INIT: 1,
  RTR: 2,
  RTS: 3,
  SQD: 4,
  SQE: 5,
  ERR: 6,
} as const
export type QpState = (typeof QpState)[keyof typeof QpState]

const NAMES = ['RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR'] as const

export function qpStateName(state: QpState): string {
  return NAMES[state]
}

/** What a state allows. */
interface StateRule {
  /** States that `modify` may go to from here; RESET and ERR may always be gone to. */
  next: readonly QpState[]
  /** `postReceive` is allowed. */
  postReceive: boolean
  /** `postSend` is allowed. */
  postSend: boolean
  /** Requests of the peer are carried out. */
  responds: boolean
  /** Responses of the peer are taken, and requests that have begun go on. */
  requests: boolean
  /** Work requests that have not begun may begin. */
  begins: boolean
  /** Work requests are completed with WR_FLUSH_ERR. */
  flushes: boolean
}

/**
 * The one table of states and transitions (IBA 10.3.1). A reliable connected queue
 * pair never gets into SQE by an error, as datagram ones do: every error leads to ERR.
 */
export const STATE_TABLE: readonly StateRule[] = [
  /* RESET */ {
    next: [QpState.INIT],
    postReceive: false,
    postSend: false,
    responds: false,
    requests: false,
    begins: false,
    flushes: false,
  },
  /* INIT */ {
    next: [QpState.INIT, QpState.RTR],
    postReceive: true,
    postSend: false,
    responds: false,
    requests: false,
    begins: false,
    flushes: false,
  },
  /* RTR */ {
    next: [QpState.RTS],
    postReceive: true,
    postSend: false,
    responds: true,
    requests: false,
    begins: false,
    flushes: false,
  },
  /* RTS */ {
    next: [QpState.RTS, QpState.SQD],
    postReceive: true,
    postSend: true,
    responds: true,
    requests: true,
    begins: true,
    flushes: false,
  },
  /* SQD */ {
    next: [QpState.RTS, QpState.SQD],
    postReceive: true,
    postSend: true,
    responds: true,
    requests: true,
    begins: false,
    flushes: false,
  },
  /* SQE */ {
    next: [QpState.RTS],
    postReceive: true,
    postSend: true,
    responds: true,
    requests: false,
    begins: false,
    flushes: false,
  },
  /* ERR */ {
    next: [],
    postReceive: true,
    postSend: true,
    responds: false,
    requests: false,
    begins: false,
    flushes: true,
  },
]

/** True if `modify` may take a queue pair from one state to the other. */
export function mayBecome(from: QpState, to: QpState): boolean {
  return to === QpState.RESET || to === QpState.ERR || STATE_TABLE[from]!.next.includes(to)
}

/** Throws WEIR_BAD_STATE, naming the ways on, for a transition that the table does not have. */
export function checkTransition(qpn: number, from: QpState, to: QpState): void {
  if (mayBecome(from, to)) return
  const ways = [...STATE_TABLE[from]!.next, QpState.RESET, QpState.ERR].map(qpStateName).join(', ')
  throw new WeirError(
    'WEIR_BAD_STATE',
    `queue pair ${qpn}: ${qpStateName(from)} cannot become ${NAMES[to] ?? to}; from here it goes to ${ways}`,
  )
}
