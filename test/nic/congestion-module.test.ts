/** What a controller learns, and that its window and rate are obeyed in the same way after each event. */
import t from 'tap'
import type { AckSample, CongestionControl } from '../../lib/cc/congestion-control.js'
import { CongestionModule } from '../../lib/nic/feedback/congestion-module.js'
import { newConnectionStats } from '../../lib/nic/feedback/connection-stats.js'
import { QpCounters } from '../../lib/qp/context/counters.js'
import type { QueuePair } from '../../lib/qp/queue-pair.js'
import { NEVER } from '../../lib/time/nanos.js'
import { sampleOf } from '../cc/samples.js'

/** A controller whose window and rate change with everything that it hears. */
class Restless implements CongestionControl {
  readonly name = 'restless'
  readonly observed = []
  readonly heard: string[] = []

  #hear(what: string): void {
    this.heard.push(what)
  }

  windowBytes(): number {
    return 100_000 - 1000 * this.heard.length
  }

  rateBps(): number {
    return 1e9 - 1e6 * this.heard.length
  }

  deadlines = [500]
  nextTimeout(): number {
    return this.deadlines[0] ?? NEVER
  }

  onSent(): void {}
  onAck(): void {
    this.#hear('onAck')
  }
  onTelemetry(): void {
    this.#hear('onTelemetry')
  }
  onDirectResponse(): void {
    this.#hear('onDirectResponse')
  }
  onCnp(): void {
    this.#hear('onCnp')
  }
  onLoss(): void {
    this.#hear('onLoss')
  }
  onSpurious(): void {
    this.#hear('onSpurious')
  }
  onTimeout(): void {
    this.deadlines.shift()
    this.#hear('onTimeout')
  }
  onReceiverWindow(): void {
    this.#hear('onReceiverWindow')
  }
  onPathChange(): void {
    this.#hear('onPathChange')
  }
  observe(): void {}
}

function build(control: CongestionControl) {
  const stats = newConnectionStats()
  const obeyed: number[] = []
  const module = new CongestionModule(stats, { payloadMax: 1024 }, 100e9, {
    onWindow: (_control, windowBytes) => void obeyed.push(windowBytes),
    onBaseRtt() {},
  })
  module.attach({ counters: new QpCounters() } as unknown as QueuePair)
  module.begin(control, 10_000)
  return { module, stats, obeyed }
}

const LOSS = { lostBytes: 1, newestSeq: 0, sndNxt: 1, inFlightBytes: 0, ackedBytes: 0, byTimeout: false }

t.test('after each event window and rate are obeyed, and stand in the figures of the connection', async t => {
  const control = new Restless()
  const { module, stats, obeyed } = build(control)
  const events: Record<string, (sample: AckSample) => void> = {
    onAck: sample => module.onAck(1, 1, sample),
    onTelemetry: sample => module.onTelemetry(2, sample),
    onDirectResponse: sample => module.onDirectResponse(3, sample),
    onCnp: sample => module.onCnp(4, sample),
    onLoss: () => module.onLoss(5, LOSS),
    onSpurious: () => module.onSpurious(6),
    onReceiverWindow: () => module.onReceiverWindow(7, 50_000, 0),
    onPathChange: () => module.onPathChange(),
    onTimeout: () => module.onTimeout(500),
  }
  for (const [name, happen] of Object.entries(events)) {
    happen(sampleOf([]))
    t.equal(control.heard.at(-1), name)
    t.equal(obeyed.at(-1), control.windowBytes(), `${name}: the window`)
    t.match(stats, { windowBytes: control.windowBytes(), rateBps: control.rateBps() }, name)
  }
})

t.test('a host holds a flow back if others send there too, and the window has more room', async t => {
  const control = new Restless()
  const { module } = build(control)
  const { hostShare } = module
  t.notOk(module.isHeldByHost, 'a host that does not say what it has room for')
  hostShare.onBudget(control.windowBytes() / 2, 0)
  t.notOk(module.isHeldByHost, 'no other flow sends there')
  hostShare.onFlows(4)
  t.ok(module.isHeldByHost)
  t.equal(module.allowedBytes(), control.windowBytes() / 8)
  hostShare.onBudget(control.windowBytes() * 4, 0)
  t.notOk(module.isHeldByHost, 'its share is as much as the window')
})

t.test('a deadline of the controller that has not come is no event', async t => {
  const control = new Restless()
  const { module, obeyed } = build(control)
  module.onTimeout(499)
  t.same(control.heard, [])
  t.equal(obeyed.length, 1, 'only its beginning')
})

t.test('a controller with several deadlines hears of each that has passed', async t => {
  const control = new Restless()
  control.deadlines = [500, 500, 600, 900]
  const { module, obeyed } = build(control)
  module.onTimeout(600)
  t.same(control.heard, ['onTimeout', 'onTimeout', 'onTimeout'])
  t.equal(module.nextTimeout(), 900)
  t.equal(obeyed.at(-1), control.windowBytes())
})

t.test('a controller that leaves a deadline in the past is a defect, not a loop without end', async t => {
  const control = new Restless()
  control.deadlines = Array.from({ length: 1000 }, () => 500)
  t.throws(() => build(control).module.onTimeout(500), { code: 'WEIR_INTERNAL', message: /restless/i })
})
