import { WeirError } from '../../errors.js'
import type { Conversation } from '../conversation.js'
import { type MessageExchange, SILENCE_MS } from './message-exchange.js'
import { FIGURE_BYTES, KEYS_BYTES, type Keys, keysBytes, readKeysBytes } from './messages.js'

/** What `-R` uses: a connection of its own, which carries a message in each SEND. */
export class VerbsExchange implements MessageExchange {
  readonly remote: string
  readonly #talk: Conversation
  readonly #silenceMs: number

  constructor(talk: Conversation, silenceMs = SILENCE_MS) {
    this.#talk = talk
    this.#silenceMs = silenceMs
    this.remote = talk.connection.remote
  }

  async writeKeys(keys: Keys): Promise<void> {
    await this.write(keysBytes(keys))
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#talk.send(bytes)
  }

  async read(bytes: number): Promise<Uint8Array> {
    const message = await this.#inTime()
    if (message === null) throw new WeirError('WEIR_CONNECTION_LOST', `${this.remote} has left amid the test`)
    if (message.length === bytes) return message
    throw new WeirError(
      'WEIR_PROTOCOL',
      `${this.remote}: a message of perftest of ${bytes} bytes was awaited, one of ${message.length} came`,
    )
  }

  async #inTime(): Promise<Uint8Array | null> {
    let isSilent = false
    const timer = setTimeout(() => {
      isSilent = true
      void this.#talk.connection.disconnect()
    }, this.#silenceMs)
    const message = await this.#talk.receive()
    clearTimeout(timer)
    if (!isSilent) return message
    throw new WeirError('WEIR_UNREACHABLE', `${this.remote} has said nothing for ${this.#silenceMs / 1000} s`)
  }

  async readKeys(): Promise<Keys> {
    return readKeysBytes(await this.read(KEYS_BYTES))
  }

  async readNext(): Promise<{ keys: Keys } | { figure: Uint8Array } | null> {
    const message = await this.#talk.receive()
    if (message === null) return null
    if (message.length === KEYS_BYTES) return { keys: readKeysBytes(message) }
    if (message.length === FIGURE_BYTES) return { figure: message }
    throw new WeirError(
      'WEIR_PROTOCOL',
      `${this.remote}: a message of perftest of ${KEYS_BYTES} or ${FIGURE_BYTES} bytes was awaited, one of ${message.length} came`,
    )
  }

  async close(): Promise<void> {
    await this.#talk.connection.disconnect()
  }
}
