/** A control socket that gets what is no request, or too much, or never read: only the client that sends it suffers. By seed. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { delimit } from '../../lib/control/framing.js'
import { requests } from '../../lib/control/messages.js'
import { Random } from '../../lib/sim/random.js'
import { DaemonProcess } from '../support/daemon-process.js'
import { long, usual } from '../support/long.js'
import { drawnSeed } from '../support/seeds.js'

/** Resident memory may grow by so much: the heap's own coming and going. */
const GROWTH_BYTES_MAX = 150e6

/** Sound requests that end by themselves; `stop` is not among them, and nothing is sent anywhere. */
const SOUND: readonly object[] = [
  { status: {} },
  { ping: {} },
  { listTransfers: {} },
  { cancel: { transferId: 'send-1' } },
  { cancel: { requestId: 7 } },
  { send: { path: 'relative', host: '' } },
  { sendTree: { roots: [], host: '' } },
  { get: { host: '', path: 'x', directory: 'relative' } },
  { getTree: { host: '', paths: ['*'], directory: 'relative' } },
  { perf: { host: '', test: 'none', size: 2 ** 40 } },
  { traffic: { name: 'x', host: '', bytes: 1 } },
  { tunnel: { listenAddress: 'no address', listenPort: 70_000, host: '' } },
]
/** Field 7 of a request, length-delimited: what would stop the daemon. */
const STOP_TAG = (7 << 3) | 2

class Fuzz {
  readonly #random: Random
  #id = 0

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  below(n: number): number {
    return Math.floor(this.#random.next() * n)
  }

  /** A message, sound or with some bytes changed, cut off, doubled or made up. */
  message(): Buffer {
    for (;;) {
      const content = SOUND[this.below(SOUND.length)]!
      const bytes = this.#mutated(Buffer.from(requests.encode({ id: ++this.#id, ...content } as never)))
      // Wherever the daemon takes the beginning of a message to be.
      if (!bytes.includes(STOP_TAG)) return bytes
    }
  }

  #mutated(sound: Buffer): Buffer {
    const bytes = Buffer.from(sound)
    switch (this.below(8)) {
      case 0:
        return delimit(bytes.subarray(0, this.below(bytes.length)))
      case 1:
        return delimit(Buffer.concat([bytes, bytes]))
      case 2:
        return delimit(Buffer.from(Array.from({ length: this.below(200) }, () => this.below(256))))
      case 3:
        // A length that the message does not have.
        return Buffer.concat([Buffer.from([this.below(256)]), bytes])
      case 4:
        return Buffer.from('ffffffff0f', 'hex')
      default:
        for (let i = this.below(4); i > 0; i--) bytes[this.below(bytes.length)] = this.below(256)
        return delimit(bytes)
    }
  }
}

async function opened(path: string): Promise<Socket> {
  return await new Promise(resolve => {
    const socket = connect(path)
    socket.on('error', () => {})
    socket.once('connect', () => resolve(socket))
    socket.once('close', () => resolve(socket))
  })
}

/** Sends messages until so many are sent, by connections that the daemon may end at any of them. */
async function flood(path: string, fuzz: Fuzz, messages: number, reads: boolean): Promise<number> {
  let answered = 0
  let sent = 0
  while (sent < messages) {
    const socket = await opened(path)
    if (reads) socket.on('data', piece => (answered += piece.length))
    for (let i = 0; i < 500 && sent < messages && socket.writable; i++, sent++) {
      const bytes = fuzz.message()
      // In pieces, sometimes.
      const cut = fuzz.below(3) === 0 ? fuzz.below(bytes.length) : bytes.length
      socket.write(bytes.subarray(0, cut))
      if (cut < bytes.length) socket.write(bytes.subarray(cut))
      if (i % 20 === 19) await sleep(0)
    }
    await sleep(1)
    socket.destroy()
  }
  return answered
}

async function survives(t: Test, messages: number): Promise<void> {
  const daemon = await DaemonProcess.start(t)
  const seed = drawnSeed(t)
  const fuzz = new Fuzz(seed)
  const client = await connectDaemon(daemon.socket)
  t.teardown(() => client.close())
  await flood(daemon.socket, fuzz, Math.min(messages, 2000), true)
  const before = (await client.status()).residentBytes
  const answered = await flood(daemon.socket, fuzz, messages / 2, true)
  await flood(daemon.socket, fuzz, messages / 2, false)
  const after = await client.status()
  t.ok(answered > 1000, 'sound ones are answered')
  t.comment(`${messages} messages: ${before} -> ${after.residentBytes} bytes resident`)
  t.ok(after.residentBytes - before < GROWTH_BYTES_MAX, 'memory is bounded')
  t.equal(after.transfers, 0)
  t.equal((await client.transfers()).length, 0)
}

usual('a few thousand mutated messages', t => survives(t, 4000))
long('100,000 mutated messages', t => survives(t, 100_000))
