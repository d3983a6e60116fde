/**
 * The server's side of SOCKS version 5 (RFC 1928) up to the reply, with CONNECT alone, and of its authentication by name and password (RFC
 * 1929). It does no input or output: it gets bytes, and says what to write.
 */
import { timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import type { DialFailure } from './messages.js'
import type { Target } from './targets.js'

const VERSION = 5
const AUTH_VERSION = 1
const CONNECT = 1
const Method = { NONE: 0x00, PASSWORD: 0x02, NO_ACCEPTABLE: 0xff } as const
const AddressType = { IPV4: 1, NAME: 3, IPV6: 4 } as const

/** RFC 1928, section 6. */
export const Reply = {
  SUCCEEDED: 0,
  GENERAL_FAILURE: 1,
  NOT_ALLOWED: 2,
  NETWORK_UNREACHABLE: 3,
  HOST_UNREACHABLE: 4,
  CONNECTION_REFUSED: 5,
  TTL_EXPIRED: 6,
  COMMAND_NOT_SUPPORTED: 7,
  ADDRESS_TYPE_NOT_SUPPORTED: 8,
} as const
export type Reply = (typeof Reply)[keyof typeof Reply]

const REPLIES: Readonly<Record<DialFailure, Reply>> = {
  PROTOCOL: Reply.GENERAL_FAILURE,
  NOT_ALLOWED: Reply.NOT_ALLOWED,
  NO_NAME: Reply.HOST_UNREACHABLE,
  CONNECTION_REFUSED: Reply.CONNECTION_REFUSED,
  HOST_UNREACHABLE: Reply.HOST_UNREACHABLE,
  NETWORK_UNREACHABLE: Reply.NETWORK_UNREACHABLE,
  TIMED_OUT: Reply.TTL_EXPIRED,
  BUSY: Reply.GENERAL_FAILURE,
  FAILED: Reply.GENERAL_FAILURE,
}

export interface Credentials {
  name: string
  password: string
}

/** What is to be done with the connection. */
interface SocksStep {
  /** For the client. */
  write?: Buffer
  /** It asks for this: dial, then write `replyOf(…)`. Bytes behind the request are `rest`. */
  target?: Target
  rest?: Buffer
  /** The connection ends, after `write`. */
  end?: boolean
}

export class SocksHandshake {
  readonly #credentials: Credentials | null
  #state: 'greeting' | 'password' | 'request' | 'done' = 'greeting'
  #bytes: Buffer = Buffer.alloc(0)

  /** @param credentials null: the client needs none */
  constructor(credentials: Credentials | null) {
    this.#credentials = credentials
  }

  /** More bytes of the client. Its messages are at most 515 bytes long, so what is kept has a bound. */
  onBytes(bytes: Uint8Array): SocksStep {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    const written: Buffer[] = []
    for (;;) {
      const step = this.#next()
      if (step === null) return { write: Buffer.concat(written) }
      if (step.write) written.push(step.write)
      if (step.target !== undefined || step.end) return { ...step, write: Buffer.concat(written) }
    }
  }

  /** Null: more bytes are needed. */
  #next(): SocksStep | null {
    if (this.#state === 'greeting') return this.#greeting()
    if (this.#state === 'password') return this.#password()
    if (this.#state === 'request') return this.#request()
    return null
  }

  #greeting(): SocksStep | null {
    if (this.#bytes.length >= 1 && this.#bytes[0] !== VERSION) return this.#end()
    const message = this.#take(2, bytes => 2 + bytes[1]!)
    if (message === null) return null
    const method = this.#credentials === null ? Method.NONE : Method.PASSWORD
    if (!message.subarray(2).includes(method)) return this.#end(Buffer.of(VERSION, Method.NO_ACCEPTABLE))
    this.#state = method === Method.NONE ? 'request' : 'password'
    return { write: Buffer.of(VERSION, method) }
  }

  #password(): SocksStep | null {
    if (this.#bytes.length >= 1 && this.#bytes[0] !== AUTH_VERSION) return this.#end()
    const nameEnd = 2 + (this.#bytes[1] ?? 0)
    const message = this.#take(nameEnd + 1, bytes => nameEnd + 1 + bytes[nameEnd]!)
    if (message === null) return null
    const { name, password } = this.#credentials!
    // Both are compared, so that the time does not say which one is wrong.
    const isName = isSame(message.subarray(2, nameEnd), Buffer.from(name))
    const isPassword = isSame(message.subarray(nameEnd + 1), Buffer.from(password))
    if (!isName || !isPassword) return this.#end(Buffer.of(AUTH_VERSION, 1))
    this.#state = 'request'
    return { write: Buffer.of(AUTH_VERSION, 0) }
  }

  #request(): SocksStep | null {
    const lengthOf = (bytes: Buffer) => {
      const type = bytes[3]
      return type === AddressType.IPV4
        ? 10
        : type === AddressType.IPV6
          ? 22
          : type === AddressType.NAME
            ? 7 + bytes[4]!
            : 5
    }
    if (this.#bytes.length >= 1 && this.#bytes[0] !== VERSION) return this.#end()
    const message = this.#take(5, lengthOf)
    if (message === null) return null
    this.#state = 'done'
    if (message[1] !== CONNECT) return this.#end(replyOf(Reply.COMMAND_NOT_SUPPORTED))
    const host = hostOf(message)
    if (host === null) return this.#end(replyOf(Reply.ADDRESS_TYPE_NOT_SUPPORTED))
    const port = message.readUInt16BE(message.length - 2)
    if (host === '' || /[^\x21-\x7e]/.test(host) || port === 0)
      return this.#end(replyOf(Reply.GENERAL_FAILURE))
    const rest = this.#bytes
    this.#bytes = Buffer.alloc(0)
    return { target: { host, port }, rest }
  }

  /** Takes a message whose length shows in its first `least` bytes. */
  #take(least: number, lengthOf: (bytes: Buffer) => number): Buffer | null {
    if (this.#bytes.length < least) return null
    const length = lengthOf(this.#bytes)
    if (this.#bytes.length < length) return null
    const message = this.#bytes.subarray(0, length)
    this.#bytes = this.#bytes.subarray(length)
    return message
  }

  #end(write: Buffer = Buffer.alloc(0)): SocksStep {
    this.#state = 'done'
    return { write, end: true }
  }
}

/** Null: a type of address that there is not. */
function hostOf(message: Buffer): string | null {
  const type = message[3]
  const end = message.length - 2
  if (type === AddressType.NAME) return message.toString('latin1', 5, end)
  if (type === AddressType.IPV4) return message.subarray(4, end).join('.')
  if (type !== AddressType.IPV6) return null
  return Array.from({ length: 8 }, (_, i) => message.readUInt16BE(4 + 2 * i).toString(16)).join(':')
}

/** The reply, with the address that the far end has dialled from: 0.0.0.0:0 where it is not known. */
export function replyOf(reply: Reply, address = '0.0.0.0', port = 0): Buffer {
  const v4 = isIPv4(address) ? address : '0.0.0.0'
  const bytes = Buffer.from([VERSION, reply, 0, AddressType.IPV4, ...v4.split('.').map(Number), 0, 0])
  bytes.writeUInt16BE(v4 === address ? port : 0, 8)
  return bytes
}

/** The reply to a target that was not dialled. Null: the daemon at the other end could not be asked. */
export function replyToFailure(reason: DialFailure | null): Reply {
  return reason === null ? Reply.GENERAL_FAILURE : REPLIES[reason]
}

function isSame(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
