/** The blocks of draft-ietf-opsawg-pcapng, written. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { CapturedPacket, CaptureReader } from '../../lib/capture/capture-reader.js'
import { PacketDirection, PcapngWriter } from '../../lib/capture/pcapng-writer.js'
import { Frame } from '../../lib/frame/frame.js'

const folder = mkdtempSync(join(tmpdir(), 'weir-pcapng-'))
t.teardown(() => rmSync(folder, { recursive: true }))

function frameOf(hex: string, wireLength: number): Frame {
  const frame = new Frame(0, Buffer.alloc(8192))
  frame.length = frame.bytes.write(hex, 'hex')
  frame.wireLength = wireLength
  return frame
}

t.test('bytes of the file', async t => {
  const path = join(folder, 'bytes.pcapng')
  const writer = new PcapngWriter(path, { interfaceName: 's1:s2', rateBps: 1e9, snapBytes: 128, epochNs: 5n })
  writer.write(0x1_2345_6789, frameOf('aabbccddee', 60), PacketDirection.SENT)
  writer.close()
  writer.close()
  const blocks = [
    // Section header: type, length, byte order, version 1.0, length unknown, userappl "weir", end, length.
    '0a0d0d0a 28000000 4d3c2b1a 0100 0000 ffffffffffffffff 0400 0400 77656972 00000000 28000000',
    // Interface: Ethernet, snap length; name, speed, time in 10^-9 s, end.
    '01000000 38000000 0100 0000 80000000',
    '0200 0500 73313a7332000000 0800 0800 00ca9a3b00000000 0900 0100 09000000 00000000 38000000',
    // Enhanced packet: interface 0, time high and low, captured, on the wire; bytes and pad; flags: outbound; end.
    '06000000 34000000 00000000 01000000 8e674523 05000000 3c000000',
    'aabbccddee000000 0200 0400 02000000 00000000 34000000',
  ]
  t.equal(readFileSync(path).toString('hex'), blocks.join('').replaceAll(' ', ''))
  t.throws(() => writer.write(0, frameOf('', 0), PacketDirection.SENT), { code: 'WEIR_BAD_STATE' })
})

t.test('times from an epoch of today on: the low half carries', async t => {
  const path = join(folder, 'epoch.pcapng')
  const epochNs = 1_795_282_664_957_964_617n
  const writer = new PcapngWriter(path, { interfaceName: 'p', rateBps: 1e9, epochNs })
  const times = [0, 1, 999_999_999, 4_294_967_295, 4_294_967_296, 86_400_000_000_001, 2 ** 52 + 1]
  for (const now of times) writer.write(now, frameOf('00', 1), PacketDirection.RECEIVED)
  writer.close()
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  const read: bigint[] = []
  while (reader.next(packet)) read.push(BigInt(packet.seconds) * 1_000_000_000n + BigInt(packet.nanos))
  reader.close()
  t.same(
    read,
    times.map(now => epochNs + BigInt(now)),
  )
})

t.test('a process that is killed leaves a valid file', async t => {
  const path = join(folder, 'killed.pcapng')
  const writer = new PcapngWriter(path, { interfaceName: 'p', rateBps: 1e9, snapBytes: 100 })
  const frame = frameOf('5a'.repeat(4000), 4000)
  t.equal(count(path), 0, 'it can be read from the beginning')
  for (let i = 0; i < 5000; i++) {
    frame.view.setUint32(0, i)
    writer.write(i * 1_000_000_007, frame, PacketDirection.RECEIVED)
    // Nothing is flushed: the file on the disk is what a kill would leave.
    if (i % 997 === 0) t.ok(i + 1 - count(path) <= 600, 'what is missing is in one buffer')
  }
  writer.close()
  t.equal(count(path), 5000)
})

/** Packets of the file, which are numbered in their first four bytes. */
function count(path: string): number {
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  let packets = 0
  while (reader.next(packet)) {
    if (packet.buffer.readUInt32BE(packet.at) !== packets) throw new Error(`packet ${packets} is another`)
    if (packet.capturedBytes !== 100 || packet.wireBytes !== 4000) throw new Error('lengths')
    packets++
  }
  reader.close()
  return packets
}

t.test('misuse', async t => {
  const options = { interfaceName: 'p', rateBps: 1e9 }
  const nowhere = join(folder, 'none', 'x.pcapng')
  t.throws(() => new PcapngWriter(nowhere, options), {
    code: 'WEIR_NO_FILE',
    message: /there is no such folder/,
  })
  const path = join(folder, 'x.pcapng')
  t.throws(() => new PcapngWriter(path, { ...options, snapBytes: 10 }), { code: 'WEIR_BAD_ARGUMENT' })
})
