/**
 * A protocol test as a script: one line a packet, with its time. One queue pair is under test; the script is its
 * peer. A line is `TIME EVENT`, the time in µs:
 *
 *     < PACKET      the peer sends a packet              > PACKET    the queue pair must send it, at that time
 *     = COMPLETION  must be in a completion queue        ! NAME      the observer must get an error
 *     anything else is a command, see `#command`; `hold` keeps packets back, `let N` lets N go, `release` all
 *
 * Packets: `NAME PSN` and then words in any order, `len N`, `areq` (AckReq), `at N of N key NAME` (RETH),
 * `msn N`, `credits N`, `sequence|invalid|access|operational|invalid-rd` (NAK codes), `timer N` (RNR),
 * `original N`, `imm N`, `inv NAME`. NAME is the opcode without `RC_` and `RDMA_`, but NAK and RNR for ACKs of
 * those kinds. The queue pair's first PSN is 100, the peer's 200; the key `good` has all rights, `locked` none.
 *
 * The packets, completions and errors that come out are compared, as lines, with those of the script: all of
 * them, in order.
 */
import type { Test } from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { type QpConfig, QpState, TxKind } from '../../lib/qp/queue-pair.js'
import { Completion, workStatusName } from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Host } from '../qp/pipe.js'
import { buildPacket, printPacket } from './packets.js'

const SEND_PSN = 100
const RECEIVE_PSN = 200
const REGION_BYTES = 1 << 20
const HEADROOM = 8

