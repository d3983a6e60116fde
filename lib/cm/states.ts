/**
 * States and transitions of a connection: the state diagrams of IBA 12.9.7 (active, passive) and 12.9.8 (release)
 * in one table, with Linux's choices where the diagrams leave one. A trigger that the table does not have changes nothing
 * and gets no answer. It counts as ignored.
 *
 * Names are the diagrams'. These of their states are omitted: REP Rcvd and DREQ Rcvd, which this manager
 * leaves in the step that enters them, and all states of path migration.
 */

export type State =
  | 'IDLE'
  | 'REQ_SENT'
  | 'MRA_REQ_RCVD'
  | 'REQ_RCVD'
  | 'MRA_REQ_SENT'
  | 'REP_SENT'
  | 'MRA_REP_RCVD'
  | 'ESTABLISHED'
  | 'DREQ_SENT'
  | 'TIMEWAIT'

export type Trigger =
  // Commands of the application.
  | 'connect'
  | 'accept'
  | 'reject'
  | 'postpone'
  | 'close'
  // Both ends have agreed without messages.
  | 'join'
  // Messages of the peer. `rejStale` is a REJ for reason 10, `badRep` a REP that this end cannot accept.
  | 'req'
  | 'rep'
  | 'badRep'
  | 'rtu'
  | 'rej'
  | 'rejStale'
  | 'mraReq'
  | 'mraRep'
  | 'dreq'
  | 'drep'
  // The first packet on the queue pair.
  | 'data'
  // Another connection claims the same remote queue pair. The peer shows that it knows this one. The peer
  // stays silent.
  | 'claim'
  | 'alive'
  | 'stale'
  // Time: an answer is overdue, with and without remaining retries; timewait is over.
  | 'overdue'
  | 'exhausted'
  | 'expire'

export type Action =
  | 'sendReq'
  | 'sendRep'
  | 'sendRtu'
  | 'sendMra'
  | 'sendDreq'
  | 'sendDrep'
  | 'rejectReq'
  | 'rejectRep'
  | 'rejectStale'
  | 'rejectTimeout'
  | 'rejectOther'
  | 'repeat'
  | 'extend'
  | 'startTimewait'
  | 'startChallenge'
  | 'repeatChallenge'
  | 'endChallenge'
  | 'tellRequest'
  | 'tellEstablished'
  | 'tellRejected'
  | 'tellTimedOut'
  | 'tellDisconnected'
  | 'tellTimewaitEnded'

/** The next state, then its actions in order. */
export type Transition = readonly [next: State, ...actions: Action[]]

type Row = { readonly [T in Trigger]?: Transition }

/** The active side waits for a REP, with or without an MRA in between. */
const AWAITING_REP: Row = {
  rep: ['ESTABLISHED', 'sendRtu', 'tellEstablished'],
  badRep: ['TIMEWAIT', 'rejectRep', 'tellRejected', 'startTimewait'],
  rej: ['IDLE', 'tellRejected'],
  rejStale: ['TIMEWAIT', 'tellRejected', 'startTimewait'],
  exhausted: ['IDLE', 'rejectTimeout', 'tellTimedOut'],
  close: ['IDLE', 'rejectTimeout', 'tellDisconnected'],
}

/** The passive side's application has not decided yet. */
const UNDECIDED: Row = {
  // An MRA answers a repeated REQ, so that the active side waits for the application.
  req: ['MRA_REQ_SENT', 'sendMra'],
  postpone: ['MRA_REQ_SENT', 'sendMra'],
  accept: ['REP_SENT', 'sendRep'],
  reject: ['IDLE', 'rejectReq'],
  close: ['IDLE', 'rejectReq', 'tellDisconnected'],
  rej: ['IDLE', 'tellRejected'],
  rejStale: ['TIMEWAIT', 'tellRejected', 'startTimewait'],
}

/**
 * The passive side waits for an RTU. A repeated REQ gets no answer here, because the REP's own timer repeats
 * the REP.
 */
