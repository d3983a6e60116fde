/** The kernel's states of the interfaces of a lab's links. */
import { loadLibc } from '../../lib/io/linux/libc.js'

const AF_INET = 2
const SOCK_DGRAM = 2
/** linux/sockios.h */
const SIOCGIFFLAGS = 0x8913
/** `struct ifreq`: the name, then the flags. */
const IFREQ_BYTES = 40
const IFNAMSIZ = 16
/** linux/if.h */
const IFF_UP = 0x1
const IFF_RUNNING = 0x40

/** `no-carrier`: the other end of the pair is down. `gone`: there is no such interface any more. */
export type LinkState = 'up' | 'no-carrier' | 'down' | 'gone'

/**
 * Returns the states of interfaces in this process's network namespace. Throws WEIR_UNSUPPORTED without
 * koffi.
 */
export function linkStates(interfaces: readonly string[]): LinkState[] {
  const libc = loadLibc()
  const socket = libc.socket(AF_INET, SOCK_DGRAM, 0)
  const request = Buffer.alloc(IFREQ_BYTES)
  const states = interfaces.map((name): LinkState => {
    request.fill(0).write(name, 0, IFNAMSIZ - 1, 'latin1')
    if (libc.ioctl(socket, SIOCGIFFLAGS, request) < 0) return 'gone'
    const flags = request.readInt16LE(IFNAMSIZ)
    if ((flags & IFF_UP) === 0) return 'down'
    return (flags & IFF_RUNNING) === 0 ? 'no-carrier' : 'up'
  })
  libc.close(socket)
  return states
}
