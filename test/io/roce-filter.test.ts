/**
 * The packet socket's filter, executed by a small classic BPF machine, on RoCEv2 in every encapsulation and
 * on other packets.
 */

import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { IFA_PROTOCOL } from '../../lib/frame/ifa-protocol.js'
import { roceFilter } from '../../lib/io/linux/roce-filter.js'
import type { FilterInstruction } from '../../lib/io/linux/socket-filter.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame } from '../../lib/wire/parse.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import { buildRoce, PLAIN } from '../wire/helpers.js'

/** True if the program returns other than 0 (linux/filter.h; loads beyond the end return 0). */
function accepts(program: readonly FilterInstruction[], { view, length }: Frame): boolean {
  let a = 0
  let x = 0
  for (let i = 0; ; i++) {
    const { code, k, jt, jf } = program[i]!
    const at = code === 0x48 ? x + k : k
    const width = { 32: 4, 40: 2, 48: 1, 72: 2, 177: 1 }[code]
    if (width !== undefined && at + width > length) return false
    if (code === 0x20) a = view.getUint32(at)
    else if (code === 0x28 || code === 0x48) a = view.getUint16(at)
    else if (code === 0x30) a = view.getUint8(at)
    else if (code === 0xb1) x = 4 * (view.getUint8(at) & 0x0f)
    else if (code === 0x15) i += a === k ? jt : jf
    else if (code === 0x45) i += (a & k) !== 0 ? jt : jf
    else if (code === 0x06) return k !== 0
    else throw new Error(`instruction 0x${code.toString(16)}`)
  }
}

/** The headers of a packet as its sender makes them. */
function packet(family: 4 | 6, format: number): Frame {
  const plain = buildRoce({ ...PLAIN, family, payloadBytes: 64 })
  if (format < 0) return plain
  parseFrame(plain)
  const frame = new Frame(0, Buffer.alloc(1024))
  frame.bytes.set(plain.bytes.subarray(0, plain.bth))
  Object.assign(frame, { l3: plain.l3, l4: plain.l4, payload: plain.bth })
  frame.bth = telemetry.begin(frame, format, 2, 0)
  udp.setDestinationPort(frame.view, frame.l4, telemetry.destinationPort(frame))
  frame.length = frame.bth + 12
  return frame
}

// The addresses of buildRoce.
const TO = {
  4: HostAddress.parse('10.99.0.2'),
  6: HostAddress.fromGid(
    Uint8Array.from({ length: 16 }, (_, i) => 0xf0 - i),
    0,
  ),
}

for (const family of [4, 6] as const) {
  t.test(`IPv${family}`, async t => {
    const program = roceFilter(TO[family], IFA_PROTOCOL, false)
    const other = roceFilter(HostAddress.parse(family === 4 ? '10.99.0.3' : 'fd00::3'), IFA_PROTOCOL, false)
    for (const format of [-1, ...telemetry.FORMAT_NAMES.map(telemetry.formatOf)]) {
      const frame = packet(family, format)
      t.ok(accepts(program, frame), `format ${format}`)
      t.notOk(accepts(other, frame), 'to another host')
    }
    const announcement = packet(family, -1)
    announcement.view.setUint16(12, 0x88cc)
    t.notOk(accepts(program, announcement), 'LLDP')
    t.ok(accepts(roceFilter(TO[family], IFA_PROTOCOL, true), announcement), 'LLDP, where somebody wants it')
    const toDns = packet(family, -1)
    udp.setDestinationPort(toDns.view, family === 4 ? 34 : 54, 53)
    t.notOk(accepts(program, toDns), 'another port')
    const tcp = packet(family, -1)
    tcp.view.setUint8(family === 4 ? 23 : 20, 6)
    t.notOk(accepts(program, tcp), 'another protocol')
    if (family === 4) {
      const fragment = packet(4, telemetry.IFA)
      fragment.view.setUint16(20, 0x2000)
      t.notOk(accepts(program, fragment), 'a fragment')
    } else {
      const listener = packet(6, telemetry.IOAM)
      listener.view.setUint8(54, 58)
      t.notOk(accepts(program, listener), 'ICMPv6 behind hop-by-hop options')
    }
  })
}
