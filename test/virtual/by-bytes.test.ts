/**
 * In virtual time nodes pass on what they know of a frame: offsets of headers, the flow's hash. Here each node of a second
 * run gets nothing but the frame's bytes and lengths, as from a cable, and parses them. Results are the same to the byte.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { Node } from '../../lib/frame/node.js'
import { Nic } from '../../lib/nic/nic.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { FORMAT_NAMES } from '../../lib/wire/telemetry/telemetry.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

/** Two leaves and two spines with two links between each two, so that the flow's hash decides at two switches of a path. */
function network(switches: string, keys: string): string {
  return `
link: { rate: 10Gbps, delay: 1us }
hosts: [h0..h3]
switches: { s0..s3: ${switches} }
links: [h0--s0, h1--s0, h2--s1, h3--s1, { ends: s0..s1--s2..s3, count: 2 }]
transport: { pathMtu: 1024 }
baseRtt: 15us
traffic:
  - { workload: fbhadoop, load: 60%, duration: 200us }
  - { name: incast, incast: [h0..h2], to: h3, size: 200KB }
watch: { queues: [s1:h3], every: 10us }
duration: 3ms
${keys}
`
}

/** By name: what the switches do, and other keys. */
const CASES: Record<string, readonly [switches: string, keys: string]> = {
  ...Object.fromEntries(
    FORMAT_NAMES.map(format => [`telemetry ${format}`, ['{}', `int: { format: ${format} }`]]),
  ),
  ECN: ['{ ecn: { kmin: 20KB, kmax: 80KB } }', 'cc: { name: cubic }'],
  'PFC and its watchdog': ['{ pfc: { xoff: 20KB } }', 'cc: { name: fixed-window, window: 200KB }'],
  'direct responses': ['{ telemetry: { direct: { threshold: 20KB } } }', 'cc: { name: hpcc }'],
}

/** What a node gets: bytes. */
function forget(frame: Frame): void {
  const { length, wireLength } = frame
  frame.reset()
  frame.length = length
  frame.wireLength = wireLength
}

/** Runs with nodes of that class that see only bytes; returns how many frames they have seen. */
function seeingBytes<T>(kinds: readonly { prototype: Node }[], run: () => T): { result: T; frames: number } {
  const own = kinds.map(({ prototype: { onFrame, pass } }) => ({ onFrame, pass }))
  let frames = 0
  const see = (frame: Frame) => {
    frames++
    forget(frame)
  }
  for (const [i, { prototype }] of kinds.entries()) {
    const { onFrame, pass } = own[i]!
    prototype.onFrame = function (now, port, frame) {
      see(frame)
      onFrame.call(this, now, port, frame)
    }
    if (pass === undefined) continue
    prototype.pass = function (now, port, frame) {
      see(frame)
      return pass.call(this, now, port, frame)
    }
  }
  try {
    return { result: run(), frames }
  } finally {
    for (const [i, { prototype }] of kinds.entries()) Object.assign(prototype, own[i])
  }
}

for (const [name, [switches, keys]] of Object.entries(CASES)) {
  t.test(`${name}: the same by bytes`, async t => {
    const run = () => {
      const { wallSeconds: _, ...result } = new VirtualRun(
        parseScenario(network(switches, keys), 'by-bytes.yaml'),
      ).run()
      return JSON.stringify(result)
    }
    const known = run()
    const { result, frames } = seeingBytes([Switch, Nic], run)
    t.ok(frames > 5000, `${frames} frames were parsed`)
    t.ok(known.includes('"events"'))
    t.equal(result, known)
  })
}
