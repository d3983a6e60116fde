import * as aeth from '../../wire/ib/aeth.js'
import { WorkStatus } from '../queues/work-status.js'

/** What has become of a request that came in order. The responder acts on it. */
export const Verdict = {
  /** A packet of a SEND or WRITE has been carried out. */
  TAKEN: 0,
  /** A READ or atomic has been carried out, or is about to be: its response acknowledges it. */
  ANSWERED: 1,
  /** No receive is posted for it (IBA 9.7.5.2.8). */
  NOT_READY: 2,
  /** From here on the request is refused, by the row of REFUSALS with that number. */
  INVALID: 3,
  NO_ACCESS: 4,
  TOO_LONG: 5,
  RECEIVE_NOT_WRITABLE: 6,
  KEY_NOT_INVALIDATED: 7,
} as const
export type Verdict = (typeof Verdict)[keyof typeof Verdict]

interface Refusal {
  /** In the NAK. */
  syndrome: number
  /** With which this end's queue pair fails. */
  status: WorkStatus
}

/** By verdict (IBA 9.7.4.1, 9.7.5.2, 9.9.3). */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  [Verdict.INVALID]: { syndrome: aeth.NAK_INVALID_REQUEST, status: WorkStatus.REM_INV_REQ_ERR },
  [Verdict.NO_ACCESS]: { syndrome: aeth.NAK_REMOTE_ACCESS_ERROR, status: WorkStatus.LOC_ACCESS_ERR },
  [Verdict.TOO_LONG]: { syndrome: aeth.NAK_INVALID_REQUEST, status: WorkStatus.LOC_LEN_ERR },
  [Verdict.RECEIVE_NOT_WRITABLE]: {
    syndrome: aeth.NAK_REMOTE_OPERATIONAL_ERROR,
    status: WorkStatus.LOC_PROT_ERR,
  },
  [Verdict.KEY_NOT_INVALIDATED]: {
    syndrome: aeth.NAK_REMOTE_ACCESS_ERROR,
    status: WorkStatus.REM_INV_REQ_ERR,
  },
}

/** The NAK and the status of a verdict from INVALID on. */
export function refusalOf(verdict: Verdict): Refusal {
  return REFUSALS[verdict]!
}
