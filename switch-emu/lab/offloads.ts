/**
 * Turns offloads to the network card off. A veth pair has none: checksums would remain unfinished and
 * segments longer than the MTU, but the switch needs frames as on a wire.
 */
import { WeirError } from '../../lib/errors.js'
import { type Libc, loadLibc } from '../../lib/io/linux/libc.js'

const AF_INET = 2
const SOCK_DGRAM = 2
/** linux/sockios.h */
const SIOCETHTOOL = 0x8946
const IFNAMSIZ = 16
const EOPNOTSUPP = 95

/** The commands of linux/ethtool.h that set one offload each. */
const OFFLOADS: readonly (readonly [name: string, command: number])[] = [
  ['segmentation of TCP', 0x1f],
  ['generic segmentation', 0x24],
  ['generic receive offload', 0x2c],
  ['transmit checksums', 0x17],
  ['receive checksums', 0x15],
  ['scatter and gather', 0x19],
]

/** For interfaces of this process's network namespace. Throws WEIR_UNSUPPORTED. */
export function turnOffloadsOff(interfaces: readonly string[]): void {
  const libc = loadLibc()
  const socket = libc.socket(AF_INET, SOCK_DGRAM, 0)
  if (socket < 0) throw failure('no socket for them', libc.errno())
  try {
    for (const name of interfaces) {
      for (const [what, command] of OFFLOADS) {
        const errno = turnOff(libc, socket, name, command)
        // An offload that the driver does not know is off.
        if (errno !== 0 && errno !== EOPNOTSUPP) throw failure(`${what} of ${name}`, errno)
      }
    }
  } finally {
    libc.close(socket)
  }
}

/** Returns the error number, 0 for none. */
function turnOff(libc: Libc, socket: number, name: string, command: number): number {
  // struct ethtool_value: command, value.
  const value = new Uint32Array([command, 0])
  // struct ifreq: the name, then a pointer.
  const request = Buffer.alloc(40)
  request.write(name, 0, IFNAMSIZ - 1, 'latin1')
  request.writeBigUInt64LE(BigInt(libc.address(new Uint8Array(value.buffer))), IFNAMSIZ)
  return libc.ioctl(socket, SIOCETHTOOL, request) < 0 ? libc.errno() : 0
}

function failure(what: string, errno: number): WeirError {
  return new WeirError('WEIR_UNSUPPORTED', `veth: offloads cannot be turned off: ${what}: error ${errno}`)
}
