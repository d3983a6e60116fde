import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import { SourcePorts } from '../../lib/nic/tx/source-ports.js'
import { Random } from '../../lib/sim/random.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { preparedPort } from '../support/prepared-port.js'

t.test('without a list any port of RoCEv2 can be drawn and kept', async t => {
  const ports = new SourcePorts(null)
  t.equal(ports.count, 0x4000)
  t.equal(ports.at(0), 0xc000)
  t.equal(ports.at(0xffff_ffff), 0xffff)
  t.equal(
    ports.choose(0xcafe, () => 1),
    0xcafe,
  )
  t.equal(
    ports.choose(undefined, () => 0x4001),
    0xc001,
  )
})

t.test('of a list each one is drawn, and another port has always the same one of them', async t => {
  const list = [0xc00f, 0xd001, 0xffff]
  const ports = new SourcePorts(list)
  const drawn = new Set<number>()
  for (let i = 0; i < 30; i++) drawn.add(ports.choose(undefined, () => i))
  t.same([...drawn].sort(), list)
  for (const port of list) t.equal(ports.nearest(port), port)
  for (let port = 0xc000; port <= 0xffff; port++) {
    const nearest = ports.nearest(port)
    if (!list.includes(nearest) || ports.nearest(port) !== nearest) return t.fail(`${port}`)
  }
})

t.test(
  'two NICs with one list agree on the port of a connection, whoever hears of it from the other',
  async t => {
    const list = [0xe2b7, 0xe2b8, 0xe2b9, 0xe2ba]
    const sent = connectTwo(list, list)
    t.ok(sent.size > 1, 'connections have several')
    for (const [port, back] of sent) t.equal(back, port)
  },
)

/** Source ports by which the active end's packets came, and those of the answers. */
function connectTwo(portsA: number[], portsB: number[]): Map<number, number> {
  const pool = new FramePool(64)
  const random = new Random(1)
  const nicOf = (address: string, sourcePorts: number[]) =>
    new Nic({
      address: HostAddress.parse(address),
      pool,
      random: () => random.u32(),
      lineRateBps: 1e9,
      sourcePorts,
    })
  const a = nicOf('10.0.0.1', portsA)
  const b = nicOf('10.0.0.2', portsB)
  const ports = new Map<number, number>()
  const handler = { onEstablished() {}, onCompletion() {}, onClosed() {} }
  b.listen(5, { accept: () => handler })
  for (let i = 0; i < 16; i++) {
    const connection = a.connect(0, b.address, 5, handler)
    let now = 0
    for (let round = 0; round < 400 && !connection.established; round++) {
      now += 1_000_000
      for (const [from, to] of [[a, b] as const, [b, a] as const]) {
        if (from.nextTimeout() <= now) from.onTimeout(now)
        for (let frame = from.pollTransmit(now); frame !== null; frame = from.pollTransmit(now)) {
          to.onFrame(now, 0, frame)
        }
      }
    }
  }
  for (const flow of a.table.flows) {
    if (flow === null) continue
    const other = b.table.flows.find(other => other?.qp.remoteQpn === flow.qpn)
    ports.set(preparedPort(flow.path.headers), other ? preparedPort(other.path.headers) : 0)
  }
  return ports
}
