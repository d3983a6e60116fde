/**
 * The catalogue of errors. A `code` is stable: scripts and callers may rely on it. The message says what
 * is wrong, where, and how to mend it.
 */
export const ERROR_CODES = {
  WEIR_BAD_ARGUMENT: 'an option or argument of a function or command is out of range or malformed',
  WEIR_BAD_SCENARIO: 'a scenario or lab file is malformed',
  WEIR_BAD_CAPTURE: 'a capture file is malformed or of an unknown format',
  WEIR_BAD_STATE: 'the object is in a state that does not allow the call',
  WEIR_FULL: 'a bounded queue, table or pool is full',
  WEIR_NO_FILE: 'a file does not exist or cannot be read or written',
  WEIR_UNREACHABLE: 'the peer did not answer in time',
  WEIR_REJECTED: 'the peer refused the connection or the transfer',
  WEIR_UNKNOWN_KEY: 'a host shows a key that is not known here',
  WEIR_KEY_CHANGED: 'a host shows another key than the one that is known of it',
  WEIR_NOT_ADMITTED: 'every path to the peer is used above the bound for new flows',
  WEIR_NOTHING_CARRIED: 'a run ended before a byte of its flows had been acknowledged',
  WEIR_CONNECTION_LOST: 'an established connection failed; what was under way may be tried again',
  WEIR_STREAM_RESET: 'the other end of a stream has ended it before its end',
  WEIR_TARGET_UNREACHABLE: 'the other daemon cannot reach the TCP target of a tunnel',
  WEIR_TRANSFER_FAILED: 'a transfer ended without its file being delivered',
  WEIR_NO_SPACE: 'the disk of the receiver is full',
  WEIR_FILE_EXISTS: 'the receiver has a file of that name and may not overwrite it',
  WEIR_CANCELLED: 'a transfer or request was cancelled',
  WEIR_DIGEST_MISMATCH: 'the bytes that arrived are not those that were sent',
  WEIR_NO_TRANSFER: 'the daemon has no transfer of that id',
  WEIR_DAEMON_UNREACHABLE: 'no daemon answers on the control socket',
  WEIR_PROTOCOL: 'a control or transfer message is malformed or came out of turn',
  WEIR_UNSUPPORTED: 'this machine lacks what the request needs, or forbids it',
  WEIR_INTERNAL: 'a defect in Weir itself',
} as const

/** A stable code of the catalogue. */
export type ErrorCode = keyof typeof ERROR_CODES

/** Every error that Weir throws on purpose. */
export class WeirError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WeirError'
    this.code = code
  }
}

/** For our own bugs only: a state that no input can cause. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new WeirError('WEIR_INTERNAL', message)
}
