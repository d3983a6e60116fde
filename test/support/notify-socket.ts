import { Buffer } from 'node:buffer'
import type { Test } from 'tap'
import { loadLibc } from '../../lib/io/linux/libc.js'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const MSG_DONTWAIT = 0x40

/** The socket on which a service manager hears its services, sd_notify(3). A name that begins with "@" is abstract. */
export class NotifySocket {
  readonly #fd: number
  readonly #heard: string[] = []

  constructor(t: Test, name: string) {
    const libc = loadLibc()
    const path = Buffer.from(name.replace(/^@/, '\0'))
    const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), path])
    this.#fd = libc.socket(AF_UNIX, SOCK_DGRAM, 0)
    if (libc.bind(this.#fd, address, address.length) !== 0) throw new Error(`bind: errno ${libc.errno()}`)
    t.teardown(() => libc.close(this.#fd))
  }

  /** All lines so far, in their order. */
  get lines(): readonly string[] {
    const bytes = Buffer.alloc(4096)
    for (;;) {
      const length = loadLibc().recv(this.#fd, bytes, bytes.length, MSG_DONTWAIT)
      if (length < 0) return this.#heard
      this.#heard.push(...bytes.toString('utf8', 0, length).split('\n'))
    }
  }

  count(line: string): number {
    return this.lines.filter(each => each === line).length
  }
}
