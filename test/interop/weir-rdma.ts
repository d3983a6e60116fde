/**
 * Weir's ends of programs that come with rdma-core (rping, ucmatose, rdma_client, rdma_server): a guest runs the other end.
 *
 *   weir-rdma ADDRESS listen|connect program=rping|ucmatose|rdma [to=ADDRESS] [count=10] [size=4096]
 */
import { Access, Completion, type HostConnection, WorkOpcode, workStatusName } from '../../lib/index.js'
import { numberOf, openEnd, runEnd, textOf } from './weir-end.js'

const program = textOf('program', 'rping')
const count = numberOf('count', 10)
const size = numberOf('size', 4096)

const PORT = 7471
const RECEIVES = 64
const RECEIVE_BYTES = 4096
const INFO_BYTES = 16
/** Parts of this end's memory: what is sent, what is read or written by the peer, what comes back. */
const SOURCE = 0
const SINK = 1 << 16
const CONTROL = 2 << 16

const end = await openEnd()
const { host, connects, to } = end
const memory = new Uint8Array(new SharedArrayBuffer(3 << 16))
const view = new DataView(memory.buffer)
const region = await host.register(memory, Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE)
const received = new Uint8Array(new SharedArrayBuffer(RECEIVES * RECEIVE_BYTES))
const receiveRegion = await host.register(received, Access.LOCAL_WRITE)
const completion = new Completion()
const receives = Array.from({ length: RECEIVES }, (_, id) => ({
  id,
  region: receiveRegion,
  offset: id * RECEIVE_BYTES,
  length: RECEIVE_BYTES,
}))
/** Messages that came while something else was awaited. */
const messages: Uint8Array[] = []
let connection: HostConnection

/** Takes a completion. Returns false once the connection has ended. */
async function step(): Promise<boolean> {
  if (!(await connection.next(completion))) return false
  const { isReceive, id, byteLength, status } = completion
  if (workStatusName(status) === 'WR_FLUSH_ERR') return true
  if (status !== 0) throw new Error(workStatusName(status))
  if (isReceive) {
    messages.push(received.slice(id * RECEIVE_BYTES, id * RECEIVE_BYTES + byteLength))
    connection.postReceive(receives[id]!)
  } else done++
  return true
}
let done = 0

/** The next message; null: the peer has left. */
async function message(): Promise<Uint8Array | null> {
  while (messages.length === 0) if (!(await step())) return null
  return messages.shift()!
}

async function work(
  opcode: WorkOpcode,
  offset: number,
  length: number,
  more: { remoteAddress?: number; rkey?: number } = {},
): Promise<void> {
  const before = done
  if (!connection.postSend({ id: 0, opcode, region, offset, length, ...more })) throw new Error('not posted')
  while (done === before) if (!(await step())) throw new Error('the peer has left')
}

/** Says where memory of this end is: address, key, length. */
async function tell(offset: number): Promise<void> {
  view.setBigUint64(CONTROL, BigInt(region.address + offset))
  view.setUint32(CONTROL + 8, region.key)
  view.setUint32(CONTROL + 12, size)
  await work(WorkOpcode.SEND, CONTROL, INFO_BYTES)
}

function told(bytes: Uint8Array): { remoteAddress: number; rkey: number; length: number } {
  const info = new DataView(bytes.buffer, bytes.byteOffset)
  return { remoteAddress: Number(info.getBigUint64(0)), rkey: info.getUint32(8), length: info.getUint32(12) }
}

/** The client says where its text is, the server READs it; then where it wants it, and the server WRITEs it there. */
async function rpingServer(): Promise<number> {
  for (let pings = 0; ; pings++) {
    const source = await message()
    if (source === null) return pings
    const { length, ...from } = told(source)
    await work(WorkOpcode.RDMA_READ, SOURCE, length, from)
    await work(WorkOpcode.SEND, CONTROL, INFO_BYTES)
    const sink = await message()
    if (sink === null) throw new Error('the client has left amid a ping')
    const { length: room, ...to } = told(sink)
    await work(WorkOpcode.RDMA_WRITE, SOURCE, room, to)
    await work(WorkOpcode.SEND, CONTROL, INFO_BYTES)
  }
}

async function rpingClient(): Promise<number> {
  for (let n = 0; n < count; n++) {
    for (let i = 0; i < size; i++) memory[SOURCE + i] = 65 + ((n + i) % 58)
    memory.fill(0, SINK, SINK + size)
    await tell(SOURCE)
    if ((await message()) === null) throw new Error('the server has left')
    await tell(SINK)
    if ((await message()) === null) throw new Error('the server has left')
    const [sent, back] = [SOURCE, SINK].map(at => Buffer.from(memory.buffer, at, size))
    if (!sent!.equals(back!)) throw new Error(`the text of ping ${n} has come back changed`)
  }
  return count
}

/** The listening end sends all messages first, the other one answers. */
async function ucmatose(): Promise<number> {
  const send = async () => {
    for (let n = 0; n < count; n++) await work(WorkOpcode.SEND, SOURCE, size)
  }
  const receive = async () => {
    for (let n = 0; n < count; n++) {
      const bytes = await message()
      if (bytes?.length !== size) throw new Error(`message ${n} has ${bytes?.length} bytes, not ${size}`)
    }
  }
  if (!connects) await send()
  await receive()
  if (connects) await send()
  return count
}

/** One message of 16 bytes each way, the connecting end's first. */
async function rdmaServer(): Promise<number> {
  if (connects) await work(WorkOpcode.SEND, SOURCE, INFO_BYTES)
  const bytes = await message()
  if (bytes?.length !== INFO_BYTES) throw new Error(`a message of ${bytes?.length} bytes`)
  if (!connects) await work(WorkOpcode.SEND, SOURCE, INFO_BYTES)
  return 1
}

const PROGRAMS: Readonly<Record<string, () => Promise<number>>> = {
  rping: connects ? rpingClient : rpingServer,
  ucmatose,
  rdma: rdmaServer,
}
/** Programs whose listening end waits until the other one leaves. */
const WAITS = !connects && program !== 'ucmatose'

await runEnd(async () => {
  if (to !== null) connection = await host.connect(to, PORT, { receives })
  else {
    const listener = await host.listen(PORT)
    console.log('listening')
    connection = await listener.accept()
    for (const work of receives) connection.postReceive(work)
  }
  const times = await PROGRAMS[program]!()
  if (WAITS || (program === 'ucmatose' && connects)) while (await step());
  else await connection.disconnect()
  const error = await connection.closed
  if (error !== null) throw error
  return times
}, end)
