/**
 * Sockets that are open when the call returns, unlike those of node:dgram. So a test that enters a network
 * namespace for one call (`Namespaces.inside`) has them there.
 */
import { closeSync, writeSync } from 'node:fs'
import { loadLibc } from '../../lib/io/linux/libc.js'

const AF_INET = 2
const SOCK_DGRAM = 2

/** sys/socket.h: SOCK_RAW, not blocking. */
export const RAW_SOCKET = 3 | 0o4000

/**
 * A socket for IPv4, connected if `address` is given. node:fs reads and writes it. Throws the kernel's error.
 */
export function openSocket(type: number, protocol: number, address?: string, port = 0): number {
  const libc = loadLibc()
  const fd = libc.socket(AF_INET, type, protocol)
  if (fd < 0) throw new Error(`socket: error ${libc.errno()}`)
  if (address === undefined) return fd
  // struct sockaddr_in: the family as the machine has it, the port and the address as the network has them.
  const name = Buffer.alloc(16)
  name.writeUInt16LE(AF_INET)
  name.writeUInt16BE(port, 2)
  name.set(address.split('.').map(Number), 4)
  if (libc.connect(fd, name, name.length) === 0) return fd
  const error = libc.errno()
  closeSync(fd)
  throw new Error(`connect to ${address}: error ${error}`)
}

/** Sends one UDP datagram from this thread's namespace. */
export function sendDatagram(address: string, port: number, payload: string): void {
  const fd = openSocket(SOCK_DGRAM, 0, address, port)
  writeSync(fd, payload)
  closeSync(fd)
}
