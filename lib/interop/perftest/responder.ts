/** What the listening end does with a client's data: nothing for WRITEs, READs and atomics, and what the test wants of SENDs. */
import { Completion } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import { WorkStatus } from '../../qp/queues/work-status.js'
import { byteIs } from './byte-watch.js'
import type { Keys } from './messages.js'
import type { ReceiveEnd, TestEnd, TestMemory } from './queue-pairs.js'

/**
 * Takes SENDs, and with `answers` sends one of the same length back for each, as ib_send_lat does. Ends with the connection.
 */
export async function takeSends(
  connection: TestEnd,
  receives: ReceiveEnd,
  memory: TestMemory,
  answers: boolean,
): Promise<void> {
  const completion = new Completion()
  const [receive] = memory.receives(1)
  const { region, own: offset } = memory
  while (await connection.next(completion)) {
    const { status, isReceive, byteLength: length } = completion
    if (status !== WorkStatus.SUCCESS || !isReceive) continue
    receives.postReceive(receive!)
    if (answers) connection.postSend({ id: 1, opcode: WorkOpcode.SEND, region, offset, length })
  }
}

/**
 * The listening end of ib_write_lat: it WRITEs first. Each end counts in the last byte of its messages, and answers when the other one's
 * count has come. `size` is that of both ends. Ends when `ended` says so, or with the connection.
 *
 * @param onAnswer called with each message of the other end
 */
export async function answerWrites(
  connection: TestEnd,
  memory: TestMemory,
  { rkey, address: remoteAddress }: Keys,
  size: number,
  ended: () => boolean,
  onAnswer: () => void,
): Promise<void> {
  const { region, own: offset } = memory
  const completion = new Completion()
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region, offset, length: size, remoteAddress, rkey }
  for (let count = 1; !ended(); count++) {
    region.bytes[offset + size - 1] = count & 0xff
    if (!connection.postSend(work)) return
    do if (!(await connection.next(completion)) || completion.status !== WorkStatus.SUCCESS) return
    while (completion.isReceive)
    if (!(await byteIs(region.bytes, size - 1, count & 0xff, ended))) return
    onAnswer()
  }
}
