import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { ReceivedRun } from '../../lib/frame/received-run.js'
import { HostLoop } from '../../lib/io/loop/host-loop.js'
import { type Port, PortCounters } from '../../lib/io/port.js'
import { VxlanPort } from '../../lib/io/ports/vxlan-port.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { udpFrame4, until } from './helpers.js'

const FIELDS = {
  source: '10.0.0.1',
  destination: '10.0.0.2',
  sourcePort: 0xc001,
  destinationPort: 4791,
  payload: new Uint8Array(1000),
}

/** Where the BTH of a packet over IPv4 is. */
const BTH_AT = 14 + 20 + 8

/** Sends `count` frames at a fixed interval, and records how late each is. */
class PacedSource implements Node {
  sent = 0
  early = 0
  lateNs: number[] = []
  echoed = 0
  readonly #pool: FramePool
  readonly #count: number
  readonly #intervalNs: Nanos
  #nextNs = NEVER

  constructor(pool: FramePool, count: number, intervalNs: Nanos) {
    this.#pool = pool
    this.#count = count
    this.#intervalNs = intervalNs
  }

  begin(now: Nanos): void {
    this.#nextNs = now + this.#intervalNs
  }

  onFrame(_now: Nanos, _port: number, frame: Frame): void {
    this.echoed++
    this.#pool.give(frame)
  }

  onTimeout(): void {}

  nextTimeout(): Nanos {
    return this.sent === this.#count ? NEVER : this.#nextNs
  }

