/**
 * A plain UDP ping-pong between two processes that spin: by node:dgram, or by system calls. The latter are
 * recvmmsg and sendmmsg of one datagram on a non-blocking socket, as in sockperf's ping-pong.
 */
import { createSocket } from 'node:dgram'
import { fileURLToPath } from 'node:url'
import { loadLibc } from '../../lib/io/linux/libc.js'
import { UdpSocket } from '../../lib/io/linux/udp-socket.js'
import { LatencyRecorder } from '../../lib/perf/latency.js'

export type Way = 'dgram' | 'libc'

const PORT = 5298
/** After this time an exchange counts as lost and is repeated, ms. */
const LOST_MS = 500

export function pingPongServer(way: Way, address: string): string[] {
  return [process.execPath, fileURLToPath(import.meta.url), way, 'server', address]
}

/** Prints a LatencySummary of half round trips, in ns. */
export function pingPongClient(way: Way, address: string, bytes: number, seconds: number): string[] {
  const words = [way, 'client', address, String(bytes), String(seconds)]
  return [process.execPath, fileURLToPath(import.meta.url), ...words]
}

function serveByDgram(address: string): void {
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => socket.send(message, from.port, from.address))
  socket.bind(PORT, address, () => process.stdout.write('ready\n'))
}

function pingByDgram(address: string, bytes: number, seconds: number): void {
  const recorder = new LatencyRecorder()
  const message = Buffer.alloc(bytes, 1)
  const socket = createSocket('udp4')
  const end = process.hrtime.bigint() + BigInt(seconds * 1e9)
  let sent = process.hrtime.bigint()
  const ping = () => {
    sent = process.hrtime.bigint()
    socket.send(message)
  }
  const again = setInterval(() => {
    if (process.hrtime.bigint() - sent > BigInt(LOST_MS * 1e6)) ping()
  }, LOST_MS)
  socket.on('message', () => {
    const now = process.hrtime.bigint()
    recorder.record(Number(now - sent))
    if (now < end) return ping()
    clearInterval(again)
    socket.close()
    process.stdout.write(`${JSON.stringify(recorder.summary(0.5))}\n`)
  })
  socket.connect(PORT, address, ping)
}

/** One datagram at a time, from and to the last sender. */
class OneDatagram {
  readonly #libc = loadLibc()
  readonly #socket: UdpSocket
  readonly #memory = Buffer.alloc(4096)
  readonly #header = new DataView(this.#memory.buffer, this.#memory.byteOffset)
  readonly #at = this.#libc.address(this.#memory)

  /** struct mmsghdr at 0, iovec at 64, sockaddr_in at 128, payload at 256. */
  constructor(address: string, port: number, to: Buffer | null, bytes: number) {
    this.#socket = new UdpSocket({ address, port, bufferBytes: 1 << 20 })
    const view = this.#header
    view.setBigUint64(0, BigInt(this.#at + 128), true)
    view.setUint32(8, 16, true)
    view.setBigUint64(16, BigInt(this.#at + 64), true)
    view.setBigUint64(24, 1n, true)
    view.setBigUint64(64, BigInt(this.#at + 256), true)
    view.setBigUint64(72, BigInt(bytes), true)
    to?.copy(this.#memory, 128)
  }

  set bytes(bytes: number) {
    this.#header.setUint32(72, bytes, true)
  }

  /** Returns true if one arrived. `length` is its bytes. */
  receive(): boolean {
    return this.#libc.recvmmsg(this.#socket.fd, this.#at, 1, 0, 0) === 1
  }

  get length(): number {
    return this.#header.getUint32(56, true)
  }

  send(): void {
    this.#libc.sendmmsg(this.#socket.fd, this.#at, 1, 0)
  }
}

function serveByLibc(address: string): void {
  const one = new OneDatagram(address, PORT, null, 2048)
  process.stdout.write('ready\n')
  const turn = () => {
    // The event loop runs now and then, so that the process can be ended.
    for (let i = 0; i < 20_000; i++) {
      if (!one.receive()) continue
      one.bytes = one.length
      one.send()
      one.bytes = 2048
    }
    setImmediate(turn)
  }
  turn()
}

function pingByLibc(local: string, address: string, bytes: number, seconds: number): void {
  const recorder = new LatencyRecorder()
  const to = Buffer.alloc(16)
  to.writeUInt16LE(2, 0)
  to.writeUInt16BE(PORT, 2)
  for (const [i, part] of address.split('.').entries()) to[4 + i] = Number(part)
  const one = new OneDatagram(local, 0, to, bytes)
  const now = () => performance.now() * 1e6
  for (const end = now() + seconds * 1e9; ; ) {
    const sent = now()
    one.bytes = bytes
    one.send()
    one.bytes = 2048
    while (!one.receive() && now() - sent < LOST_MS * 1e6) {
      // spins
    }
    const done = now()
    if (done - sent < LOST_MS * 1e6) recorder.record(done - sent)
    if (done >= end) break
  }
  process.stdout.write(`${JSON.stringify(recorder.summary(0.5))}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , way, role, address, bytes, seconds] = process.argv
  if (role === 'server') way === 'libc' ? serveByLibc(address!) : serveByDgram(address!)
  else if (way === 'libc') pingByLibc('0.0.0.0', address!, Number(bytes), Number(seconds))
  else pingByDgram(address!, Number(bytes), Number(seconds))
}
