/**
 * What plain node:dgram carries one way between two processes on loopback, without any protocol. It is the
 * yardstick for the goodput of a transfer. It uses equal datagrams, a connected socket, no callbacks, and
 * batches with a turn of the event loop in between. Goodput is what arrived, not what was sent.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WeirError } from '../lib/errors.js'
import { stealSince, stealTicks } from './steal.js'

/** BTH 12, INT shim 8 + 3 slots of 24, ICRC 4. */
const HEADER_BYTES = 96
const BATCH = 32
const SOCKET_BUFFER_BYTES = 8 << 20

interface BlastResult {
  payloadBytes: number
  datagramBytes: number
  seconds: number
  sentDatagrams: number
  receivedDatagrams: number
  /** Payload received per second of the receiver's time. */
  goodputBps: number
  senderCpuSeconds: number
  receiverCpuSeconds: number
  /**
   * Share of all CPU time that the machine's other tenants used meanwhile. Null where the OS does not report
   * it.
   */
  stealShare: number | null
}

interface ReceiverReport {
  datagrams: number
  elapsedNs: number
  cpuSeconds: number
}

/** Runs the benchmark and prints one JSON line. Arguments: `--seconds N` (default 3), `--payload BYTES` (4096). */
export async function run(args: string[] = []): Promise<BlastResult> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '3' },
      payload: { type: 'string', default: '4096' },
      json: { type: 'boolean' },
    },
  })
  const result = await blast(Number(values.seconds), Number(values.payload))
  if (!values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  return result
}

/** @param seconds 0.1 to 600; @param payloadBytes 1 to 60,000 */
export async function blast(seconds: number, payloadBytes: number): Promise<BlastResult> {
  if (!(seconds >= 0.1 && seconds <= 600) || !(payloadBytes >= 1 && payloadBytes <= 60_000)) {
    throw new WeirError('WEIR_BAD_ARGUMENT', 'dgram blast: --seconds is 0.1 to 600, --payload 1 to 60000')
  }
  const datagramBytes = payloadBytes + HEADER_BYTES
  const receiver = fork(fileURLToPath(import.meta.url), ['receiver'])
  try {
    const [port] = (await once(receiver, 'message')) as [number]
    const socket = await sender(port)
    const cpuBefore = process.cpuUsage()
    const stealBefore = stealTicks()
    const sentDatagrams = await sendFor(socket, seconds, datagramBytes)
    const cpu = process.cpuUsage(cpuBefore)
    const stealShare = stealSince(stealBefore)
    socket.close()
    const report = await reportOf(receiver)
    return {
      payloadBytes,
      datagramBytes,
      seconds: report.elapsedNs / 1e9,
      sentDatagrams,
      receivedDatagrams: report.datagrams,
      goodputBps: report.elapsedNs > 0 ? (report.datagrams * payloadBytes * 8e9) / report.elapsedNs : 0,
      senderCpuSeconds: (cpu.user + cpu.system) / 1e6,
      receiverCpuSeconds: report.cpuSeconds,
      stealShare,
    }
  } finally {
    receiver.kill()
  }
}

async function sender(port: number): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.setSendBufferSize(SOCKET_BUFFER_BYTES)
  return socket
}

async function sendFor(socket: Socket, seconds: number, bytes: number): Promise<number> {
  const datagram = Buffer.alloc(bytes, 0x5a)
  const end = performance.now() + seconds * 1000
  let sent = 0
  while (performance.now() < end) {
    for (let i = 0; i < BATCH; i++) socket.send(datagram)
    sent += BATCH
    await new Promise(setImmediate)
  }
  return sent
}

async function reportOf(receiver: ChildProcess): Promise<ReceiverReport> {
  const answer = once(receiver, 'message')
  receiver.send('report')
  const [report] = (await answer) as [ReceiverReport]
  return report
}

/** The child's side: counts until it gets a request. */
function receive(): void {
  const socket = createSocket('udp4')
  let datagrams = 0
  let firstMs = 0
  let lastMs = 0
  socket.on('message', () => {
    if (datagrams++ === 0) firstMs = performance.now()
    // One clock reading per 32 datagrams, so that the measurement costs little.
    if ((datagrams & 31) === 0) lastMs = performance.now()
  })
  socket.bind(0, '127.0.0.1', () => {
    socket.setRecvBufferSize(SOCKET_BUFFER_BYTES)
    process.send!(socket.address().port)
  })
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    const counted = datagrams & ~31
    const report: ReceiverReport = {
      datagrams: counted,
      elapsedNs: Math.round((lastMs - firstMs) * 1e6),
      cpuSeconds: (user + system) / 1e6,
    }
    process.send!(report)
  })
  process.on('disconnect', () => process.exit())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'receiver') receive()
  else await run(process.argv.slice(2))
}
