import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { CapturedPacket, CaptureReader } from '../../lib/capture/capture-reader.js'
import { PcapWriter } from '../../lib/capture/pcap-writer.js'
import { Frame } from '../../lib/frame/frame.js'

const folder = mkdtempSync(join(tmpdir(), 'weir-pcap-'))
t.teardown(() => rmSync(folder, { recursive: true }))

function frameOf(hex: string, wireLength: number): Frame {
  const frame = new Frame(0, Buffer.alloc(8192))
  frame.length = frame.bytes.write(hex, 'hex')
  frame.wireLength = wireLength
  return frame
}

t.test('bytes of the file', async t => {
  const path = join(folder, 'bytes.pcap')
  const writer = new PcapWriter(path, { epochSeconds: 0x10 })
  writer.write(2_000_000_003, frameOf('aabbcc', 60))
  writer.close()
  writer.close()
  const header = '4d3cb2a1' + '0200' + '0400' + '0000000000000000' + '00000400' + '01000000'
  t.equal(
    readFileSync(path).toString('hex'),
    `${header}${'12000000' + '03000000' + '03000000' + '3c000000'}aabbcc`,
  )
  t.throws(() => writer.write(0, frameOf('', 0)), { code: 'WEIR_BAD_STATE' })
})

t.test('snap length and many frames through a bounded buffer', async t => {
  const path = join(folder, 'many.pcap')
  const writer = new PcapWriter(path, { snapBytes: 100 })
  const frame = frameOf('5a'.repeat(4000), 4000)
  for (let i = 0; i < 5000; i++) {
    frame.view.setUint32(0, i)
    writer.write(i * 1_000_000_007, frame)
  }
  writer.close()
  const reader = CaptureReader.open(path)
  const packet = new CapturedPacket()
  let count = 0
  while (reader.next(packet)) {
    const number = packet.buffer.readUInt32BE(packet.at)
    if (number !== count || packet.capturedBytes !== 100 || packet.wireBytes !== 4000)
      t.fail(`packet ${count}`)
    if (packet.seconds * 1_000_000_000 + packet.nanos !== count * 1_000_000_007) t.fail(`time of ${count}`)
    count++
  }
  reader.close()
  t.equal(count, 5000)
})

t.test('misuse', async t => {
  t.throws(() => new PcapWriter(join(folder, 'none', 'x.pcap')), { code: 'WEIR_NO_FILE', message: /ENOENT/ })
  t.throws(() => new PcapWriter(join(folder, 'x.pcap'), { snapBytes: 10 }), { code: 'WEIR_BAD_ARGUMENT' })
})
