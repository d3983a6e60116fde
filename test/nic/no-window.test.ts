/** Controllers with only a rate, or only a window: what bounds the packets, and what the figures show. */
import t from 'tap'
import { type CongestionControl, NO_RATE, NO_WINDOW } from '../../lib/cc/congestion-control.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { connected, DELAY_NS, makePair, RATE_BPS } from './pair.js'

const BYTES = 1 << 20
const MTU = 1024
/** Round trip of the pair's links, ns: two each way. */
const RTT_NS = 4 * DELAY_NS
/** Ethernet, IPv4, UDP, BTH and ICRC around a payload. */
const WIRE_BYTES = MTU + 14 + 20 + 8 + 12 + 4

/** The methods that every controller must have. */
function controller(windowBytes: number, rateBps: number): CongestionControl {
  return {
    name: 'plain',
    observed: [],
    windowBytes: () => windowBytes,
    rateBps: () => rateBps,
    onAck() {},
    onLoss() {},
    observe() {},
  }
}

/** Writes a MiB. Returns how long it took, the most bytes in flight, and the connection's figures. */
function write(control: CongestionControl) {
  const cc = { name: 'fixed-window', options: {} }
  const config = { cc, pathMtu: MTU, baseRttNs: RTT_NS, icrc: 'off' as const, ackEveryPackets: 1 }
  const pair = makePair({ a: config, b: config, slotBytes: 512 })
  const { left } = connected(pair)
  const flow = pair.a.table.flows.find(flow => flow !== null)!
  flow.sender.begin(control, { share: 1 / 2, everyPackets: 0 }, RTT_NS)
  const region = pair.a.memory.register(null, BYTES, Access.LOCAL_WRITE)
  const target = pair.b.memory.register(null, BYTES, Access.REMOTE_WRITE)
  let mostInFlight = 0
  pair.tap.watch = () => {
    mostInFlight = Math.max(mostInFlight, flow.qp.inFlightBytes)
    return true
  }
  let doneNs = 0
  left.onDone = now => {
    doneNs = now
  }
  const startNs = pair.network.now
  const local = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region, offset: 0, length: BYTES }
  left.connection!.postSend(startNs, { ...local, remoteAddress: target.address, rkey: target.key })
  pair.until(() => doneNs > 0)
  return { ns: doneNs - startNs, mostInFlight, stats: flow.stats }
}

t.test('without a window the rate alone paces the flow', async t => {
  const rateBps = 1e9
  const { ns, stats } = write(controller(NO_WINDOW, rateBps))
  const expectedNs = (BYTES / MTU) * ((WIRE_BYTES * 8e9) / rateBps)
  t.ok(Math.abs(ns / expectedNs - 1) < 0.01, `${ns} ns, by the rate ${expectedNs}`)
  t.match(stats, { windowBytes: 0, rateBps })
})

t.test('without a rate packets leave at line rate, as far as the window goes', async t => {
  const windowBytes = 4 * MTU
  const held = write(controller(windowBytes, NO_RATE))
  t.equal(held.mostInFlight, windowBytes)
  t.match(held.stats, { windowBytes, rateBps: RATE_BPS })
  const packetNs = (WIRE_BYTES * 8e9) / RATE_BPS
  t.ok(held.ns > (BYTES / windowBytes) * RTT_NS, 'a window a round trip')
  const free = write(controller(NO_WINDOW, NO_RATE))
  const expectedNs = (BYTES / MTU) * packetNs
  t.ok(free.ns < 1.02 * expectedNs + 2 * RTT_NS, `${free.ns} ns, by the link ${expectedNs}`)
})