  pollTransmit(now: Nanos): Frame | null {
    if (this.sent === this.#count || now < this.#nextNs) return null
    this.lateNs.push(now - this.#nextNs)
    if (now < this.#nextNs) this.early++
    this.sent++
    this.#nextNs += this.#intervalNs
    return udpFrame4(this.#pool, FIELDS)
  }
}

/** Sends back whatever it gets. */
class Echo implements Node {
  readonly #queue: Frame[] = []
  onFrame(_now: Nanos, _port: number, frame: Frame): void {
    this.#queue.push(frame)
  }
  onTimeout(): void {}
  nextTimeout(): Nanos {
    return NEVER
  }
  pollTransmit(): Frame | null {
    return this.#queue.shift() ?? null
  }
}

async function portPair(pool: FramePool) {
  const any = { address: '127.0.0.1', port: 0 }
  // The first port learns the second one's number by being opened again on its own number.
  const probe = await VxlanPort.open({ pool, vni: 1, local: any, peer: any })
  const aPort = probe.localPort
  const b = await VxlanPort.open({ pool, vni: 1, local: any, peer: { address: '127.0.0.1', port: aPort } })
  await probe.close()
  const a = await VxlanPort.open({
    pool,
    vni: 1,
    local: { address: '127.0.0.1', port: aPort },
    peer: { address: '127.0.0.1', port: b.localPort },
  })
  return { a, b }
}

for (const intervalNs of [50_000, 700_000, 5_000_000]) {
  t.test(
    `deadlines ${intervalNs / 1000} µs apart are all met, none early, and every frame comes back`,
    async t => {
      const pool = new FramePool(256)
      const { a, b } = await portPair(pool)
      const count = 20
      const source = new PacedSource(pool, count, intervalNs)
      const loopA = new HostLoop({ node: source, port: a })
      const loopB = new HostLoop({ node: new Echo(), port: b })
      loopA.start()
      loopB.start()
      source.begin(loopA.now())
      loopA.wake()
      await until(() => source.echoed === count)
      t.equal(source.sent, count)
      t.equal(source.early, 0)
      loopA.close()
      loopB.close()
      await Promise.all([a.close(), b.close()])
      t.equal(pool.inUse, 0)
    },
  )
}

/** A port with this many arrived frames. */
class FullPort implements Port {
  readonly mtu = 9000
  readonly sourcePorts = null
  readonly gathers = false
  readonly sendsRuns = false
  readonly takesRuns = true
  readonly seesMarks = true
  readonly seesHops = true
  readonly seesIds = true
  readonly choosesIds = true
  readonly receiveBudgetBytes = 0
  readonly waiter = null
  readonly counters = new PortCounters()
  readonly #pool: FramePool
  waiting: number

  constructor(pool: FramePool, waiting: number) {
    this.#pool = pool
    this.waiting = waiting
  }

  waitingBytes = () => 0
  canTransmit = () => true
  transmit(_frame: Frame): void {}
  flush(): void {}
  onReadable(): void {}
  onWritable(): void {}
  async close(): Promise<void> {}

  receive(): Frame | null {
    return this.waiting-- > 0 ? udpFrame4(this.#pool, FIELDS) : null
  }
}

/**
 * Waits for a frame of its own, the `awaited`-th that arrives. When its deadline passes, it fails unless that
 * frame has arrived.
 */
class Silence implements Node {
  frames = 0
  timeouts = 0
  readonly #pool: FramePool
  readonly #awaited: number

  constructor(pool: FramePool, awaited: number) {
    this.#pool = pool
    this.#awaited = awaited
  }

  onFrame(_now: Nanos, _port: number, frame: Frame): void {
    this.frames++
    this.#pool.give(frame)
  }

  onTimeout(): void {
    this.timeouts++
  }

  nextTimeout = () => (this.frames >= this.#awaited ? NEVER : 0)
  pollTransmit = () => null
}

t.test('silence is judged when what has arrived has been taken in', async t => {
  const pool = new FramePool(8)
  const port = new FullPort(pool, 1000)
  const node = new Silence(pool, 1000)
  const loop = new HostLoop({ node, port })
  while (loop.round(1)) {
    // more waits
  }
  t.same([node.frames, node.timeouts], [1000, 0], 'it was not silent')
  const other = new Silence(pool, 2000)
  port.waiting = 1000
  const late = new HostLoop({ node: other, port })
  while (late.round(1)) {
    // more waits
  }
  t.same([other.frames, other.timeouts], [1000, 1], 'this one was')
})

t.test(
  'a frame that comes while others are handled is not handed over as if it had been there before',
  async t => {
    const pool = new FramePool(8)
    let now = 1000
    const came: Nanos[] = []
    const port = new FullPort(pool, 5)
    const receive = port.receive.bind(port)
    port.receive = () => {
      // For example, the kernel ran another process meanwhile.
      now += 3_000_000
      if (port.waiting > 0) came.push(now)
      return receive()
    }
    const told: Nanos[] = []
    const left: Nanos[] = []
    const node: Node = {
      onFrame(at, _port, frame) {
        told.push(at)
        pool.give(frame)
      },
      onTimeout() {},
      nextTimeout: () => NEVER,
      pollTransmit(at) {
        left.push(at)
        return null
      },
    }
    new HostLoop({ node, port, clock: () => now }).round(1000)
    t.same(told, came)
    t.same(left, [came.at(-1)], 'and time does not go back for what leaves')
  },
)

/** A packet of that opcode; acknowledgements and READ requests have no payload. */
function packet(pool: FramePool, opcode: number): Frame {
  const frame = udpFrame4(pool, FIELDS)
  frame.bth = BTH_AT
  frame.payloadLength = opcode === Opcode.RC_SEND_ONLY ? 1000 : 0
  bth.setOpcode(frame.view, BTH_AT, opcode)
  return frame
}

/** Takes in questions, and answers each with an acknowledgement and then an answer. Records the order of what happens. */
function inOneRound(questions: number, busyPoll: boolean): string[] {
  const pool = new FramePool(32)
  const happened: string[] = []
  const port = new FullPort(pool, questions)
  port.transmit = (frame: Frame) => {
    happened.push(frame.payloadLength > 0 ? 'answer' : 'ack')
    pool.give(frame)
  }
  port.flush = () => {
    if (happened.at(-1) !== 'flush') happened.push('flush')
  }
  const owed: Frame[] = []
  const node: Node = {
    onFrame(_now, _port, frame) {
      happened.push('question')
      pool.give(frame)
      for (const opcode of [Opcode.RC_ACKNOWLEDGE, Opcode.RC_SEND_ONLY]) owed.push(packet(pool, opcode))
    },
    onTimeout() {},
    nextTimeout: () => NEVER,
    pollTransmit: () => owed.shift() ?? null,
  }
  new HostLoop({ node, port, busyPoll }).round(1)
  t.equal(pool.inUse, 0)
  return happened
}

t.test('in a round acknowledgements leave last', async t => {
  const all = ['question', 'question', 'answer', 'answer', 'ack', 'ack', 'flush']
  t.same(inOneRound(2, false), all)
})

t.test(
  'requests without payload keep their place: a peer without selective repeat takes packets in order alone',
  t => {
    const pool = new FramePool(8)
    const { RC_ACKNOWLEDGE, RC_RDMA_READ_REQUEST, RC_RDMA_WRITE_ONLY, RC_SEND_ONLY, SACK } = Opcode
    const owed = [RC_RDMA_READ_REQUEST, SACK, RC_SEND_ONLY, RC_ACKNOWLEDGE, RC_RDMA_WRITE_ONLY, RC_SEND_ONLY]
    const sent: number[] = []
    const port = new FullPort(pool, 0)
    port.transmit = (frame: Frame) => {
      sent.push(bth.opcode(frame.view, frame.bth))
      pool.give(frame)
    }
    const frames = owed.map(opcode => packet(pool, opcode))
    const node: Node = {
      onFrame() {},
      onTimeout() {},
      nextTimeout: () => NEVER,
      pollTransmit: () => frames.shift() ?? null,
    }
    new HostLoop({ node, port }).round(1)
    t.same(sent, [RC_RDMA_READ_REQUEST, RC_SEND_ONLY, RC_RDMA_WRITE_ONLY, RC_SEND_ONLY, SACK, RC_ACKNOWLEDGE])
    t.end()
  },
)

t.test('a loop that polls busily answers the first frame before it takes in the second', async t => {
  const first = ['question', 'answer', 'ack', 'flush']
  const rest = ['question', 'question', 'answer', 'answer', 'ack', 'ack', 'flush']
  t.same(inOneRound(3, true), [...first, ...rest])
})

t.test(
  'a port that fills up loses no acknowledgement, and none waits behind the data of later rounds',
  async t => {
    const pool = new FramePool(1024)
    const port = new FullPort(pool, 0)
    const frames = Array.from({ length: 400 }, (_, i) =>
      packet(pool, i % 4 === 0 ? Opcode.RC_ACKNOWLEDGE : Opcode.RC_SEND_ONLY),
    )
    const acks = frames.filter((_, i) => i % 4 === 0)
    const roundOf = new Map<Frame, number>()
    let round = 0
    let room = 0
    port.canTransmit = () => room > 0
    port.transmit = (frame: Frame) => {
      t.ok(room-- > 0, 'nothing is handed to a full port')
      roundOf.set(frame, round)
    }
    let owed = 0
    const node: Node = {
      onFrame() {},
      onTimeout() {},
      nextTimeout: () => NEVER,
      pollTransmit: () => frames[owed++] ?? null,
    }
    const loop = new HostLoop({ node, port })
    const polledIn = new Map<Frame, number>()
    for (; roundOf.size < frames.length && round < 100; round++) {
      room = 30
      const before = owed
      loop.round(1 + round)
      for (let i = before; i < Math.min(owed, frames.length); i++) polledIn.set(frames[i]!, round)
    }
    t.equal(roundOf.size, frames.length)
    for (const ack of acks)
      t.ok(roundOf.get(ack)! - polledIn.get(ack)! <= 1, 'in its round, or first in the next')
    const order = [...roundOf.keys()].filter(frame => acks.includes(frame))
    t.same(
      order.map(ack => acks.indexOf(ack)),
      acks.map((_, i) => i),
      'in order',
    )
  },
)

t.test('a port that is full gets the acknowledgements when it has room', async t => {
  const pool = new FramePool(8)
  const sent: Frame[] = []
  const port = new FullPort(pool, 0)
  let room = 1
  port.canTransmit = () => sent.length < room
  port.transmit = (frame: Frame) => {
    sent.push(frame)
  }
  const owed = [Opcode.RC_ACKNOWLEDGE, Opcode.RC_SEND_ONLY].map(opcode => packet(pool, opcode))
  const [ack, answer] = [...owed]
  const node: Node = {
    onFrame() {},
    onTimeout() {},
    nextTimeout: () => NEVER,
    pollTransmit: () => owed.shift() ?? null,
  }
  const loop = new HostLoop({ node, port })
  loop.round(1)
  t.same(sent, [answer])
  room = 2
  loop.round(2)
  t.equal(sent[1], ack)
})

/** Packets behind the head of a run of about 61 KiB, and what a round takes of runs: bytes of frames. */
const FOLLOWERS = 59
const ROUND_BYTES = 512 * 1024

t.test('a round takes in several runs, and no more than half a megabyte of them', async t => {
  const pool = new FramePool(8)
  const port = new FullPort(pool, Number.POSITIVE_INFINITY)
  const run = new ReceivedRun(new Backing(new Uint8Array(0)))
  const receive = port.receive.bind(port)
  let frameBytes = 0
  let packets = 0
  const runPort = Object.assign(port, {
    run,
    receive: () => {
      run.begin(0, 0, 0, FOLLOWERS)
      return receive()
    },
  })
  const node: Node = {
    onFrame(_now, _port, frame, behind) {
      frameBytes = frame.length
      packets += 1 + behind!.count
      behind!.take(behind!.count)
      pool.give(frame)
    },
    onTimeout() {},
    nextTimeout: () => NEVER,
    pollTransmit: () => null,
  }
  t.ok(new HostLoop({ node, port: runPort }).round(1), 'more waits')
  const runs = Math.ceil(ROUND_BYTES / (frameBytes * (1 + FOLLOWERS)))
  t.equal(packets, runs * (1 + FOLLOWERS))
  t.ok(runs > 8)
})

t.test('a round sends several runs, and no more than half a megabyte of them', async t => {
  const pool = new FramePool(32)
  const port = new FullPort(pool, 0)
  let frames = 0
  let bytes = 0
  port.transmit = (frame: Frame) => {
    frames++
    bytes += frame.length * (1 + frame.followers)
    frame.followers = 0
    pool.give(frame)
  }
  const node: Node = {
    onFrame() {},
    onTimeout() {},
    nextTimeout: () => NEVER,
    pollTransmit() {
      const frame = packet(pool, Opcode.RC_SEND_ONLY)
      frame.followers = FOLLOWERS
      return frame
    },
  }
  t.ok(new HostLoop({ node, port }).round(1), 'there may be more')
  t.equal(frames, Math.ceil(ROUND_BYTES / (bytes / frames)))
  t.equal(pool.inUse, 0)
})

t.test('of packets that come and leave alone a round takes 64 and sends 128', async t => {
  const pool = new FramePool(256)
  const port = new FullPort(pool, 1000)
  let sent = 0
  port.transmit = (frame: Frame) => {
    sent++
    pool.give(frame)
  }
  let taken = 0
  const node: Node = {
    onFrame(_now, _port, frame) {
      taken++
      pool.give(frame)
    },
    onTimeout() {},
    nextTimeout: () => NEVER,
    pollTransmit: () => packet(pool, Opcode.RC_SEND_ONLY),
  }
  t.ok(new HostLoop({ node, port }).round(1))
  t.same([taken, sent], [64, 128])
})

t.test('where more arrives without end, deadlines are kept all the same', async t => {
  const pool = new FramePool(8)
  const node = new Silence(pool, Number.POSITIVE_INFINITY)
  const loop = new HostLoop({ node, port: new FullPort(pool, Number.POSITIVE_INFINITY) })
  for (let round = 0; round < 1000; round++) loop.round(1)
  t.ok(node.timeouts >= 10, `${node.timeouts}`)
})

t.test('with nothing due the loop does nothing at all', async t => {
  const pool = new FramePool(8)
  const { a, b } = await portPair(pool)
  const loop = new HostLoop({ node: new Echo(), port: a })
  loop.start()
  // On a busy machine it takes a while until nothing is left to do. A loop that goes on for ever ends by the file's limit.
  for (let rounds = 0; loop.rounds === 0 || rounds !== loop.rounds; ) {
    rounds = loop.rounds
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  t.pass('no round in 50 ms')
  loop.close()
  await Promise.all([a.close(), b.close()])
})

t.test('a node that throws stops the loop and is reported once', async t => {
  const pool = new FramePool(8)
  const { a, b } = await portPair(pool)
  const broken: Node = {
    onFrame() {},
    onTimeout() {},
    nextTimeout: () => 0,
    pollTransmit() {
      throw new Error('broken')
    },
  }
  const errors: unknown[] = []
  const loop = new HostLoop({ node: broken, port: a, onError: error => errors.push(error) })
  loop.start()
  await until(() => errors.length > 0)
  await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(errors.length, 1)
  t.match(errors[0], { message: 'broken' })
  await Promise.all([a.close(), b.close()])
})

t.test('after close no round runs', async t => {
  const pool = new FramePool(8)
  const { a, b } = await portPair(pool)
  const loop = new HostLoop({ node: new Echo(), port: a })
  loop.start()
  loop.close()
  loop.wake()
  await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(loop.rounds, 0)
  await Promise.all([a.close(), b.close()])
})