const AWAITING_RTU: Row = {
  rtu: ['ESTABLISHED', 'tellEstablished'],
  // Data can overtake the RTU, or arrive in its place (IBA 12.9.7.2).
  data: ['ESTABLISHED', 'tellEstablished'],
  dreq: ['TIMEWAIT', 'sendDrep', 'tellDisconnected', 'startTimewait'],
  rej: ['IDLE', 'tellRejected'],
  rejStale: ['TIMEWAIT', 'tellRejected', 'startTimewait'],
  exhausted: ['IDLE', 'rejectTimeout', 'tellTimedOut'],
  close: ['IDLE', 'rejectOther', 'tellDisconnected'],
}

export const TRANSITIONS: { readonly [S in State]: Row } = {
  IDLE: {
    connect: ['REQ_SENT', 'sendReq'],
    join: ['ESTABLISHED'],
    req: ['REQ_RCVD', 'tellRequest'],
  },
  REQ_SENT: {
    ...AWAITING_REP,
    mraReq: ['MRA_REQ_RCVD', 'extend'],
    overdue: ['REQ_SENT', 'repeat'],
  },
  MRA_REQ_RCVD: {
    ...AWAITING_REP,
    overdue: ['MRA_REQ_RCVD', 'repeat'],
  },
  REQ_RCVD: UNDECIDED,
  MRA_REQ_SENT: UNDECIDED,
  REP_SENT: {
    ...AWAITING_RTU,
    mraRep: ['MRA_REP_RCVD', 'extend'],
    overdue: ['REP_SENT', 'repeat'],
  },
  MRA_REP_RCVD: {
    ...AWAITING_RTU,
    overdue: ['MRA_REP_RCVD', 'repeat'],
  },
  ESTABLISHED: {
    // The RTU was lost: the peer repeats its REP until one arrives.
    rep: ['ESTABLISHED', 'sendRtu'],
    dreq: ['TIMEWAIT', 'sendDrep', 'tellDisconnected', 'startTimewait'],
    rej: ['TIMEWAIT', 'tellDisconnected', 'startTimewait'],
    rejStale: ['TIMEWAIT', 'tellDisconnected', 'startTimewait'],
    // IBA 12.9.8.3.1 ends the connection at once, so that anybody who can claim a queue pair could end it.
    // Here the peer of the established connection is asked first, as RFC 5961, section 4, does for TCP.
    claim: ['ESTABLISHED', 'startChallenge'],
    alive: ['ESTABLISHED', 'endChallenge'],
    overdue: ['ESTABLISHED', 'repeatChallenge'],
    stale: ['DREQ_SENT', 'sendDreq', 'tellDisconnected'],
    close: ['DREQ_SENT', 'sendDreq'],
  },
  DREQ_SENT: {
    drep: ['TIMEWAIT', 'tellDisconnected', 'startTimewait'],
    // Both sides close at once.
    dreq: ['TIMEWAIT', 'sendDrep', 'tellDisconnected', 'startTimewait'],
    rej: ['TIMEWAIT', 'tellDisconnected', 'startTimewait'],
    rejStale: ['TIMEWAIT', 'tellDisconnected', 'startTimewait'],
    overdue: ['DREQ_SENT', 'repeat'],
    exhausted: ['TIMEWAIT', 'tellDisconnected', 'startTimewait'],
  },
  TIMEWAIT: {
    req: ['TIMEWAIT', 'rejectStale'],
    dreq: ['TIMEWAIT', 'sendDrep'],
    expire: ['IDLE', 'tellTimewaitEnded'],
  },
}

/** States in which a message waits for its answer and is repeated. */
export const REPEATING: ReadonlySet<State> = new Set<State>([
  'REQ_SENT',
  'MRA_REQ_RCVD',
  'REP_SENT',
  'MRA_REP_RCVD',
  'DREQ_SENT',
])
