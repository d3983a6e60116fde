/** Ports and frames for tests of ports. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Port } from '../../lib/io/port.js'

const BLOCKS = 69
const BLOCK_PORTS = 64
const FIRST_PORT = 24_200

let block: number | null = null
let pairs = Math.floor(Math.random() * 32)

/**
 * Returns a free port whose next one is free too. It is below those that the system assigns itself (from
 * 32768 on), so that its source ports are above them (from 61000 on).
 */
export function freePort(): number {
  block ??= ownBlock()
  let at = 0
  // The first one is held, as a port of TCP.
  while (at === 0) at = (18 * pairs++) & (BLOCK_PORTS - 1)
  return block + at
}

/**
 * Returns the first port of a block that no other process has: this process holds the TCP port of that number
 * as long as it lives. Without a host `listen` binds at once.
 */
function ownBlock(): number {
  for (let i = 0; i < BLOCKS; i++) {
    const first = FIRST_PORT + BLOCK_PORTS * ((process.pid + i) % BLOCKS)
    const server = createServer().on('error', () => {})
    server.listen({ port: first, exclusive: true }).unref()
    if (server.listening) return first
  }
  throw new Error(`all blocks of ports from ${FIRST_PORT} on are held`)
}

/** A plain socket on a free port of 127.0.0.1. */
export async function plainSocket(address = '127.0.0.1', port = 0): Promise<Socket> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  socket.bind(port, address)
  await once(socket, 'listening')
  return socket
}

/** Waits for the next frame of a port; fails the test by its own timeout if none comes. */
export async function nextFrame(port: Port): Promise<Frame> {
  for (;;) {
    const frame = port.receive()
    if (frame !== null) return frame
    await new Promise<void>(resolve =>
      port.waiter === null ? port.onReadable(resolve) : setImmediate(resolve),
    )
  }
}

/** Waits until `condition` holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 2))
}

interface UdpFrameFields {
  source: string
  destination: string
  sourcePort: number
  destinationPort: number
  payload: Uint8Array
}

/** An Ethernet/IPv4/UDP frame as a NIC hands it to a port, with the offsets filled in. */
export function udpFrame4(pool: FramePool, fields: UdpFrameFields): Frame {
  const frame = pool.take()!
  const { view, bytes } = frame
  bytes.fill(0, 0, 42)
  view.setUint16(12, 0x0800)
  view.setUint8(14, 0x45)
  view.setUint16(16, 28 + fields.payload.length)
  view.setUint16(20, 0x4000)
  view.setUint8(22, 64)
  view.setUint8(23, 17)
  bytes.set(fields.source.split('.').map(Number), 26)
  bytes.set(fields.destination.split('.').map(Number), 30)
  view.setUint16(34, fields.sourcePort)
  view.setUint16(36, fields.destinationPort)
  view.setUint16(38, 8 + fields.payload.length)
  bytes.set(fields.payload, 42)
  frame.length = 42 + fields.payload.length
  frame.wireLength = frame.length
  frame.l3 = 14
  frame.l4 = 34
  return frame
}

/** RFC 1071: 0xffff when the sum over an IPv4 header with its checksum is right. */
export function internetSum(bytes: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i]! << 8) | bytes[i + 1]!
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return sum
}
