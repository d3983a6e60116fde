/**
 * Sends one frame repeatedly out of an interface, as fast as the kernel accepts it: `node blaster.js
 * INTERFACE BYTES MILLISECONDS FROM TO`. The last two are IPv4 addresses of hosts of a lab. Prints the frames
 * sent and their cost as JSON.
 */
import { loadLibc } from '../lib/io/linux/libc.js'
import { PacketSocket } from '../lib/io/linux/packet-socket.js'
import { TxBatch } from '../lib/io/linux/tx-batch.js'
import { macOf } from '../lib/nic/config.js'
import { HostAddress } from '../lib/wire/net/address.js'
import * as ethernet from '../lib/wire/net/ethernet.js'
import * as ipv4 from '../lib/wire/net/ipv4.js'
import * as udp from '../lib/wire/net/udp.js'

export interface BlastResult {
  frames: number
  seconds: number
  cpuSeconds: number
}

const BATCH_FRAMES = 64
const TTL = 64
/** UDP port on which nobody listens. */
const PORT = 9

function frameBytes(bytes: number, from: HostAddress, to: HostAddress): Uint8Array {
  const frame = new Uint8Array(new SharedArrayBuffer(bytes))
  const view = new DataView(frame.buffer)
  const l3 = ethernet.BYTES
  const l4 = l3 + ipv4.BYTES
  ethernet.write(view, 0, macOf(to), macOf(from), ethernet.TYPE_IPV4)
  ipv4.write(view, l3, {
    tos: 0,
    totalLength: bytes - l3,
    identification: 0,
    dontFragment: true,
    ttl: TTL,
    protocol: ipv4.PROTOCOL_UDP,
    source: from.ipv4,
    destination: to.ipv4,
  })
  udp.setSourcePort(view, l4, PORT)
  udp.setDestinationPort(view, l4, PORT)
  udp.setLength(view, l4, bytes - l4)
  return frame
}

function blast(name: string, frame: Uint8Array, milliseconds: number): BlastResult {
  const libc = loadLibc()
  const socket = new PacketSocket(name)
  socket.configureSending()
  socket.bind(0)
  const batch = new TxBatch(libc, BATCH_FRAMES)
  const address = libc.address(frame)
  for (let i = 0; i < BATCH_FRAMES; i++) batch.add(address, frame.length)
  const cpu = process.cpuUsage()
  const start = performance.now()
  let frames = 0
  while (performance.now() - start < milliseconds) {
    const sent = batch.send(socket.fd, 0)
    if (sent > 0) frames += sent
  }
  const seconds = (performance.now() - start) / 1000
  const used = process.cpuUsage(cpu)
  socket.close()
  return { frames, seconds, cpuSeconds: (used.user + used.system) / 1e6 }
}

const [name, bytes, milliseconds, from, to] = process.argv.slice(2)
const frame = frameBytes(Number(bytes), HostAddress.parse(from!), HostAddress.parse(to!))
process.stdout.write(JSON.stringify(blast(name!, frame, Number(milliseconds))))
