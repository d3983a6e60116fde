/** Codecs and checksums. */
import { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import * as crc32 from '../../lib/wire/bytes/crc32.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { Joined } from './joined-nics.js'
import type { Operation } from './time-operations.js'

/** Takes results, so that nothing is optimised away. */
export const sink = { value: 0 }

export function wireOperations(): Operation[] {
  const { view } = new Frame(0, Buffer.alloc(4608))
  const data = dataFrame(4096)
  const shimAt = 100
  intShim.write(view, shimAt, intShim.FORMAT_WIDE, 5, 0)
  const hops = new HopRecords()
  return [
    {
      name: 'BTH: write',
      run: count => {
        for (let i = 0; i < count; i++) {
          bth.write(
            view,
            0,
            new bth.Bth({ opcode: Opcode.RC_RDMA_WRITE_MIDDLE, migrated: false, destQpn: 7, psn: i }),
          )
        }
      },
    },
    {
      name: 'BTH: opcode, QPN, PSN',
      run: count => {
        for (let i = 0; i < count; i++) {
          sink.value ^= bth.opcode(view, 0) ^ bth.destQpn(view, 0) ^ bth.psn(view, 0)
        }
      },
    },
    {
      name: 'parse a data packet: Ethernet to BTH',
      run: count => {
        for (let i = 0; i < count; i++) {
          data.l3 = -1
          sink.value ^= parseFrame(data)
        }
      },
    },
    {
      name: 'IPv4: header checksum',
      run: count => {
        for (let i = 0; i < count; i++) sink.value ^= ipv4.computeChecksum(data.view, data.l3)
      },
    },
    {
      name: 'INT shim, 5 slots: write empty',
      run: count => {
        for (let i = 0; i < count; i++) {
          sink.value ^= intShim.write(view, shimAt, intShim.FORMAT_WIDE, 5, 0)
        }
      },
    },
    {
      name: 'INT shim: read',
      run: count => {
        for (let i = 0; i < count; i++) sink.value ^= intShim.read(view, shimAt, 4608, hops)
      },
    },
    ...checksums(),
  ]
}

function checksums(): Operation[] {
  const bytes = Buffer.alloc(4608, 0x5a)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const crc = (length: number) => (count: number) => {
    for (let i = 0; i < count; i++) sink.value ^= crc32.update(crc32.START, bytes, view, 0, length)
  }
  return [
    { name: 'CRC-32 of 64 bytes', run: crc(64) },
    { name: 'CRC-32 of 256 bytes', run: crc(256) },
    { name: 'CRC-32 of 4096 bytes', run: crc(4096) },
    ...[256, 1024, 4096].flatMap(bytes => icrcs(dataFrame(bytes))),
  ]
}

function icrcs(data: Frame): Operation[] {
  const what = `ICRC of a packet with ${data.payloadLength} bytes`
  return [
    {
      name: `${what}: write`,
      run: count => {
        for (let i = 0; i < count; i++) icrc.write(data)
      },
    },
    {
      name: `${what}: verify`,
      run: count => {
        for (let i = 0; i < count; i++) sink.value ^= Number(icrc.verify(data))
      },
    },
  ]
}

/** The first data packet of a stream of WRITEs between two NICs, in the slot of a pool. @param bytes of a WRITE, one packet at most */
function dataFrame(bytes: number): Frame {
  const copy = new FramePool(1).take()!
  const joined = new Joined({ op: 'WRITE', size: bytes })
  joined.onFrame = frame => {
    if (frame.payloadLength === bytes && copy.length === 0) copy.copyFrom(frame)
  }
  joined.packets(100)
  parseFrame(copy)
  return copy
}
