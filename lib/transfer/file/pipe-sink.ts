/** Where a file goes that a client of this daemon reads from a Unix socket as it comes. Each chunk has its digest by then. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { TransferFailure } from '../protocol/failure.js'
import type { FileSink, FileStore } from './file.js'

/** Path of such a file for people, as commands write it. */
const SHOWN = '-'

export class PipeStore implements FileStore {
  readonly #socket: Socket

  /** @param socket is the store's from now on */
  constructor(socket: Socket) {
    this.#socket = socket
    // A write that fails says so too.
    socket.on('error', () => {})
    // The client says nothing, but its end is to be noticed.
    socket.resume()
  }

  async open(): Promise<FileSink> {
    return new PipeSink(this.#socket)
  }
}

class PipeSink implements FileSink {
  readonly resumeBytes = 0
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Resolves when the kernel has the bytes, so that the reader sets the pace. */
  async write(bytes: Uint8Array): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(bytes, error => (error ? reject(readerGone(error)) : resolve()))
    })
  }

  async readBack(): Promise<void> {
    throw new TransferFailure('IO_ERROR', 'a pipe cannot be read back')
  }

  async commit(): Promise<string> {
    const finished = once(this.#socket, 'finish')
    this.#socket.end()
    try {
      await finished
    } catch (error) {
      throw readerGone(error)
    }
    return SHOWN
  }

  async keep(): Promise<void> {
    await this.discard()
  }

  async discard(): Promise<void> {
    this.#socket.destroy()
  }
}

function readerGone(cause: unknown): TransferFailure {
  return new TransferFailure('CANCELLED', 'the command that reads it has ended', { cause })
}
