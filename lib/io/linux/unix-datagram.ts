/** Datagrams to a Unix socket, which Node.js does not have. */
import { type Libc, loadLibc } from './libc.js'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const MSG_NOSIGNAL = 0x4000
const SOL_SOCKET = 1
const SO_SNDTIMEO = 21
/** Bytes of `sun_path` (unix(7)). */
const PATH_BYTES_MAX = 108
/** A receiver whose queue is full keeps the caller for this long at most. */
const SEND_SECONDS_MAX = 1

/**
 * Sends one datagram. A name that begins with "@" is an abstract one: Linux has a NUL in its place. Returns null, or what failed
 * and the number of the error. Throws WEIR_UNSUPPORTED where system calls cannot be made.
 */
export function sendUnixDatagram(name: string, bytes: Uint8Array): string | null {
  const libc = loadLibc()
  const address = socketAddress(name)
  if (address === null) return `its name is longer than ${PATH_BYTES_MAX - 1} bytes`
  const fd = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
  if (fd < 0) return failed(libc, 'socket')
  try {
    // A `struct timeval`.
    const patience = new Uint8Array(16)
    patience[0] = SEND_SECONDS_MAX
    libc.setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, patience, patience.length)
    if (libc.connect(fd, address, address.length) < 0) return failed(libc, 'connect')
    if (libc.send(fd, bytes, bytes.length, MSG_NOSIGNAL) < 0) return failed(libc, 'send')
    return null
  } finally {
    libc.close(fd)
  }
}

/** `struct sockaddr_un`. The length of an abstract name counts: it has no NUL at its end. */
function socketAddress(name: string): Uint8Array | null {
  const path = Buffer.from(name.startsWith('@') ? `\0${name.slice(1)}` : `${name}\0`)
  if (path.length > PATH_BYTES_MAX) return null
  const address = Buffer.alloc(2 + path.length)
  address.writeUInt16LE(AF_UNIX, 0)
  path.copy(address, 2)
  return address
}

function failed(libc: Libc, call: string): string {
  return `${call} fails (errno ${libc.errno()})`
}
