/** How the two ends of perftest exchange messages: by TCP, or by SENDs of a connection. */
import type { Keys } from './messages.js'

/** A peer that owes a message of its handshake and says nothing for so long has gone. */
export const SILENCE_MS = 30_000

export interface MessageExchange {
  readonly remote: string
  /** Keys travel in another form by each way. */
  writeKeys(keys: Keys): Promise<void>
  write(bytes: Uint8Array): Promise<void>
  /** A message of so many bytes. Throws WEIR_PROTOCOL for another one, WEIR_CONNECTION_LOST when there will be none, and WEIR_UNREACHABLE after SILENCE_MS. */
  read(bytes: number): Promise<Uint8Array>
  readKeys(): Promise<Keys>
  /**
   * What a client says next, which a server cannot know: keys, or a figure of its report. `'done'`: that it is. Null: it has left without that
   * word, which there is by TCP alone. Throws as `read`.
   */
  readNext(): Promise<{ keys: Keys } | { figure: Uint8Array } | 'done' | null>
  close(): Promise<void>
}
