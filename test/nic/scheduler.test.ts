/** The scheduler with flows that do nothing but send: fairness, pacing, and how often it must be woken. */
import t from 'tap'
import type { Flow } from '../../lib/nic/flow/flow.js'
import { TURN_PACKETS } from '../../lib/nic/flow/turn.js'
import { Scheduler } from '../../lib/nic/tx/scheduler.js'
import { TxKind } from '../../lib/qp/queue-pair.js'
import { NEVER } from '../../lib/time/nanos.js'

/** What the scheduler sees of a flow. */
class StubFlow {
  readonly index: number
  sent = 0
  acks = 0
  packets = Number.POSITIVE_INFINITY
  windowOpen = true
  nextAt = 0
  readonly gapNs: number
  readonly path = { priority: 0 }
  readonly sender = { nextSendNs: () => this.nextAt, turnPackets: TURN_PACKETS }

  constructor(index: number, gapNs: number) {
    this.index = index
    this.gapNs = gapNs
  }

  get owesAck(): boolean {
    return this.acks > 0
  }

  next(): TxKind {
    if (this.acks > 0) return TxKind.ACK
    return this.packets > 0 && this.windowOpen ? TxKind.REQUEST : TxKind.NONE
  }

  send(now: number): void {
    this.sent++
    this.packets--
    this.nextAt = Math.max(this.nextAt, now) + this.gapNs
  }
}

function build(gaps: readonly number[]) {
  const stubs = gaps.map((gap, index) => new StubFlow(index, gap))
  const flows = stubs as unknown as (Flow | null)[]
  return { stubs, flows, scheduler: new Scheduler(flows, gaps.length) }
}

const asFlow = (stub: StubFlow) => stub as unknown as Flow

/** Sends one packet every `tickNs` if there is one. Returns the order of the flows' indexes. */
function run(built: ReturnType<typeof build>, from: number, until: number, tickNs: number): number[] {
  const { scheduler, stubs } = built
  const order: number[] = []
  for (let now = from; now < until; now += tickNs) {
    const flow = scheduler.nextReady(now)
    if (flow === null) continue
    const stub = stubs[flow.index]!
    order.push(stub.index)
    stub.send(now)
    scheduler.update(asFlow(stub), now)
  }
  return order
}

t.test('thousands of flows that all have something to send share the link evenly', async t => {
  const count = 5000
  const built = build(new Array(count).fill(10))
  for (const stub of built.stubs) built.scheduler.update(asFlow(stub), 0)
  run(built, 0, count * 100 * 10, 100)
  const counts = built.stubs.map(({ sent }) => sent)
  t.equal(Math.min(...counts), 10)
  t.equal(Math.max(...counts), 10)
})

t.test('slow flows get their rate, fast ones share the rest', async t => {
  // The link takes a packet every 100 ns. 100 flows want one every 100 us, a tenth of it in all.
  const slow = 100
  const fast = 10
  const built = build([...new Array(slow).fill(100_000), ...new Array(fast).fill(1)])
  for (const stub of built.stubs) built.scheduler.update(asFlow(stub), 0)
  run(built, 0, 10_000_000, 100)
  for (const { index, sent } of built.stubs) {
    const wanted = index < slow ? 100 : 9000
    t.ok(Math.abs(sent - wanted) <= wanted * 0.02, `flow ${index}: ${sent} of ${wanted}`)
  }
})

t.test('who may send more at once does so in its turn, and no longer', async t => {
  const { stubs, scheduler } = build([0, 0, 1000, 0])
  stubs[3]!.packets = 3
  for (const stub of stubs) scheduler.update(asFlow(stub), 0)
  const order: number[] = []
  for (let n = 0; n < 4 * TURN_PACKETS; n++) {
    const stub = stubs[scheduler.nextReady(0)!.index]!
    order.push(stub.index)
    stub.send(0)
    scheduler.sent(asFlow(stub), 0, 1)
    // An update of any other flow does not change whose turn it is.
    for (const other of stubs) scheduler.update(asFlow(other), 0)
  }
  const turn = (index: number, packets = TURN_PACKETS) => new Array<number>(packets).fill(index)
  const first = [...turn(0), ...turn(1), ...turn(2, 1), ...turn(3, 3)]
  t.same(order, [...first, ...turn(0), ...turn(1)].slice(0, order.length))
})

t.test('a ready flow whose packet has left with an acknowledgement waits for its pace again', async t => {
  const { stubs, scheduler } = build([1000])
  const stub = stubs[0]!
  scheduler.update(asFlow(stub), 0)
  stub.acks = 1
  scheduler.update(asFlow(stub), 0)
  t.equal(scheduler.nextAck()?.index, 0)
  stub.acks = 0
  stub.send(0)
  scheduler.carried(asFlow(stub), 0)
  t.equal(scheduler.nextReady(999), null)
  t.equal(scheduler.nextReady(1000)?.index, 0)
})

