/** What a switch learns of senders from the traffic of Linux hosts: the captures of rdma_rxe, packet by packet. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import type { FeatureSwitch } from '../../switch-emu/core/feature/feature.js'
import { ForwardingTable } from '../../switch-emu/core/forwarding/forwarding.js'
import { FlowCount, RoceFlows } from '../../switch-emu/core/ipcc/roce-flows.js'
import { roceCaptures } from '../support/fixtures.js'

const A = 0x0a630001
const B = 0x0a630002

/** Packets of a pcap, read by hand. */
function packetsOf(file: string): Buffer[] {
  const bytes = readFileSync(file)
  const packets: Buffer[] = []
  for (let at = 24; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at + 8)
    packets.push(bytes.subarray(at + 16, at + 16 + length))
    at += 16 + length
  }
  return packets.filter(p => p.readUInt16BE(12) === 0x0800 && p[23] === 17 && p.readUInt16BE(36) === 4791)
}

const u24 = (bytes: Buffer, at: number) => bytes.readUIntBE(at, 3)
/** BTH behind Ethernet, IPv4 and UDP. The management datagram is behind BTH and DETH. */
const BTH = 42
const MAD = 62
const opcodeOf = (p: Buffer) => p[BTH]!
const flowOf = (p: Buffer) => `${p.readUInt32BE(26)} ${u24(p, BTH + 5)}`

/**
 * QPN of the sender by flow, read by hand: of connections by the manager the QPNs of REQ and REP (IBA 12.6.5, 12.6.8); without it there is one
 * connection, so that each host's packets name the other's QPN.
 */
function expectedSenders(packets: readonly Buffer[]): Map<string, number> {
  const mads = packets.filter(p => opcodeOf(p) === 0x64 && u24(p, BTH + 5) === 1)
  const attribute = (p: Buffer) => p.readUInt16BE(MAD + 16)
  const senders = new Map<string, number>()
  for (const rep of mads.filter(p => attribute(p) === 0x13)) {
    const asked = mads.find(
      p => attribute(p) === 0x10 && p.readUInt32BE(MAD + 24) === rep.readUInt32BE(MAD + 28),
    )!
    const [active, passive] = [u24(asked, MAD + 56), u24(rep, MAD + 36)]
    senders.set(`${asked.readUInt32BE(26)} ${passive}`, active)
    senders.set(`${rep.readUInt32BE(26)} ${active}`, passive)
  }
  if (senders.size > 0) return senders
  const own = new Map<number, number>()
  for (const p of packets) own.set(p.readUInt32BE(30), u24(p, BTH + 5))
  for (const p of packets) senders.set(flowOf(p), own.get(p.readUInt32BE(26)) ?? 0)
  return senders
}

const pool = new FramePool(1)

for (const file of roceCaptures()) {
  const name = basename(file, '.pcap')
  const packets = packetsOf(file)
  const isReliable = packets.some(p => opcodeOf(p) <= 0x17)
  if (!isReliable) continue
  t.test(`the senders of ${name}`, async t => {
    const routes = new ForwardingTable()
    routes.set(HostAddress.fromIpv4(A), [0])
    routes.set(HostAddress.fromIpv4(B), [1])
    const sw = {
      ports: [0, 1],
      random: () => 0.5,
      isOnWayBack: (frame: Frame, port: number) => routes.isOnWayBack(frame, port),
    } as Partial<Record<keyof FeatureSwitch, unknown>> as FeatureSwitch
    const flows = new RoceFlows(64, 1e12, sw, { begin: () => {} })
    const expected = expectedSenders(packets)
    const known = new Set<string>()
    let wrong = 0
    for (const [i, packet] of packets.entries()) {
      const frame = pool.take()!
      frame.bytes.set(packet)
      frame.length = packet.length
      frame.wireLength = packet.length
      if (parseFrame(frame) === WireError.OK) {
        const ingress = packet.readUInt32BE(26) === A ? 0 : 1
        const row = flows.pass(i, frame, ingress, 1 - ingress)
        if (row >= 0 && flows.senderQpn[row] !== 0) {
          known.add(flowOf(packet))
          if (flows.senderQpn[row] !== expected.get(flowOf(packet))) wrong++
        }
      }
      pool.give(frame)
    }
    t.equal(wrong, 0)
    const byCm = flows.count(0, FlowCount.BY_CM) + flows.count(1, FlowCount.BY_CM)
    const byAnswers = flows.count(0, FlowCount.BY_ANSWERS) + flows.count(1, FlowCount.BY_ANSWERS)
    t.comment(`${known.size} flows, ${byCm} by the manager, ${byAnswers} by answers`)
    const hasManager = packets.some(p => opcodeOf(p) === 0x64 && p.readUInt16BE(MAD + 16) === 0x13)
    if (hasManager) t.ok(byCm >= 2)
    // One answer shows nothing yet.
    const answers = packets.filter(p => opcodeOf(p) >= 0x0d && opcodeOf(p) <= 0x12).length
    if (hasManager || answers >= 2) t.ok(known.size >= 1)
    else t.equal(byAnswers, 0)
    t.equal(flows.count(0, FlowCount.FORGED) + flows.count(1, FlowCount.FORGED), 0)
  })
}
