/** Why a transfer ends without its file, in the words of the protocol and as an error of the catalogue. */
import { showBytes } from '../../byte-text.js'
import { type ErrorCode, WeirError } from '../../errors.js'
import { whyNotRead } from '../../file-reason.js'
import { printable } from '../../printable.js'
import { type FailureReason, type Refusal, TRANSFER_VERSION } from './messages.js'

/** The catalogue's code for each reason that a peer may give. */
const CODES: Record<FailureReason, ErrorCode> = {
  REASON_UNSPECIFIED: 'WEIR_TRANSFER_FAILED',
  PROTOCOL: 'WEIR_PROTOCOL',
  BUSY: 'WEIR_FULL',
  BAD_NAME: 'WEIR_REJECTED',
  EXISTS: 'WEIR_FILE_EXISTS',
  NO_SPACE: 'WEIR_NO_SPACE',
  IO_ERROR: 'WEIR_TRANSFER_FAILED',
  DIGEST_MISMATCH: 'WEIR_DIGEST_MISMATCH',
  CHANGED: 'WEIR_TRANSFER_FAILED',
  STALLED: 'WEIR_CONNECTION_LOST',
  UNSUPPORTED: 'WEIR_REJECTED',
  CANCELLED: 'WEIR_CANCELLED',
  NOT_FOUND: 'WEIR_NO_FILE',
  NOT_A_FILE: 'WEIR_NO_FILE',
  NOT_ALLOWED: 'WEIR_REJECTED',
  SHUTTING_DOWN: 'WEIR_CONNECTION_LOST',
  PART_DIFFERS: 'WEIR_DIGEST_MISMATCH',
}

/** An error as the log has it. */
export function briefly(error: unknown): object {
  const { code, message } = error as WeirError
  return { code, message: showBytes(message) }
}

/** A failure that has a name in the protocol. */
export class TransferFailure extends WeirError {
  readonly reason: FailureReason

  constructor(reason: FailureReason, text: string, options?: ErrorOptions) {
    super(CODES[reason], text, options)
    this.name = 'TransferFailure'
    this.reason = reason
  }

  /** The failure that a Refuse or Fail message reports; `who` names the peer. */
  static fromPeer(refusal: Refusal, who: string): TransferFailure {
    const reason = Object.hasOwn(CODES, refusal.reason) ? refusal.reason : 'REASON_UNSPECIFIED'
    return new TransferFailure(reason, `${who}: ${printable(refusal.text) || reason}`)
  }

  /** Any error as a failure: a full disk keeps its reason, other errors of the system are IO_ERROR. */
  static from(error: unknown, doing: string): TransferFailure {
    if (error instanceof TransferFailure) return error
    const code = (error as NodeJS.ErrnoException).code
    if (error instanceof WeirError && code === 'WEIR_FULL')
      return new TransferFailure('BUSY', `${doing}: ${error.message}`, { cause: error })
    const reason = code === 'ENOSPC' || code === 'EDQUOT' ? 'NO_SPACE' : 'IO_ERROR'
    const text = reason === 'NO_SPACE' ? 'the disk is full' : whyNotRead(error)
    return new TransferFailure(reason, `${doing}: ${text}`, { cause: error })
  }

  /** As it travels to the peer. */
  toMessage(): Refusal {
    return { reason: this.reason, text: printable(this.message) }
  }
}

/** The peer speaks a version of the protocol that this code does not. */
export function unknownVersion(version: number): TransferFailure {
  const text = `version ${version} of the transfer protocol is not known here, ${TRANSFER_VERSION} is`
  return new TransferFailure('UNSUPPORTED', text)
}