t.test('nobody sends before its time', async t => {
  const built = build([700, 1300, 90_000, 6_000_000])
  for (const stub of built.stubs) built.scheduler.update(asFlow(stub), 0)
  const lastAt = [0, 0, 0, 0]
  let early = ''
  for (let now = 0; now < 20_000_000; now = Math.max(now + 1, built.scheduler.nextTimeout(now))) {
    for (let flow = built.scheduler.nextReady(now); flow !== null; flow = built.scheduler.nextReady(now)) {
      const stub = built.stubs[flow.index]!
      if (stub.sent > 0 && now - lastAt[stub.index]! !== stub.gapNs) early = `flow ${stub.index} at ${now}`
      lastAt[stub.index] = now
      stub.send(now)
      built.scheduler.update(asFlow(stub), now)
    }
  }
  t.equal(early, '', 'each gap is exact, for the loop wakes when it was told to')
  t.same(
    built.stubs.map(({ sent }) => sent),
    [Math.ceil(20e6 / 700), Math.ceil(20e6 / 1300), Math.ceil(20e6 / 90_000), 4],
  )
})

t.test(
  'nextTimeout: now when one may send, the pacing time when one waits, never when none will',
  async t => {
    const { scheduler, stubs } = build([1000, 1000])
    t.equal(scheduler.nextTimeout(50), NEVER)
    stubs[0]!.nextAt = 400
    scheduler.update(asFlow(stubs[0]!), 50)
    t.equal(scheduler.nextTimeout(50), 400)
    scheduler.update(asFlow(stubs[1]!), 50)
    t.equal(scheduler.nextTimeout(50), 50)
    t.equal(scheduler.nextReady(50)?.index, 1)
    t.equal(scheduler.nextReady(50), null)
    stubs[0]!.windowOpen = false
    scheduler.update(asFlow(stubs[0]!), 60)
    t.equal(scheduler.nextTimeout(60), NEVER, 'a closed window takes it out')
    stubs[0]!.windowOpen = true
    scheduler.update(asFlow(stubs[0]!), 70)
    t.equal(scheduler.nextTimeout(70), 400, 'an open one puts it back')
  },
)

t.test('a change of rate moves a waiting flow, both ways', async t => {
  const { scheduler, stubs } = build([1000])
  const stub = stubs[0]!
  stub.nextAt = 10_000
  scheduler.update(asFlow(stub), 0)
  stub.nextAt = 3000
  scheduler.update(asFlow(stub), 0)
  t.equal(scheduler.nextTimeout(0), 3000)
  stub.nextAt = 50_000
  scheduler.update(asFlow(stub), 0)
  t.equal(scheduler.nextTimeout(0), 50_000)
  t.equal(scheduler.nextReady(49_999), null)
  t.equal(scheduler.nextReady(50_000)?.index, 0)
})

t.test('what became untrue while a flow stood in line is found out', async t => {
  const { scheduler, stubs } = build([1, 1])
  for (const stub of stubs) scheduler.update(asFlow(stub), 0)
  stubs[0]!.windowOpen = false
  t.equal(scheduler.nextReady(0)?.index, 1)
  t.equal(scheduler.nextReady(0), null)
})

t.test('acknowledgements: one entry a flow, in order, whatever the pacing says', async t => {
  const { scheduler, stubs } = build([1000, 1000, 1000])
  for (const index of [2, 0, 1]) {
    stubs[index]!.acks = 1
    stubs[index]!.packets = 0
    stubs[index]!.nextAt = 1e9
    scheduler.update(asFlow(stubs[index]!), 0)
    scheduler.update(asFlow(stubs[index]!), 0)
  }
  t.equal(scheduler.nextTimeout(5), 5)
  stubs[0]!.acks = 0
  t.equal(scheduler.nextAck()?.index, 2)
  t.equal(scheduler.nextAck()?.index, 1, 'the first has nothing to say any more')
  t.equal(scheduler.nextAck(), null)
})

t.test('a flow that is removed is in no list; its neighbours stay', async t => {
  const { scheduler, stubs, flows } = build([1, 1, 1, 1, 1, 1])
  for (const stub of stubs) {
    if (stub.index % 2 === 1) stub.nextAt = 500
    scheduler.update(asFlow(stub), 0)
    // The flow owes an acknowledgement while it waits for its turn.
    stub.acks = 1
    scheduler.update(asFlow(stub), 0)
  }
  for (const index of [0, 1, 4]) {
    scheduler.remove(asFlow(stubs[index]!))
    flows[index] = null
  }
  const acks: number[] = []
  for (let flow = scheduler.nextAck(); flow !== null; flow = scheduler.nextAck()) acks.push(flow.index)
  t.same(acks, [2, 3, 5])
  for (const index of acks) {
    stubs[index]!.acks = 0
    scheduler.update(asFlow(stubs[index]!), 0)
  }
  const ready: number[] = []
  for (let flow = scheduler.nextReady(500); flow !== null; flow = scheduler.nextReady(500))
    ready.push(flow.index)
  t.same(ready, [2, 3, 5])
  t.equal(scheduler.nextTimeout(500), NEVER)
})
