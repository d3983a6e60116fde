/**
 * Weir's end of a connection with the program `peer` of the guests (guests/peer.c): a target, whose memory and receives the other end
 * uses, or the driver, which does the operations and checks every byte.
 *
 *   weir-peer ADDRESS listen|connect target|driver PORT [key=value …]
 *
 * | key | meaning | default |
 * |---|---|---|
 * | to | the address to connect to | |
 * | io, mtu | the host's | auto, fill |
 * | n, size, depth | operations, bytes of each, how many at a time | 64, 8000, 8 |
 * | ops | w WRITE, r READ and compare, s SEND, i SEND with immediate, I WRITE with immediate, a atomics, R READs in flight | wrsiIaR |
 * | nrecv, cycle | a target's receives; the messages begin anew after so many | 64, none |
 * | priv | private data, text | none |
 *
 * It prints what happens, a line each, and a last line `exact {JSON}`. It exits with 1 where something is wrong.
 */
import {
  Access,
  Completion,
  Host,
  type HostConnection,
  ReceiveOpcode,
  type ReceiveWork,
  type SendWork,
  WorkOpcode,
  WorkStatus,
  workStatusName,
} from '../../lib/index.js'

const [address, side, role, port, ...rest] = process.argv.slice(2)
const given = new Map(rest.map(pair => pair.split(/=(.*)/s, 2) as [string, string]))
const text = (key: string, otherwise: string): string => given.get(key) ?? otherwise
const count = (key: string, otherwise: number): number => Number(given.get(key) ?? otherwise)

const HEAD_BYTES = 4096
const MEMORY_BYTES = count('mib', 4) << 20
const RECEIVE_BYTES = 8192
const INFO_BYTES = 16
const ACCESS = Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC

const mtu = text('mtu', 'fill')
const host = await Host.open({
  address: address!,
  io: text('io', 'auto'),
  queueDepth: 512,
  pathMtu: mtu === 'fill' ? 'fill' : Number(mtu),
})
const memory = new Uint8Array(new SharedArrayBuffer(MEMORY_BYTES))
const region = await host.register(memory, ACCESS)
const receiveMemory = new Uint8Array(new SharedArrayBuffer(count('nrecv', 64) * RECEIVE_BYTES))
const receiveRegion = await host.register(receiveMemory, Access.LOCAL_WRITE)
const completion = new Completion()

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function fail(line: string): never {
  throw new Error(line)
}

/** Byte `i` of message `m`, as in peer.c. */
function pattern(m: number, i: number): number {
  return (m * 31 + i * 7 + (i >>> 8)) & 0xff
}

function fill(into: Uint8Array, m: number): void {
  for (let i = 0; i < into.length; i++) into[i] = pattern(m, i)
}

function check(what: string, bytes: Uint8Array, m: number): void {
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] !== pattern(m, i)) fail(`${what} ${m}: byte ${i} is ${bytes[i]}, not ${pattern(m, i)}`)
  }
}

function receive(slot: number): ReceiveWork {
  return { id: slot, region: receiveRegion, offset: slot * RECEIVE_BYTES, length: RECEIVE_BYTES }
}

const receives = Array.from({ length: count('nrecv', 64) }, (_, slot) => receive(slot))

async function open(): Promise<HostConnection> {
  const privateData = Buffer.from(text('priv', ''))
  if (side === 'connect') return await host.connect(text('to', ''), Number(port), { privateData, receives })
  const listener = await host.listen(Number(port), { privateData })
  say('listening')
  const connection = await listener.accept()
  for (const work of receives) connection.postReceive(work)
  return connection
}

const connection = await open()
say(`established with ${connection.remote}, ${connection.pathMtu} bytes a packet`)
say(`private ${Buffer.from(connection.peerPrivateData).toString('hex')}`)

/** Hands out its memory, then takes messages until the peer leaves. */
async function target(): Promise<object> {
  const view = new DataView(memory.buffer)
  view.setBigUint64(0, BigInt(region.address + HEAD_BYTES))
  view.setUint32(8, region.key)
  view.setUint32(12, MEMORY_BYTES - HEAD_BYTES)
  connection.postSend({ id: 0, opcode: WorkOpcode.SEND, region, offset: 0, length: INFO_BYTES })
  let messages = 0
  let immediates = 0
  const cycle = count('cycle', 2 ** 40)
  while (await connection.next(completion)) {
    const { status, id, isReceive, opcode, hasImmediate, byteLength } = completion
    if (status !== WorkStatus.SUCCESS && status !== WorkStatus.WR_FLUSH_ERR) fail(workStatusName(status))
    if (status !== WorkStatus.SUCCESS || !isReceive) continue
    if (hasImmediate) immediates++
    if (opcode === ReceiveOpcode.RECV) {
      const at = id * RECEIVE_BYTES
      check('message', receiveMemory.subarray(at, at + byteLength), messages % cycle)
      messages++
    }
    connection.postReceive(receive(id))
  }
  return { messages, immediates }
}

