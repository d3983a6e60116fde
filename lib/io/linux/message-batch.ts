import type { Libc, Pointer } from './libc.js'

/** `struct mmsghdr` on 64-bit Linux: a msghdr of 56 bytes, then the bytes moved. */
const HEADER_BYTES = 64
const NAME = 0
const NAME_LENGTH = 8
const IOV = 16
const IOV_COUNT = 24
const CONTROL = 32
const CONTROL_LENGTH = 40
const MOVED = 56

const IOVEC_BYTES = 16
/** Room for an address of either family. */
export const NAME_BYTES = 32
/** Room for the control messages of one datagram, each 16 bytes of header and its value, in steps of 8. */
export const CONTROL_BYTES = 128

/**
 * The arguments of sendmmsg and recvmmsg, in memory that the kernel reads and writes. It is laid out once:
 * `messages` headers, each with an address and control messages, and pieces of data that the messages share.
 * A call allocates nothing.
 */
export class MessageBatch {
  readonly headers: Pointer
  /** Contains addresses and control messages, at `nameAt` and `controlAt`. */
  readonly view: DataView
  readonly #iovecs: Pointer
  readonly #iovecsAt: number

  constructor(libc: Libc, messages: number, pieces: number) {
    const namesAt = messages * HEADER_BYTES
    const controlsAt = namesAt + messages * NAME_BYTES
    this.#iovecsAt = controlsAt + messages * CONTROL_BYTES
    const bytes = new Uint8Array(new ArrayBuffer(this.#iovecsAt + pieces * IOVEC_BYTES))
    this.view = new DataView(bytes.buffer)
    this.headers = libc.address(bytes)
    this.#iovecs = this.headers + this.#iovecsAt
    this.#namesAt = namesAt
    this.#controlsAt = controlsAt
    for (let i = 0; i < messages; i++) {
      this.#setPointer(i * HEADER_BYTES + NAME, this.headers + this.nameAt(i))
      this.#setPointer(i * HEADER_BYTES + CONTROL, this.headers + this.controlAt(i))
    }
  }

  readonly #namesAt: number
  readonly #controlsAt: number

  /** Pointer to the header of a message, for a call that begins with it. */
  header(message: number): Pointer {
    return this.headers + message * HEADER_BYTES
  }

  nameAt(message: number): number {
    return this.#namesAt + message * NAME_BYTES
  }

  controlAt(message: number): number {
    return this.#controlsAt + message * CONTROL_BYTES
  }

  /**
   * Sets the lengths of the address and of the control messages: the actual ones to send, the available ones
   * to receive.
   */
  setLengths(message: number, name: number, control: number): void {
    this.view.setUint32(message * HEADER_BYTES + NAME_LENGTH, name, true)
    this.view.setUint32(message * HEADER_BYTES + CONTROL_LENGTH, control, true)
  }

  controlLength(message: number): number {
    return this.view.getUint32(message * HEADER_BYTES + CONTROL_LENGTH, true)
  }

  /** Sets that the message consists of `count` pieces from piece `first` on. */
  setPieces(message: number, first: number, count: number): void {
    this.#setPointer(message * HEADER_BYTES + IOV, this.#iovecs + first * IOVEC_BYTES)
    this.view.setUint32(message * HEADER_BYTES + IOV_COUNT, count, true)
  }

  /** @param base contains one pointer; the piece begins `offset` bytes after it */
  setPiece(piece: number, base: Float64Array, offset: number, bytes: number): void {
    const at = this.#iovecsAt + piece * IOVEC_BYTES
    this.#setPointer(at, base[0]! + offset)
    this.view.setUint32(at + 8, bytes, true)
  }

  /** Bytes that the last call moved for this message. */
  moved(message: number): number {
    return this.view.getUint32(message * HEADER_BYTES + MOVED, true)
  }

  /** A call that says so itself has moved so many bytes for this message. */
  setMoved(message: number, bytes: number): void {
    this.view.setUint32(message * HEADER_BYTES + MOVED, bytes, true)
  }

  /** The view takes the low 32 bits of a number. A remainder of numbers of 53 bits would be a call for each pointer. */
  #setPointer(at: number, pointer: Pointer): void {
    this.view.setUint32(at, pointer, true)
    this.view.setUint32(at + 4, pointer / 2 ** 32, true)
  }
}

/** `struct cmsghdr`: length with header, level, type. The value follows. */
export const CMSG_HEADER_BYTES = 16

/** Writes a control message with a value of 4 bytes or less. Returns the offset after it. */
export function writeControl(
  view: DataView,
  at: number,
  level: number,
  type: number,
  value: number,
  bytes: 2 | 4,
): number {
  view.setUint32(at, CMSG_HEADER_BYTES + bytes, true)
  view.setUint32(at + 4, 0, true)
  view.setInt32(at + 8, level, true)
  view.setInt32(at + 12, type, true)
  if (bytes === 2) view.setUint16(at + CMSG_HEADER_BYTES, value, true)
  else view.setInt32(at + CMSG_HEADER_BYTES, value, true)
  return at + CMSG_HEADER_BYTES + 8
}
