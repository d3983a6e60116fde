import type { Nanos } from '../time/nanos.js'

/** One TCP connection, or what stands for it. Its owner reports what arrives. */
export interface ByteStream {
  /** Bytes that `write` accepts now. */
  room(): number
  /** The stream keeps no reference to the bytes. */
  write(now: Nanos, bytes: Uint8Array): void
  /** What was written still arrives. The owner reports nothing more. */
  close(now: Nanos): void
}
