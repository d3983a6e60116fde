/**
 * Mutated datagrams at a live daemon during a transfer, from a third address of loopback and by forged content alone: the transfer completes, and
 * the daemon's memory stays.
 */
import { createSocket } from 'node:dgram'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import { Random } from '../../lib/sim/random.js'
import { DaemonProcess } from '../support/daemon-process.js'
import { long, usual } from '../support/long.js'
import { loopbackAddress } from '../support/loopback.js'
import { drawnSeed } from '../support/seeds.js'

const GROWTH_BYTES_MAX = 50e6
/** Datagrams between two looks at the event loop. */
const AT_ONCE = 64
/** Opcodes of reliable connections, datagrams and Weir's own (0xc0 to 0xff). */
const OPCODES = [0x00, 0x04, 0x06, 0x0a, 0x0c, 0x11, 0x13, 0x64, 0x81, 0xc0, 0xc1, 0xc2, 0xc3]

/** A datagram with a plausible BTH (IBA 9.2): opcode, flags, P_Key, QPN, PSN; then bytes of any kind. */
function mutated(random: Random): Buffer {
  const bytes = Buffer.alloc(12 + random.below(500))
  for (let i = 0; i < bytes.length; i += 4) bytes.writeUInt32BE(random.u32(), Math.min(i, bytes.length - 4))
  if (random.below(8) > 0) {
    bytes[0] = OPCODES[random.below(OPCODES.length)]!
    bytes[1] = random.below(2) * 0x40
    bytes.writeUInt16BE(0xffff, 2)
    // The connection manager is QP 1.
    if (random.below(2) === 0) bytes.writeUInt32BE(1, 4)
  }
  return random.below(16) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes
}

async function survives(t: Test, datagrams: number, fileBytes: number): Promise<void> {
  const [from, to] = await Promise.all([
    DaemonProcess.start(t, ['--line-rate', '200Mbps']),
    DaemonProcess.start(t),
  ])
  const random = new Random(drawnSeed(t))
  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'f')
  const content = Buffer.alloc(fileBytes, 'what is sent ')
  await writeFile(file, content)
  const [sender, receiver] = await Promise.all([connectDaemon(from.socket), connectDaemon(to.socket)])
  t.teardown(() => [sender, receiver].map(client => client.close()))
  // Once before, so that what a transfer needs is there.
  await sender.send(file, to.address, { name: 'warm', retries: 10 })
  const before = (await receiver.status()).residentBytes
  const socket = createSocket('udp4')
  t.teardown(() => socket.close())
  await new Promise<void>(resolve => socket.bind(0, loopbackAddress(), resolve))
  let sent = false
  const done = sender.send(file, to.address, { name: 'during', retries: 10 }).then(() => {
    sent = true
  })
  let during = 0
  for (let i = 0; i < datagrams; i++) {
    socket.send(mutated(random), random.below(4) === 0 ? 4792 : 4791, to.address)
    if (!sent) during++
    if (i % AT_ONCE === AT_ONCE - 1) await sleep(0)
  }
  await done
  const { residentBytes, drops } = await receiver.status()
  t.comment(
    `${datagrams} datagrams, ${during} of them during the transfer: ${before} -> ${residentBytes} bytes resident`,
  )
  t.comment(JSON.stringify(Object.fromEntries(Object.entries(drops).filter(([, count]) => count > 0))))
  t.ok(residentBytes - before < GROWTH_BYTES_MAX, 'memory is bounded')
  t.ok(content.equals(await readFile(join(to.inbox, 'during'))), 'the file is whole')
  t.ok(Object.values(drops).reduce((sum, count) => sum + count, 0) > datagrams / 10, 'they are counted')
}

usual('twenty thousand mutated datagrams', t => survives(t, 20_000, 8e6))
long('a million mutated datagrams', t => survives(t, 1_000_000, 200e6))
