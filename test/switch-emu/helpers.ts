import type { Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { Random } from '../../lib/sim/random.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import type { GraphOptions } from '../../switch-emu/core/forwarding/graph.js'
import { Switch, type SwitchOptions } from '../../switch-emu/core/switch.js'
import { fixedSeed } from '../support/seeds.js'

/** Address of the n-th host. */
export const HOST = (n: number): number => 0x0a000000 + n

/** A generator whose seed is printed, and which replays from the environment variable SEED. */
export function seeded(t: Test, fallback: number): Random {
  const seed = fixedSeed(t, fallback)
  return new Random(seed)
}

/** A switch whose port p leads to host p, and its pool. */
export function starSwitch(options: Partial<SwitchOptions> & Pick<SwitchOptions, 'ports'>, frames = 4096) {
  const pool = new FramePool(frames, HEADER_SLOT_BYTES)
  const node = new Switch({ id: 7, name: 's1', bufferBytes: 1 << 24, random: () => 0.5, pool, ...options })
  for (let p = 0; p < options.ports.length; p++) node.routes.set(HostAddress.fromIpv4(HOST(p)), [p])
  return { node, pool }
}

/** Everything that `node` starts up to and including `until`, in order. */
export function drain(node: Switch, until: number, each: (frame: Frame, now: number) => void): void {
  for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
    for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) each(frame, now)
  }
}

/** A fat-tree of k-port switches: edge switches e, aggregation a, core c, and k^3 / 4 hosts h. */
export function fatTree(k: number): GraphOptions {
  const half = k / 2
  const switches: string[] = []
  const hosts: string[] = []
  const links: GraphOptions['links'][number][] = []
  for (let pod = 0; pod < k; pod++) {
    for (let i = 0; i < half; i++) switches.push(`e${pod}.${i}`)
    for (let i = 0; i < half; i++) switches.push(`a${pod}.${i}`)
  }
  for (let i = 0; i < half * half; i++) switches.push(`c${i}`)
  for (let pod = 0; pod < k; pod++) {
    for (let e = 0; e < half; e++) {
      for (let h = 0; h < half; h++) {
        hosts.push(`h${hosts.length}`)
        links.push({ a: { node: hosts.at(-1)!, port: 0 }, b: { node: `e${pod}.${e}`, port: h } })
      }
      for (let a = 0; a < half; a++) {
        links.push({ a: { node: `e${pod}.${e}`, port: half + a }, b: { node: `a${pod}.${a}`, port: e } })
      }
    }
    for (let a = 0; a < half; a++) {
      for (let c = 0; c < half; c++) {
        links.push({
          a: { node: `a${pod}.${a}`, port: half + c },
          b: { node: `c${a * half + c}`, port: pod },
        })
      }
    }
  }
  return { switches, hosts, links }
}
