/**
 * Linux's own RoCEv2: every packet parses, its ICRC verifies, and its fields, written again, give its bytes.
 */
import { basename } from 'node:path'
import t from 'tap'
import { CapturedPacket, CaptureReader, loadFrame } from '../../lib/capture/capture-reader.js'
import { Frame } from '../../lib/frame/frame.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as atomicAckEth from '../../lib/wire/ib/atomic-ack-eth.js'
import * as atomicEth from '../../lib/wire/ib/atomic-eth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ieth from '../../lib/wire/ib/ieth.js'
import * as immdt from '../../lib/wire/ib/immdt.js'
import * as opcode from '../../lib/wire/ib/opcode.js'
import * as reth from '../../lib/wire/ib/reth.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { roceCaptures } from '../support/fixtures.js'

/** Reads every field of `from` and writes it into the zeroed `to`. */
function rewrite(from: Frame, to: Frame): void {
  const v = from.view
  const w = to.view
  const { l3, l4 } = from
  ethernet.write(w, 0, ethernet.destination(v, 0), ethernet.source(v, 0), ethernet.etherType(v, 0))
  ipv4.write(w, l3, {
    tos: ipv4.tos(v, l3),
    totalLength: ipv4.totalLength(v, l3),
    identification: ipv4.identification(v, l3),
    dontFragment: ipv4.dontFragment(v, l3),
    ttl: ipv4.ttl(v, l3),
    protocol: ipv4.protocol(v, l3),
    source: ipv4.source(v, l3),
    destination: ipv4.destination(v, l3),
  })
  udp.write(w, l4, udp.sourcePort(v, l4), udp.destinationPort(v, l4), udp.length(v, l4), udp.checksum(v, l4))
  const at = from.bth
  bth.write(
    w,
    at,
    new bth.Bth({
      opcode: bth.opcode(v, at),
      solicited: bth.solicited(v, at),
      migrated: bth.migrationRequest(v, at),
      padCount: bth.padCount(v, at),
      partitionKey: bth.partitionKey(v, at),
      destQpn: bth.destQpn(v, at),
      ackRequest: bth.ackRequest(v, at),
      psn: bth.psn(v, at),
    }),
  )
  bth.setFecn(w, at, bth.fecn(v, at))
  bth.setBecn(w, at, bth.becn(v, at))
  rewriteExtended(v, w, at)
  from.bytes.copy(to.bytes, from.payload, from.payload, from.payload + from.payloadLength)
}

function rewriteExtended(v: DataView, w: DataView, bthAt: number): void {
  const code = bth.opcode(v, bthAt)
  let at = bthAt + bth.BYTES
  if (opcode.hasDeth(code)) {
    deth.write(w, at, deth.qkey(v, at), deth.sourceQpn(v, at))
    at += deth.BYTES
  }
  if (opcode.hasReth(code)) {
    reth.write(w, at, reth.address(v, at), reth.rkey(v, at), reth.length(v, at))
    at += reth.BYTES
  }
  if (opcode.hasAtomicEth(code)) {
    const swap: [number, number] = [atomicEth.swapOrAddHigh(v, at), atomicEth.swapOrAddLow(v, at)]
    const compare: [number, number] = [atomicEth.compareHigh(v, at), atomicEth.compareLow(v, at)]
    const [swapOrAddHigh, swapOrAddLow] = swap
    const [compareHigh, compareLow] = compare
    const [address, rkey] = [atomicEth.address(v, at), atomicEth.rkey(v, at)]
    atomicEth.write(w, at, { address, rkey, swapOrAddHigh, swapOrAddLow, compareHigh, compareLow })
    at += atomicEth.BYTES
  }
  if (opcode.hasAeth(code)) {
    aeth.write(w, at, aeth.syndrome(v, at), aeth.msn(v, at))
    at += aeth.BYTES
  }
  if (opcode.hasAtomicAckEth(code)) {
    atomicAckEth.write(w, at, atomicAckEth.originalHigh(v, at), atomicAckEth.originalLow(v, at))
    at += atomicAckEth.BYTES
  }
  if (opcode.hasImmediate(code)) {
    immdt.write(w, at, immdt.immediate(v, at))
    at += immdt.BYTES
  }
  if (opcode.hasIeth(code)) ieth.write(w, at, ieth.rkey(v, at))
}

const seen = new Set<number>()
let total = 0
const captures = roceCaptures()

t.equal(captures.length, 19, 'all captures are there')

for (const path of captures) {
  t.test(basename(path), async t => {
    const packet = new CapturedPacket()
    const frame = new Frame(0, Buffer.alloc(9000))
    const copy = new Frame(1, Buffer.alloc(9000))
    const reader = CaptureReader.open(path)
    let roce = 0
    while (reader.next(packet)) {
      if (!loadFrame(packet, frame)) t.fail('link type')
      const error = parseFrame(frame)
      if (error !== WireError.OK) t.fail(`parse error ${error}`)
      if (frame.bth < 0) continue
      roce++
      seen.add(bth.opcode(frame.view, frame.bth))
      if (!ipv4.verifyChecksum(frame.view, frame.l3)) t.fail('IPv4 checksum')
      if (!icrc.verify(frame)) t.fail(`ICRC of PSN ${bth.psn(frame.view, frame.bth)}`)
      if (!icrc.verifyIgnoringId(frame)) t.fail('ICRC without the identification')
      copy.bytes.fill(0)
      rewrite(frame, copy)
      copy.length = frame.length
      copy.wireLength = frame.wireLength
      if (parseFrame(copy) !== WireError.OK) t.fail('the copy does not parse')
      icrc.write(copy)
      const same = copy.bytes.subarray(0, copy.length).equals(frame.bytes.subarray(0, frame.length))
      if (!same) t.fail(`PSN ${bth.psn(frame.view, frame.bth)} is not written as it was read`)
    }
    reader.close()
    total += roce
    t.ok(roce > 0, `${roce} RoCEv2 packets`)
  })
}

t.test('what the captures hold', async t => {
  t.equal(total, 2686)
  const expected = [...Array(21).keys(), 23, 0x20, 0x21, 0x22, 0x64]
  t.same(
    [...seen].sort((a, b) => a - b),
    expected,
    'RC 0 to 20 and 23, UC 0x20 to 0x22, UD 0x64',
  )
})
