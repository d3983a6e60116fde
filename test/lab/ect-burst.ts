/**
 * A program for a host of a lab: sends UDP datagrams that are ECN-capable, ECT(0), at once.
 *
 *     node ect-burst.js ADDRESS COUNT BYTES
 */
import { writeSync } from 'node:fs'
import { loadLibc } from '../../lib/io/linux/libc.js'
import { openSocket } from '../support/kernel-sockets.js'

const SOCK_DGRAM = 2
const SOL_IP = 0
const IP_TOS = 1
const ECT0 = 2
const DISCARD_PORT = 9

const [address, count, bytes] = process.argv.slice(2)
const fd = openSocket(SOCK_DGRAM, 0, address!, DISCARD_PORT)
if (loadLibc().setsockopt(fd, SOL_IP, IP_TOS, new Uint8Array(Int32Array.of(ECT0).buffer), 4) !== 0)
  throw new Error('IP_TOS')
for (let sent = 0; sent < Number(count); ) {
  try {
    writeSync(fd, Buffer.alloc(Number(bytes)))
    sent++
  } catch (error) {
    // Nobody has that port: an ICMP message says so, by the next datagram, which then has not left.
    if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
  }
}