/** What the peer's target has said of its memory. */
interface Remote {
  address: number
  rkey: number
  bytes: number
}

const n = count('n', 64)
const size = count('size', 8000)
const depth = count('depth', 8)

async function completed(what: string): Promise<void> {
  do {
    if (!(await connection.next(completion))) fail(`${what}: the connection has ended`)
    if (completion.status !== WorkStatus.SUCCESS) fail(`${what}: ${workStatusName(completion.status)}`)
  } while (completion.isReceive)
}

function post(opcode: WorkOpcode, offset: number, length: number, more: Partial<SendWork> = {}): void {
  if (!connection.postSend({ id: offset, opcode, region, offset, length, ...more }))
    fail('the send queue is full')
}

/** Message `m` to the peer, in the slot of its memory that it has for it. */
const OUT: Readonly<Record<string, WorkOpcode>> = {
  w: WorkOpcode.RDMA_WRITE,
  s: WorkOpcode.SEND,
  i: WorkOpcode.SEND_WITH_IMM,
  I: WorkOpcode.RDMA_WRITE_WITH_IMM,
}

async function send(opcode: WorkOpcode, { address, rkey, bytes }: Remote): Promise<void> {
  const slots = Math.floor(bytes / size)
  for (let done = 0, sent = 0; done < n; done++) {
    for (; sent < n && sent - done < depth; sent++) {
      const offset = (sent % depth) * size
      fill(memory.subarray(offset, offset + size), sent)
      post(opcode, offset, size, { remoteAddress: address + (sent % slots) * size, rkey, immediate: sent })
    }
    await completed(`message ${done}`)
  }
}

async function readBack({ address, rkey, bytes }: Remote, compares: boolean): Promise<void> {
  const slots = Math.floor(bytes / size)
  const first = compares && n > slots ? n - slots : 0
  const together = compares ? 1 : depth
  for (let done = first, sent = first; done < n; done++) {
    for (; sent < n && sent - done < together; sent++) {
      const offset = (sent % depth) * size
      post(WorkOpcode.RDMA_READ, offset, size, { remoteAddress: address + (sent % slots) * size, rkey })
    }
    await completed(`READ ${done}`)
    if (compares) check('READ', memory.subarray((done % depth) * size, (done % depth) * size + size), done)
  }
}

/** Numbers are those of the peer's processor: little endian. */
async function atomics({ address: remoteAddress, rkey }: Remote): Promise<void> {
  const view = new DataView(memory.buffer)
  const has = (value: bigint) => {
    if (view.getBigUint64(0, true) !== value) fail(`${view.getBigUint64(0, true)} was found, not ${value}`)
  }
  view.setBigUint64(HEAD_BYTES, 1000n, true)
  post(WorkOpcode.RDMA_WRITE, HEAD_BYTES, 8, { remoteAddress, rkey })
  await completed('WRITE')
  for (let k = 0n; k < 20n; k++) {
    post(WorkOpcode.FETCH_AND_ADD, 0, 8, { remoteAddress, rkey, compareOrAdd: 3n })
    await completed('fetch-and-add')
    has(1000n + 3n * k)
  }
  post(WorkOpcode.COMPARE_AND_SWAP, 0, 8, { remoteAddress, rkey, compareOrAdd: 1060n, swap: 77n })
  await completed('compare-and-swap')
  has(1060n)
  post(WorkOpcode.RDMA_READ, 0, 8, { remoteAddress, rkey })
  await completed('READ')
  has(77n)
}

/** Waits for what the target says of its memory, then does the operations. */
async function driver(): Promise<object> {
  do {
    if (!(await connection.next(completion))) fail('no word of the target')
  } while (!completion.isReceive)
  const view = new DataView(receiveMemory.buffer, completion.id * RECEIVE_BYTES)
  const remote = { address: Number(view.getBigUint64(0)), rkey: view.getUint32(8), bytes: view.getUint32(12) }
  for (const op of text('ops', 'wrsiIaR')) {
    const began = performance.now()
    if (op === 'a') await atomics(remote)
    else if (op === 'r' || op === 'R') await readBack(remote, op === 'r')
    else await send(OUT[op]!, remote)
    const seconds = (performance.now() - began) / 1000
    say(
      `op ${op}: ${n} of ${size} bytes, ${seconds.toFixed(3)} s, ${((n * size) / seconds / 1e6).toFixed(2)} MB/s`,
    )
  }
  return {}
}

let stats: object = {}
try {
  const done = role === 'target' ? await target() : await driver()
  if (role === 'driver') {
    const { sentBytes, retransmittedBytes, timeouts, baseRttNs, controller } = await connection.stats()
    stats = { sentBytes, retransmittedBytes, timeouts, baseRttNs, controller }
    await connection.disconnect()
  }
  const end = await connection.closed
  if (end !== null) fail(`the connection ended: ${end.message}`)
  say(`exact ${JSON.stringify({ ...done, ...stats })}`)
} catch (error) {
  say(`failed: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
await host.close()
