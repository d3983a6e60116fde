/** BGP's TCP sockets, with options that Node.js does not have: TTL security (RFC 5082) and MD5 signatures (RFC 2385), on Linux. */
import { connect, Socket } from 'node:net'
import { WeirError } from '../errors.js'
import { type Libc, loadLibc } from '../io/linux/libc.js'
import { HostAddress } from '../wire/net/address.js'

const AF_INET = 2
const SOCK_STREAM = 1
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000
const SOL_IP = 0
const IPPROTO_TCP = 6
const IP_TTL = 2
const IP_MINTTL = 21
const TCP_MD5SIG = 14
const EINPROGRESS = 115
const TTL_MAX = 255
const SOCKADDR_BYTES = 16
/** `struct tcp_md5sig`: an address of 128 bytes, flags, prefix, length of the key, interface, key. */
const MD5SIG_BYTES = 216
const MD5_LENGTH_AT = 130
const MD5_KEY_AT = 136
const MD5_KEY_BYTES_MAX = 80
/** After the end of a session, what waits may take so long to leave: a neighbour may have stopped reading. */
const CLOSE_MS = 1000

/** How BGP sessions are protected. */
export interface TcpProtection {
  /** Only packets that no router has forwarded are accepted (RFC 5082). */
  ttlSecurity?: boolean
  /** Signs each segment (RFC 2385), 1 to 80 bytes. */
  password?: string
}

interface Connection {
  from: string
  to: string
  port: number
}

/**
 * Begins to connect. `connected` or `failed` is called once, later. A socket that is protected counts as connected at once: what is written
 * before the neighbour has answered waits, and `close` follows if it does not.
 */
export function connectTcp(
  { from, to, port }: Connection,
  protection: TcpProtection,
  connected: (socket: Socket) => void,
  failed: () => void,
): Socket | null {
  if (protection.ttlSecurity || protection.password !== undefined) {
    let socket: Socket
    try {
      socket = new Socket({ fd: connectSocket(from, to, port, protection), readable: true, writable: true })
    } catch {
      // There may be a way later, as after an error of a socket of Node.js.
      queueMicrotask(failed)
      return null
    }
    // An error is followed by `close`.
    socket.on('error', () => {})
    queueMicrotask(() => connected(socket))
    return socket
  }
  const socket = connect({ host: to, port, localAddress: from })
  socket.once('error', failed)
  socket.once('connect', () => {
    socket.off('error', failed)
    connected(socket)
  })
  return socket
}

/** Closes a socket when what waits has left, or soon. */
export function closeSoon(socket: Socket): void {
  socket.destroySoon()
  setTimeout(() => socket.destroy(), CLOSE_MS).unref()
}

/**
 * Begins to connect, and returns the socket. What is written before the connection is there waits.
 *
 * Throws WEIR_UNSUPPORTED where the machine cannot do what is asked.
 */
function connectSocket(from: string, to: string, port: number, protection: TcpProtection): number {
  const libc = loadLibc()
  const fd = libc.socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
  if (fd < 0) throw new WeirError('WEIR_UNSUPPORTED', `no TCP socket can be made: error ${libc.errno()}`)
  try {
    protectSocket(fd, protection, [to])
    if (libc.bind(fd, socketAddress(from, 0), SOCKADDR_BYTES) < 0)
      throw new WeirError('WEIR_BAD_ARGUMENT', `${from} is no address of this machine`)
    if (libc.connect(fd, socketAddress(to, port), SOCKADDR_BYTES) < 0 && libc.errno() !== EINPROGRESS)
      throw new WeirError('WEIR_UNREACHABLE', `there is no way from ${from} to ${to}: error ${libc.errno()}`)
    return fd
  } catch (error) {
    libc.close(fd)
    throw error
  }
}

/** Throws WEIR_UNSUPPORTED where the machine cannot do what is asked, and WEIR_BAD_ARGUMENT for a password that TCP cannot take. */
export function checkProtection(protection: TcpProtection): void {
  if (!protection.ttlSecurity && protection.password === undefined) return
  const libc = loadLibc()
  const fd = libc.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
  try {
    protectSocket(fd, protection, ['127.0.0.1'])
  } finally {
    libc.close(fd)
  }
}

/** Sets the options of a socket before it connects, or while it listens. */
export function protectSocket(fd: number, protection: TcpProtection, neighbours: readonly string[]): void {
  const { ttlSecurity = false, password } = protection
  if (!ttlSecurity && password === undefined) return
  const libc = loadLibc()
  if (ttlSecurity) {
    setWord(libc, fd, IP_TTL, 'TTL security')
    setWord(libc, fd, IP_MINTTL, 'TTL security')
  }
  if (password === undefined) return
  const key = Buffer.from(password)
  if (key.length < 1 || key.length > MD5_KEY_BYTES_MAX)
    throw new WeirError('WEIR_BAD_ARGUMENT', `a BGP password has 1 to ${MD5_KEY_BYTES_MAX} bytes`)
  for (const neighbour of neighbours) {
    const signature = Buffer.alloc(MD5SIG_BYTES)
    signature.set(socketAddress(neighbour, 0))
    signature.writeUInt16LE(key.length, MD5_LENGTH_AT)
    signature.set(key, MD5_KEY_AT)
    if (libc.setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, signature, MD5SIG_BYTES) < 0)
      throw refused('MD5 signatures of TCP (a kernel with CONFIG_TCP_MD5SIG)', libc)
  }
}

function setWord(libc: Libc, fd: number, option: number, what: string): void {
  const value = new Uint8Array(Int32Array.of(TTL_MAX).buffer)
  if (libc.setsockopt(fd, SOL_IP, option, value, 4) < 0) throw refused(what, libc)
}

function refused(what: string, libc: Libc): WeirError {
  return new WeirError(
    'WEIR_UNSUPPORTED',
    `this machine has no ${what}: error ${libc.errno()}; leave it out at both ends of the session`,
  )
}

/** `struct sockaddr_in`. */
function socketAddress(address: string, port: number): Uint8Array {
  const bytes = Buffer.alloc(SOCKADDR_BYTES)
  bytes.writeUInt16LE(AF_INET, 0)
  bytes.writeUInt16BE(port, 2)
  bytes.writeUInt32BE(HostAddress.parse(address).ipv4, 4)
  return bytes
}
