import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { Graph } from '../../switch-emu/core/forwarding/graph.js'
import { installRoutes } from '../../switch-emu/core/forwarding/routes.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { buildFrame } from './build-frame.js'
import { fatTree, HOST } from './helpers.js'

t.test('a fat-tree of 20 switches delivers between all hosts, by the same nodes there and back', async t => {
  const options = fatTree(4)
  const topology = new Graph(options)
  const pool = new FramePool(64, HEADER_SLOT_BYTES)
  const switches = options.switches.map((name, i) => {
    const ports = Array.from({ length: 4 }, () => ({ rateBps: 100e9 }))
    return new Switch({ id: i + 1, name, ports, bufferBytes: 1 << 20, pool, random: () => 0 })
  })
  installRoutes(
    topology,
    options.hosts.map((name, n) => ({ name, address: HostAddress.fromIpv4(HOST(n)) })),
    new Map(switches.map(node => [node.name, node.routes])),
    { seed: 9 },
  )

  /** Nodes that a frame passes from host to host, with the TTL and path id that it arrives with. */
  const walk = (from: number, to: number, sourcePort: number, withInt: boolean) => {
    const int = { format: intShim.FORMAT_COMPACT, slots: 5 }
    const frame = buildFrame(pool, {
      from: HOST(from),
      to: HOST(to),
      sourcePort,
      ...(withInt ? { int } : {}),
    })
    const nodes: string[] = []
    let now = 0
    let edge = topology.edges(topology.index(`h${from}`))[0]!
    let here = topology.index(`h${from}`)
    while (topology.isSwitch(edge.neighbour) && nodes.length < 10) {
      const node = switches[edge.neighbour]!
      const ingress = topology.edges(edge.neighbour).find(e => e.neighbour === here)!.port
      nodes.push(node.name)
      node.onFrame(now, ingress, frame)
      const out = node.pollTransmit(node.nextTimeout())
      if (out !== frame) throw new Error(`${node.name} dropped the frame`)
      now = frame.departNs
      here = edge.neighbour
      edge = topology.edges(here).find(e => e.port === frame.port)!
    }
    const ttl = ipv4.ttl(frame.view, frame.l3)
    const hops = withInt ? intShim.hopCount(frame.view, frame.shim) : -1
    const pathId = withInt ? intShim.pathId(frame.view, frame.shim) : -1
    pool.give(frame)
    return { at: topology.names[edge.neighbour], nodes, ttl, hops, pathId }
  }

  const used = new Set<string>()
  for (let from = 0; from < 16; from++) {
    for (let to = 0; to < 16; to++) {
      if (from === to) continue
      for (let flow = 0; flow < 8; flow++) {
        const sourcePort = 0xc000 + 97 * flow
        const data = walk(from, to, sourcePort, true)
        const plain = walk(from, to, sourcePort, false)
        const ack = walk(to, from, sourcePort, true)
        const hops = from >> 1 === to >> 1 ? 1 : from >> 2 === to >> 2 ? 3 : 5
        const ok =
          data.at === `h${to}` &&
          ack.at === `h${from}` &&
          data.nodes.length === hops &&
          data.ttl === 64 - hops &&
          data.hops === hops &&
          data.nodes.join() === plain.nodes.join() &&
          data.nodes.join() === ack.nodes.reverse().join() &&
          data.pathId === ack.pathId
        if (!ok) return t.fail(`h${from} to h${to}: ${JSON.stringify({ data, plain, ack })}`)
        for (const name of data.nodes) used.add(name)
      }
    }
  }
  t.equal(used.size, 20, 'every switch has a part')
  t.equal(pool.inUse, 0)
})
