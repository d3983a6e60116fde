import type { Socket } from 'node:net'
import { WeirError } from '../../errors.js'
import { HostAddress } from '../../wire/net/address.js'
import { type MessageExchange, SILENCE_MS } from './message-exchange.js'
import { FIGURE_BYTES, KEYS_TEXT_BYTES, type Keys, keysText, readKeysText } from './messages.js'

/** Bytes of text that no figure begins with: as a number they would be below 1e-70 or above 1e150. */
const KEYS_BEGIN = /^[0-9a-f]{4}:/i
/** What each end says last before it ends its TCP connection, some without waiting for the other. */
const DONE = Buffer.from('done\0', 'latin1')
const KEEP_ALIVE_MS = 30_000
/** More than any message that is awaited. A peer that sends more at once has another protocol. */
const UNREAD_BYTES_MAX = 4096

/**
 * perftest reads a message by one call and takes no other count of bytes, so each message is one write.
 */
export class TcpExchange implements MessageExchange {
  readonly remote: string
  readonly #socket: Socket
  #unread = Buffer.alloc(0)
  #ended = false
  #failure: Error | null = null
  #wake: () => void = () => {}

  /** @param remote the other end's address, without a zone */
  constructor(socket: Socket, remote: string) {
    this.#socket = socket
    this.remote = HostAddress.parse(remote).toString()
    socket.setNoDelay(true)
    // A client that is switched off amid the data would keep its place for good.
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.on('data', bytes => this.#take(bytes))
    socket.on('timeout', () => this.#fail('WEIR_UNREACHABLE', `has said nothing for ${SILENCE_MS / 1000} s`))
    socket.on('error', cause =>
      this.#fail('WEIR_CONNECTION_LOST', `has ended its TCP connection (${cause.message})`),
    )
    socket.on('close', () => {
      this.#ended = true
      this.#wake()
    })
    socket.on('end', () => {
      this.#ended = true
      this.#wake()
    })
  }

  async writeKeys(keys: Keys): Promise<void> {
    await this.write(keysText(keys))
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== null) throw this.#failure
    this.#socket.write(bytes)
  }

  async read(bytes: number): Promise<Uint8Array> {
    this.#socket.setTimeout(SILENCE_MS)
    const isThere = await this.#has(bytes)
    this.#socket.setTimeout(0)
    if (!isThere) throw this.#broken(bytes)
    const message = Uint8Array.from(this.#unread.subarray(0, bytes))
    this.#unread = this.#unread.subarray(bytes)
    return message
  }

  async readKeys(): Promise<Keys> {
    return readKeysText(await this.read(KEYS_TEXT_BYTES))
  }

  async readNext(): Promise<{ keys: Keys } | { figure: Uint8Array } | 'done' | null> {
    const hasBegun = await this.#has(DONE.length)
    if (hasBegun && this.#unread.subarray(0, DONE.length).equals(DONE)) return 'done'
    if (!hasBegun && this.#unread.length === 0 && this.#failure === null) return null
    if (!(await this.#has(FIGURE_BYTES))) throw this.#broken(FIGURE_BYTES)
    if (KEYS_BEGIN.test(this.#unread.toString('latin1', 0, FIGURE_BYTES)))
      return { keys: await this.readKeys() }
    return { figure: await this.read(FIGURE_BYTES) }
  }

  /** Lets what was written leave first. */
  async close(): Promise<void> {
    if (this.#failure === null) this.#socket.write(DONE)
    this.#socket.destroySoon()
  }

  async #has(bytes: number): Promise<boolean> {
    while (this.#unread.length < bytes && !this.#ended && this.#failure === null)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    return this.#unread.length >= bytes
  }

  #take(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes])
    if (this.#unread.length > UNREAD_BYTES_MAX)
      this.#fail('WEIR_PROTOCOL', `sends more than perftest does: ${this.#unread.length} bytes at once`)
    this.#wake()
  }

  #fail(code: 'WEIR_PROTOCOL' | 'WEIR_UNREACHABLE' | 'WEIR_CONNECTION_LOST', what: string): void {
    this.#failure ??= new WeirError(code, `${this.remote} ${what}`)
    this.#unread = Buffer.alloc(0)
    this.#socket.destroy()
    this.#wake()
  }

  #broken(bytes: number): Error {
    if (this.#failure !== null) return this.#failure
    const text = `${this.remote} has ended its TCP connection: a message of ${bytes} bytes was awaited, ${this.#unread.length} came`
    return new WeirError('WEIR_CONNECTION_LOST', text)
  }
}
