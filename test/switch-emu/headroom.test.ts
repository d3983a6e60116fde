/**
 * The computed headroom: with it nothing is lost, whatever the phase and the sizes of frames. With less,
 * frames are lost. The sender is the worst that the standard allows: it always has a frame, and finishes the
 * current one.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { headroomBytes } from '../../lib/scenario/model/headroom.js'
import { Network } from '../../lib/sim/network.js'
import { NEVER } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { Switch } from '../../switch-emu/core/switch.js'
import { buildFrame } from './build-frame.js'
import { HOST, seeded } from './helpers.js'

const RATE_BPS = 10e9
const NS_PER_BYTE = 8e9 / RATE_BPS
const MTU = 1500

/** Sends frames back to back from `startNs` on, and stops only between two frames. */
class Firehose implements Node {
  pausedUntilNs = 0
  #freeNs: number
  readonly #next: () => Frame | null
  readonly #pool: FramePool

  constructor(pool: FramePool, startNs: number, next: () => Frame | null) {
    this.#pool = pool
    this.#freeNs = startNs
    this.#next = next
  }

  onFrame(now: number, _port: number, frame: Frame): void {
    if (frame.l3 < 0) this.pausedUntilNs = now + pfc.quanta(frame.view, 0, 3) * 512 * (1e9 / RATE_BPS)
    this.#pool.give(frame)
  }

  onTimeout(): void {}

  nextTimeout(): number {
    return Math.max(this.#freeNs, this.pausedUntilNs)
  }

  pollTransmit(now: number): Frame | null {
    if (now < this.nextTimeout()) return null
    const frame = this.#next()
    if (frame === null) {
      this.#freeNs = NEVER
      return null
    }
    this.#freeNs = Math.ceil(now + frame.wireLength * NS_PER_BYTE)
    frame.port = 0
    frame.departNs = this.#freeNs
    return frame
  }
}

interface Case {
  delayNs: number
  headroom: number
  /** When the reverse traffic begins, which delays the PFC frame. */
  phaseNs: number
  wireBytes: () => number
}

/** Host 0 floods a switch whose egress is held. Host 2 floods host 0. Returns the result. */
function flood({ delayNs, headroom, phaseNs, wireBytes }: Case) {
  const pool = new FramePool(8192, HEADER_SLOT_BYTES)
  const node = new Switch({
    id: 1,
    name: 's1',
    ports: [{ rateBps: RATE_BPS }, { rateBps: RATE_BPS }, { rateBps: RATE_BPS }],
    bufferBytes: 1 << 24,
    pool,
    random: () => 0.5,
    classifier: { dscp: { 24: 3 } },
    features: {
      pfc: {
        priorities: [3],
        xoffBytes: 30_000,
        xonBytes: 10_000,
        headroomBytes: [headroom, headroom, headroom],
      },
    },
  })
  for (let p = 0; p < 3; p++) node.routes.set(HostAddress.fromIpv4(HOST(p)), [p])
  const network = new Network({ pool })
  const sw = network.addNode(node)
  const flow = (from: number, to: number, tos: number, size: () => number) => () =>
    buildFrame(pool, { from: HOST(from), to: HOST(to), wireBytes: size(), tos })
  const hosts = [
    new Firehose(pool, 0, flow(0, 1, (24 << 2) | 2, wireBytes)),
    new Firehose(pool, NEVER, () => null),
    new Firehose(
      pool,
      phaseNs,
      flow(2, 0, 2, () => MTU),
    ),
  ]
  const ids = hosts.map(host => network.addNode(host))
  for (const [port, id] of ids.entries()) network.connect(id, 0, sw, port, delayNs)
  // Port 1 is held for the whole test.
  const hold = pool.take()!
  pfc.write(hold.view, 0, 1, 1 << 3, 65_535)
  hold.length = pfc.BYTES
  hold.wireLength = pfc.BYTES
  node.onFrame(0, 1, hold)
  for (const id of ids) network.kick(id)
  network.runUntil(200_000)
  t.ok(hosts[0]!.pausedUntilNs > 200_000, 'host 0 was paused')
  const { pfc: used, dropsByReason } = node.report(200_000, 0)
  return { used: used!.maxHeadroomBytes, lost: dropsByReason.headroomFull! }
}

/**
 * The events in order, each in bytes: the frame above xoff; ours on the line, PFC; link; the peer's; link.
 */
function needed(delayNs: number): number {
  const link = delayNs / NS_PER_BYTE
  return MTU + (MTU + 60 + link) + (MTU + link)
}

t.test('with what the link asks for nothing is lost, and little of it is to spare', async t => {
  const random = seeded(t, 3)
  for (const delayNs of [0, 100, 1000, 5000]) {
    const own = headroomBytes({ rateBps: RATE_BPS, delayNs }, MTU)
    t.ok(
      own >= needed(delayNs) && own < needed(delayNs) + 100,
      `${own} B for ${delayNs} ns: ${needed(delayNs)}`,
    )
    let most = 0
    for (let run = 0; run < 30; run++) {
      const wireBytes = run % 2 === 0 ? () => MTU : () => MTU - random.below(700)
      const { used, lost } = flood({ delayNs, headroom: own, phaseNs: random.below(1300), wireBytes })
      if (lost > 0) t.fail(`${lost} frames lost, delay ${delayNs}`)
      most = Math.max(most, used)
    }
    t.ok(most <= own, `${most} of ${own}`)
    t.ok(most > needed(delayNs) - MTU, `${most}: less than a frame below the bound of ${needed(delayNs)}`)
  }
})

t.test('with less headroom than was used, frames are lost, and the reason says so', async t => {
  for (const delayNs of [100, 1000, 5000]) {
    const worst = { delayNs, phaseNs: 700, wireBytes: () => MTU }
    const { used } = flood({ ...worst, headroom: headroomBytes({ rateBps: RATE_BPS, delayNs }, MTU) })
    t.equal(flood({ ...worst, headroom: used }).lost, 0, 'exactly enough')
    t.ok(flood({ ...worst, headroom: used - 1 }).lost > 0, 'a byte less is not')
  }
})
