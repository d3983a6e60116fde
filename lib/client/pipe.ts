/** A Unix socket by which the daemon takes what a program sends, or gives what the program gets: proto/control.proto. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { WeirError } from '../errors.js'
import { whyNotRead, whyNotWritten } from '../file-reason.js'

/** Longest piece. */
const PIECE_BYTES_MAX = 1 << 20
const LENGTH_BYTES = 4
const END = Buffer.alloc(LENGTH_BYTES)

/** Where the daemon is to connect, once. */
export class ClientPipe {
  readonly path: string
  readonly #folder: string
  readonly #server: Server
  readonly #socket: Promise<Socket>
  readonly #closed = new AbortController()

  /** Nobody else may enter its folder. */
  static async open(): Promise<ClientPipe> {
    const folder = await mkdtemp(join(tmpdir(), 'weir-pipe-'))
    try {
      await chmod(folder, 0o700)
      const pipe = new ClientPipe(folder)
      await new Promise<void>((resolve, reject) => {
        pipe.#server.once('error', reject)
        pipe.#server.listen(pipe.path, resolve)
      })
      return pipe
    } catch (cause) {
      await rm(folder, { recursive: true, force: true })
      const text = `cannot listen in ${folder}: ${whyNotWritten(cause)}; choose another place with TMPDIR`
      throw new WeirError('WEIR_BAD_ARGUMENT', text, { cause })
    }
  }

  private constructor(folder: string) {
    this.#folder = folder
    this.path = join(folder, 's')
    this.#server = createServer()
    this.#server.maxConnections = 1
    this.#socket = new Promise((resolve, reject) => {
      this.#server.once('connection', resolve)
      this.#closed.signal.addEventListener('abort', () => reject(this.#closed.signal.reason), { once: true })
    })
    this.#socket.catch(() => {})
  }

  /** Resolves when the daemon has all of `from`. Throws WEIR_NO_FILE when that cannot be read. */
  async take(from: Readable): Promise<void> {
    const failed = new Promise<never>((_, reject) => {
      from.once('error', cause => {
        reject(new WeirError('WEIR_NO_FILE', `the input cannot be read: ${whyNotRead(cause)}`, { cause }))
      })
    })
    failed.catch(() => {})
    const socket = await Promise.race([this.#socket, failed])
    // The daemon says nothing, but its end is to be noticed.
    socket.resume()
    await Promise.race([pipeline(from, pieces(), socket, { signal: this.#closed.signal }), failed])
  }

  /** Resolves when `into` has all that the daemon has. Throws what `into` says. */
  async give(into: Writable): Promise<void> {
    const socket = await this.#socket
    await pipeline(socket, into, { signal: this.#closed.signal, end: into !== process.stdout })
  }

  /** Ends it, whatever it does. */
  async close(): Promise<void> {
    this.#closed.abort(new WeirError('WEIR_CANCELLED', 'the pipe is closed'))
    this.#server.close()
    await this.#socket.then(socket => socket.destroy()).catch(() => {})
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Puts its length before each piece, and a length of 0 at the end. */
function pieces(): Transform {
  return new Transform({
    transform(bytes: Buffer | string, encoding, done) {
      const all = typeof bytes === 'string' ? Buffer.from(bytes, encoding) : bytes
      for (let at = 0; at < all.length; at += PIECE_BYTES_MAX) {
        const piece = all.subarray(at, at + PIECE_BYTES_MAX)
        const length = Buffer.alloc(LENGTH_BYTES)
        length.writeUInt32BE(piece.length)
        this.push(length)
        this.push(piece)
      }
      done()
    },
    flush(done) {
      done(null, END)
    },
  })
}
