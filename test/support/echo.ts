/**
 * ICMP echo (RFC 792), as `ping` does it: proof that packets cross, there and back, on machines without ping.
 * It needs what labs need: koffi, and the right to raw sockets.
 *
 * As a program, `node echo.js HOST [COUNT]` prints an `EchoResult` as JSON.
 */
import { lookup } from 'node:dns/promises'
import { closeSync, readSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadLibc } from '../../lib/io/linux/libc.js'
import * as icmp from '../../lib/wire/net/icmp.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { foldChecksum, sumWords } from '../../lib/wire/net/l4-checksum.js'
import { openSocket, RAW_SOCKET } from './kernel-sockets.js'

const ECHO_REPLY = 0
const ECHO_REQUEST = 8
const IPPROTO_IP = 0
const IP_TTL = 2
/** As with ping: 84 bytes with the headers of ICMP and IPv4, 98 on Ethernet. */
const PAYLOAD_BYTES = 56
const REQUEST_BYTES = icmp.BYTES + PAYLOAD_BYTES
const INTERVAL_MS = 20
/**
 * After this time a request or its answer counts as lost, because the kernel drops packets that wait for an
 * unknown neighbour.
 */
const PATIENCE_MS = 5000
const LOST_MAX = 6

export interface EchoResult {
  /** Requests, each of 98 bytes on Ethernet. */
  sent: number
  /** The answers, in order: address, remaining TTL, and round trip. */
  replies: { from: string; ttl: number; ms: number }[]
  /** Errors that came back for a request. */
  errors: { from: string; type: number; code: number }[]
}

/** Echo requests to one address, from the network namespace in which it was made. */
export class Echo {
  readonly #sender: number
  /** Not connected, because errors come from other addresses. */
  readonly #receiver: number
  readonly #id = (process.pid ^ (Math.random() * 0xffff)) & 0xffff
  readonly #bytes = Buffer.alloc(1500)
  readonly #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length)
  readonly #result: EchoResult = { sent: 0, replies: [], errors: [] }

  /** @param address IPv4; @param ttl of the requests */
  constructor(address: string, ttl = 64) {
    this.#receiver = openSocket(RAW_SOCKET, icmp.PROTOCOL)
    this.#sender = openSocket(RAW_SOCKET, icmp.PROTOCOL, address)
    loadLibc().setsockopt(this.#sender, IPPROTO_IP, IP_TTL, Buffer.from(Uint32Array.of(ttl).buffer), 4)
  }

  /** Sends requests one after another until `count` have been answered, or too many were not. */
  async run(count = 1): Promise<EchoResult> {
    const result = this.#result
    const done = () => result.replies.length + result.errors.length
    for (let lost = 0; done() < count && lost <= LOST_MAX; ) {
      const before = done()
      const sentAt = performance.now()
      this.#request(++result.sent)
      while (done() === before && performance.now() - sentAt < PATIENCE_MS) {
        await sleep(1)
        this.#receive(result.sent, sentAt)
      }
      if (done() === before) lost++
      else if (done() < count) await sleep(INTERVAL_MS)
    }
    return result
  }

  close(): void {
    closeSync(this.#sender)
    closeSync(this.#receiver)
  }

  #request(sequence: number): void {
    const view = new DataView(new ArrayBuffer(REQUEST_BYTES))
    view.setUint8(0, ECHO_REQUEST)
    view.setUint16(4, this.#id)
    view.setUint16(6, sequence)
    view.setUint16(2, foldChecksum(sumWords(view, 0, REQUEST_BYTES, 0)))
    writeSync(this.#sender, view)
  }

  /** Handles everything that has arrived. A raw socket gets the ICMP of all, with the IPv4 header. */
  #receive(sequence: number, sentAt: number): void {
    for (;;) {
      let bytes: number
      try {
        bytes = readSync(this.#receiver, this.#bytes)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return
        throw error
      }
      this.#onPacket(bytes, sequence, performance.now() - sentAt)
    }
  }

  #onPacket(bytes: number, sequence: number, ms: number): void {
    const view = this.#view
    const at = ipv4.headerBytes(view, 0)
    const from = this.#bytes.subarray(12, 16).join('.')
    const isMine = (request: number) =>
      request + icmp.BYTES <= bytes &&
      view.getUint16(request + 4) === this.#id &&
      view.getUint16(request + 6) === sequence
    const type = icmp.type(view, at)
    if (type === ECHO_REPLY && isMine(at)) this.#result.replies.push({ from, ttl: ipv4.ttl(view, 0), ms })
    // An error quotes the packet's header and eight bytes behind it.
    const quoted = at + icmp.BYTES
    if (icmp.isError(view, at) && isMine(quoted + ipv4.headerBytes(view, quoted)))
      this.#result.errors.push({ from, type, code: view.getUint8(at + 1) })
  }
}

async function main([host = '', count = '1']: string[]): Promise<void> {
  const { address } = await lookup(host, 4)
  console.log(JSON.stringify(await new Echo(address).run(Number(count))))
}

if (process.argv[1] === import.meta.filename) void main(process.argv.slice(2))