/** Runs a script and compares. */
export function script(t: Test, title: string, config: Partial<QpConfig>, text: string): void {
  const lines = text
    .split('\n')
    .map(line => line.replace(/#.*/, '').trim().replace(/\s+/g, ' '))
    .filter(line => line !== '')
  const player = new Player(config)
  for (const line of lines) player.play(line)
  t.same(player.events, lines.filter(isExpectation), title)
}

function isExpectation(line: string): boolean {
  return /^\S+ [>=!]/.test(line)
}

class Player {
  readonly events: string[] = []
  readonly #host: Host
  readonly #frame = new Frame(0, Buffer.alloc(HEADROOM + 4608))
  readonly #completion = new Completion()
  readonly #regions: Record<string, MemoryRegion>
  #now = 0
  #held = false

  constructor(config: Partial<QpConfig>) {
    this.#host = new Host(17, { ackTimeoutExponent: 0, ...config })
    const bytes = Buffer.alloc(REGION_BYTES)
    this.#regions = {
      good: this.#host.memory.register(bytes, REGION_BYTES, 15),
      locked: this.#host.memory.register(Buffer.alloc(REGION_BYTES), REGION_BYTES, Access.LOCAL_WRITE),
    }
    this.#host.connect(18, SEND_PSN, RECEIVE_PSN)
  }

  play(line: string): void {
    const [time, kind, ...words] = line.split(' ')
    this.#advance(Math.round(Number(time) * 1000))
    if (isExpectation(line)) return
    if (kind === '<') this.#receive(words)
    else this.#command(kind!, words)
    this.#observe()
  }

  /** Lets time pass, through every deadline on the way. */
  #advance(until: number): void {
    for (;;) {
      const deadline = this.#host.qp.nextTimeout()
      if (deadline > until) break
      this.#now = deadline
      this.#host.qp.onTimeout(deadline)
      this.#observe()
    }
    this.#now = until
  }

  #receive(words: string[]): void {
    const frame = this.#frame
    buildPacket(frame, HEADROOM, this.#host.qp.qpn, words, this.#regions)
    this.#host.qp.onPacket(this.#now, frame)
  }

  /** Records everything that the queue pair produces. */
  #observe(): void {
    while (!this.#held && this.#transmit()) {}
    const got = this.#completion
    while (this.#host.sendCq.poll(got)) this.#event(`= send ${got.id} ${workStatusName(got.status)}`)
    while (this.#host.receiveCq.poll(got)) {
      const length = got.status === 0 ? ` len ${got.byteLength}` : ''
      const immediate = got.hasImmediate ? ` imm ${got.immediate}` : ''
      const key = got.invalidatedKey === 0 ? '' : ' inv'
      this.#event(`= receive ${got.id} ${workStatusName(got.status)}${length}${immediate}${key}`)
    }
    if (this.#host.error !== null) this.#event(`! ${workStatusName(this.#host.error)}`)
    this.#host.error = null
  }

  #transmit(): boolean {
    if (this.#host.qp.pollTransmit(this.#now, this.#frame, HEADROOM) === TxKind.NONE) return false
    this.#event(`> ${printPacket(this.#frame)}`)
    return true
  }

  #event(what: string): void {
    this.events.push(`${this.#now / 1000} ${what}`)
  }

  #command(name: string, words: string[]): void {
    const qp = this.#host.qp
    if (name === 'receive') {
      const [id, length] = numbers(words)
      qp.postReceive({ id: id!, region: this.#regions.good!, offset: 4096, length: length! })
    } else if (name === 'hold') this.#held = true
    else if (name === 'release') this.#held = false
    else if (name === 'let') for (let i = Number(words[0]); i > 0; i--) this.#transmit()
    else if (name === 'error') qp.modify(this.#now, QpState.ERR)
    else if (name === 'drain') qp.modify(this.#now, QpState.SQD)
    else if (name === 'resume') qp.modify(this.#now, QpState.RTS)
    else if (name === 'deregister') this.#host.memory.deregister(this.#regions[words[0]!]!)
    else if (name === 'poke')
      this.#regions.good!.buffer!.writeBigUInt64LE(BigInt(words[1]!), Number(words[0]))
    else if (name === 'memory') this.#memory(Number(words[0]), Number(words[1]))
    else if (name === 'counter') this.#event(`= ${words[0]} ${qp.counters[words[0] as 'naks']}`)
    else qp.postSend(this.#now, this.#work(name, words))
  }

  /** The bytes of the region: `= memory OFFSET: FIRST…LAST`, in hex. */
  #memory(offset: number, length: number): void {
    this.#event(
      `= memory ${offset} ${this.#regions.good!.buffer!.subarray(offset, offset + length).toString('hex')}`,
    )
  }

  /** `send|write|read|swap|add ID LENGTH-or-operands [imm N] [inv N] [fence] [quiet] [from NAME]`. */
  #work(name: string, words: string[]): SendWork {
    const word = (key: string): string | undefined => words[words.indexOf(key) + 1]
    const has = (key: string): boolean => words.includes(key)
    const [id, second, third] = numbers(words)
    const opcodes: Record<string, WorkOpcode> = {
      send: has('imm') ? WorkOpcode.SEND_WITH_IMM : has('inv') ? WorkOpcode.SEND_WITH_INV : WorkOpcode.SEND,
      write: has('imm') ? WorkOpcode.RDMA_WRITE_WITH_IMM : WorkOpcode.RDMA_WRITE,
      read: WorkOpcode.RDMA_READ,
      swap: WorkOpcode.COMPARE_AND_SWAP,
      add: WorkOpcode.FETCH_AND_ADD,
    }
    const opcode = opcodes[name]
    if (opcode === undefined) throw new Error(`script: unknown command ${name}`)
    const atomic = opcode >= WorkOpcode.COMPARE_AND_SWAP
    return {
      id: id!,
      opcode,
      region: this.#regions[has('from') ? word('from')! : 'good']!,
      offset: 0,
      length: atomic ? 8 : second!,
      remoteAddress: 0x1000,
      rkey: 0x77,
      immediate: has('imm') ? Number(word('imm')) : undefined,
      invalidateKey: has('inv') ? Number(word('inv')) : undefined,
      compareOrAdd: atomic ? BigInt(second!) : undefined,
      swap: name === 'swap' ? BigInt(third!) : undefined,
      fence: has('fence'),
      signaled: !has('quiet'),
    }
  }
}

/** The leading numbers of a line. */
function numbers(words: string[]): number[] {
  const end = words.findIndex(word => Number.isNaN(Number(word)))
  return words.slice(0, end < 0 ? words.length : end).map(Number)
}
