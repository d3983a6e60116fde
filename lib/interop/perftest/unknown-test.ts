/**
 * What the listening end does for a client of which nobody knows which of the tests it runs: what the client does shows it.
 *
 * | the client | its program | this end |
 * |---|---|---|
 * | has READs or atomics outstanding | ib_read_*, ib_atomic_* | nothing |
 * | has several queue pairs, or three rounds of keys before its data | ib_write_bw; ib_send_bw if SENDs come | takes them |
 * | has four rounds, and SENDs one after the other before it has an answer | ib_send_bw | takes them |
 * | SENDs once | ib_send_lat | answers each |
 * | lets nobody reach its memory: its key is 0 | ib_send_* | never WRITEs |
 * | says nothing | ib_write_lat, which waits | WRITEs first |
 *
 * The messages themselves do not say which program sends them. rdma_rxe gives memory of a program that only sends the key 0. A network card may
 * give every memory a key, so a client with one is given time to begin: a WRITE that it does not let in would end its connection.
 *
 * An answer that ib_send_bw does not want finds no receive there, and waits until the client leaves.
 */
import type { ConnectionStats } from '../../nic/types.js'
import { Completion } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import { WorkStatus } from '../../qp/queues/work-status.js'
import { byteIs } from './byte-watch.js'
import type { Keys } from './messages.js'
import type { TestEnd, TestMemory } from './queue-pairs.js'
import { TESTS } from './tests.js'

/** In this time a client that wants no answers has sent its second message. */
const SECOND_SEND_MS = 20
/** A client that has sent nothing for so long after its last keys waits for this end. */
const WAITS_MS = 1000
/** Rounds of keys before the data of those tests in which this end has a part. */
const ROUNDS = 4
/** Both ends need the same, and neither says it. */
const WRITE_BYTES = TESTS.lat.write.size

export class UnknownTest {
  readonly #connection: TestEnd
  readonly #memory: TestMemory
  #sends = 0
  #answers = false
  #writesAnswered = 0
  #timer: NodeJS.Timeout | undefined

  /** @param connection it has its receives */
  constructor(connection: TestEnd, memory: TestMemory) {
    this.#connection = connection
    this.#memory = memory
  }

  /** WRITEs of this end that the client has answered: it runs ib_write_lat. */
  get writesAnswered(): number {
    return this.#writesAnswered
  }

  /** Takes SENDs until the connection ends. @param isAlone the client has no other queue pair */
  async serve(isAlone: () => boolean): Promise<void> {
    const completion = new Completion()
    const [receive] = this.#memory.receives(1)
    while (await this.#connection.next(completion)) {
      const { status, isReceive, byteLength } = completion
      if (status !== WorkStatus.SUCCESS || !isReceive) continue
      this.#connection.postReceive(receive!)
      this.#sends++
      if (this.#answers) this.#answer(byteLength)
      else if (this.#sends === 1)
        this.#after(SECOND_SEND_MS, () => {
          this.#answers = this.#sends === 1 && isAlone()
          if (this.#answers) this.#answer(byteLength)
        })
    }
    clearTimeout(this.#timer)
  }

  /** The client has had that many rounds of keys, of which these are the last. */
  onKeys(rounds: number, keys: Keys): void {
    // What only writes and sends has none but one outstanding, and what only sends may have no key.
    if (rounds !== ROUNDS || keys.outReads > 1 || keys.rkey === 0 || this.#sends > 0) return
    // A connection that ends meanwhile has no figures.
    this.#after(WAITS_MS, () => void this.#write(keys).catch(() => {}))
  }

  #after(ms: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, ms)
  }

  #answer(length: number): void {
    const { region, own: offset } = this.#memory
    this.#connection.postSend({ id: 1, opcode: WorkOpcode.SEND, region, offset, length })
  }

  /** The client READs, though it said that it has one outstanding (-o 1). */
  async #hasBeenRead(): Promise<boolean> {
    const connection = this.#connection
    if (connection.isClosed) return false
    // An unreliable connection has no READs, and no such figure.
    const { sentBytes = 0 }: Partial<ConnectionStats> = await connection.stats()
    return sentBytes > 0
  }

  /** As `answerWrites`, until a SEND shows that the client does not wait. `serve` has the completions, so these make none. */
  async #write({ rkey, address: remoteAddress }: Keys): Promise<void> {
    if (await this.#hasBeenRead()) return
    const { region, own: offset } = this.#memory
    const work = { opcode: WorkOpcode.RDMA_WRITE, region, offset, length: WRITE_BYTES, remoteAddress, rkey }
    const isOver = () => this.#connection.isClosed || this.#sends > 0
    for (let count = 1; !isOver(); count++) {
      region.bytes[offset + WRITE_BYTES - 1] = count & 0xff
      if (!this.#connection.postSend({ ...work, id: 1, signaled: false })) return
      if (!(await byteIs(region.bytes, WRITE_BYTES - 1, count & 0xff, isOver))) return
      this.#writesAnswered++
    }
  }
}
