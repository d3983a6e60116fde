/** How a work request ended: the names and numbers of the verbs' ibv_wc_status (IBA 11.6.2). */
export const WorkStatus = {
  SUCCESS: 0,
  LOC_LEN_ERR: 1,
  LOC_QP_OP_ERR: 2,
  LOC_EEC_OP_ERR: 3,
  LOC_PROT_ERR: 4,
  WR_FLUSH_ERR: 5,
  MW_BIND_ERR: 6,
  BAD_RESP_ERR: 7,
  LOC_ACCESS_ERR: 8,
  REM_INV_REQ_ERR: 9,
  REM_ACCESS_ERR: 10,
  REM_OP_ERR: 11,
  RETRY_EXC_ERR: 12,
  RNR_RETRY_EXC_ERR: 13,
  LOC_RDD_VIOL_ERR: 14,
  REM_INV_RD_REQ_ERR: 15,
  REM_ABORT_ERR: 16,
  INV_EECN_ERR: 17,
  INV_EEC_STATE_ERR: 18,
  FATAL_ERR: 19,
  RESP_TIMEOUT_ERR: 20,
  GENERAL_ERR: 21,
} as const
export type WorkStatus = (typeof WorkStatus)[keyof typeof WorkStatus]

const NAMES = Object.keys(WorkStatus) as (keyof typeof WorkStatus)[]

/** `RETRY_EXC_ERR` for 12, and so on; for messages and tests. */
export function workStatusName(status: WorkStatus): string {
  return NAMES.find(name => WorkStatus[name] === status) ?? `status ${status}`
}

/** The statuses that end connections in practice, in words for people. */
const MEANINGS: Partial<Record<WorkStatus, string>> = {
  [WorkStatus.RETRY_EXC_ERR]: 'the peer answers no more',
  [WorkStatus.RNR_RETRY_EXC_ERR]: 'the peer had nowhere to receive into for too long',
  [WorkStatus.REM_ACCESS_ERR]: 'the peer does not allow this access to its memory',
}

/** The name, and what it means where that is known: `RETRY_EXC_ERR, the peer answers no more`. */
export function workStatusText(status: WorkStatus): string {
  const meaning = MEANINGS[status]
  return meaning === undefined ? workStatusName(status) : `${workStatusName(status)}, ${meaning}`
}
