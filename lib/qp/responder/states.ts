import * as aeth from '../../wire/ib/aeth.js'
import { WorkStatus } from '../queues/work-status.js'

/** The states that a request packet of the peer passes through: `run` in responder.ts says who handles each. */
export const RequestState = {
  /** Where does the packet stand in the peer's stream? */
  CHECK_PSN: 0,

  // It is the one expected.
  /** May it follow the packet before? */
  CHECK_SEQUENCE: 1,
  /** Has it as many bytes as its place in the message demands? */
  CHECK_LENGTH: 2,
  /** May the peer do such things at all? */
  CHECK_RIGHTS: 3,
  /** May it reach the memory that it names? */
  CHECK_KEY: 4,
  /** Has the message as many bytes as it has named? */
  CHECK_MESSAGE: 5,
  /** Is there a receive, or a place to keep what is to be answered? */
  CHECK_RESOURCES: 6,
  /** May the payload be written where it goes, now? */
  CHECK_MEMORY: 7,
  EXECUTE: 8,
  /** The message is whole. */
  COMPLETE: 9,
  /** The next PSN is expected. */
  ADVANCE: 10,

  // It is another one.
  /** The packet came before. */
  DUPLICATE: 11,
  /** With selective repeat, it came before its turn. */
  KEEP: 12,

  // What this end owes the peer.
  /** An ACK, when it is due. */
  ACKNOWLEDGE: 13,
  /** An ACK for what came before. */
  ACKNOWLEDGE_AGAIN: 14,
  /** Responses to a READ or atomic, which acknowledge it. */
  RESPOND: 15,
  /** A SACK, when as many packets have come as make an ACK due. */
  SACK_IN_TIME: 16,
  SACK: 17,
  NAK_SEQUENCE: 18,
  NAK_NOT_READY: 19,

  // The request is refused, by the row of REFUSALS with that number.
  INVALID: 20,
  NO_ACCESS: 21,
  TOO_LONG: 22,
  RECEIVE_NOT_WRITABLE: 23,
  KEY_NOT_INVALIDATED: 24,

  DONE: 25,
} as const
export type RequestState = (typeof RequestState)[keyof typeof RequestState]

interface Refusal {
  /** In the NAK. */
  syndrome: number
  /** With which this end's queue pair fails. */
  status: WorkStatus
}

/** By state (IBA 9.7.4.1, 9.7.5.2, 9.9.3). */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  [RequestState.INVALID]: { syndrome: aeth.NAK_INVALID_REQUEST, status: WorkStatus.REM_INV_REQ_ERR },
  [RequestState.NO_ACCESS]: { syndrome: aeth.NAK_REMOTE_ACCESS_ERROR, status: WorkStatus.LOC_ACCESS_ERR },
  [RequestState.TOO_LONG]: { syndrome: aeth.NAK_INVALID_REQUEST, status: WorkStatus.LOC_LEN_ERR },
  [RequestState.RECEIVE_NOT_WRITABLE]: {
    syndrome: aeth.NAK_REMOTE_OPERATIONAL_ERROR,
    status: WorkStatus.LOC_PROT_ERR,
  },
  [RequestState.KEY_NOT_INVALIDATED]: {
    syndrome: aeth.NAK_REMOTE_ACCESS_ERROR,
    status: WorkStatus.REM_INV_REQ_ERR,
  },
}

/** The NAK and the status of a state from INVALID on. */
export function refusalOf(state: RequestState): Refusal {
  return REFUSALS[state]!
}
