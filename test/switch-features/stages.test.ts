/** The stages of a frame's way through a switch, seen by features that only record their calls. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { addFeature, type FeatureOptions } from '../../switch-emu/core/catalogue.js'
import type { FeatureSwitch, SwitchFeature } from '../../switch-emu/core/feature/feature.js'
import type { QueueTimers } from '../../switch-emu/core/feature/queue-timers.js'
import { DropReason } from '../../switch-emu/core/queueing/counters.js'
import type { EgressPort } from '../../switch-emu/core/queueing/egress-port.js'
import { buildFrame } from '../switch-emu/build-frame.js'
import { drain, HOST, starSwitch } from '../switch-emu/helpers.js'

const RATE = 8e9 // a byte a ns
const ALL = Number.MAX_SAFE_INTEGER

interface NoteOptions {
  notes: string[]
  /** The reason that a stage gives for each frame. */
  admits?: DropReason
  enqueues?: DropReason
  /** The priority that each frame gets. */
  moves?: number
}

/** Records `name stage …` of each call. */
class Note implements SwitchFeature {
  readonly sw: FeatureSwitch
  readonly timers: QueueTimers
  readonly #name: string
  readonly #options: NoteOptions

  constructor(name: string, options: NoteOptions, sw: FeatureSwitch, timers: QueueTimers) {
    this.#name = name
    this.#options = options
    this.sw = sw
    this.timers = timers
  }

  arrive(_now: Nanos, _frame: Frame, ingress: number, egress: number, priority: number): number {
    this.#note(`arrive ${ingress} > ${egress} p${priority}`)
    return this.#options.moves ?? priority
  }

  admit(_now: Nanos, frame: Frame, ingress: number, priority: number): DropReason {
    this.#note(`admit ${ingress} p${priority} ${frame.wireLength}`)
    return this.#options.admits ?? DropReason.NONE
  }

  leave(_now: Nanos, frame: Frame, ingress: number, priority: number): void {
    this.#note(`leave ${ingress} p${priority} ${frame.wireLength}`)
  }

  enqueue(_now: Nanos, _frame: Frame, { index, queueBytes }: EgressPort, priority: number): DropReason {
    this.#note(`enqueue ${index} p${priority} behind ${queueBytes}`)
    return this.#options.enqueues ?? DropReason.NONE
  }

  offered(_now: Nanos, _frame: Frame, ingress: number, { index, queueBytes }: EgressPort): void {
    this.#note(`offered ${ingress} > ${index}, ${queueBytes} wait`)
  }

  start(startNs: Nanos, _frame: Frame, { index }: EgressPort, ingress: EgressPort): void {
    this.#note(`start ${startNs} ${ingress.index} > ${index}`)
  }

  timeout(at: Nanos, port: number, priority: number): void {
    this.#note(`timeout ${at} ${port} p${priority}`)
  }

  reset(now: Nanos): void {
    this.#note(`reset ${now}`)
  }

  report(now: Nanos, port: number) {
    return { [this.#name]: `${port} at ${now}` }
  }

  #note(what: string): void {
    this.#options.notes.push(`${this.#name} ${what}`)
  }
}

class First extends Note {}
class Second extends Note {}

for (const [name, kind] of [
  ['first', First],
  ['second', Second],
] as const) {
  addFeature({
    name,
    doc: 'Notes what it is called for.',
    example: {},
    options: [],
    create: (options: NoteOptions, sw, timers) => new kind(name, options, sw, timers),
  })
}

function noted(first: Partial<NoteOptions> | false, second: Partial<NoteOptions> | false = false) {
  const notes: string[] = []
  const features: FeatureOptions & Record<string, unknown> = {
    ...(first && { first: { notes, ...first } }),
    ...(second && { second: { notes, ...second } }),
  }
  const ports = [{ rateBps: RATE }, { rateBps: RATE }]
  return { ...starSwitch({ ports, classifier: { dscp: { 24: 3 } }, features }), notes }
}

const data = { from: HOST(0), to: HOST(1), wireBytes: 1000, tos: 24 << 2 }

t.test(
  'a frame meets the stages in order, and at each the features in the order of the catalogue',
  async t => {
    const { node, pool, notes } = noted({}, {})
    node.onFrame(0, 0, buildFrame(pool, data))
    drain(node, ALL, frame => pool.give(frame))
    const stages = [
      'arrive 0 > 1 p3',
      'admit 0 p3 1000',
      'enqueue 1 p3 behind 0',
      'offered 0 > 1, 1000 wait',
      'leave 0 p3 1000',
      'start 0 0 > 1',
    ]
    t.same(
      notes,
      stages.flatMap(stage => [`first ${stage}`, `second ${stage}`]),
    )
    t.equal(pool.inUse, 0)
  },
)

t.test('what one has admitted it gets back when another drops it; the drop is counted once', async t => {
  for (const [first, second, left, reason] of [
    [{}, { admits: DropReason.BUFFER_FULL }, ['first'], 'bufferFull'],
    [{ admits: DropReason.BUFFER_FULL }, {}, [], 'bufferFull'],
    [{}, { enqueues: DropReason.WRED }, ['first', 'second'], 'wred'],
  ] as const) {
    const { node, pool, notes } = noted(first, second)
    node.onFrame(0, 0, buildFrame(pool, data))
    t.same(
      notes.filter(note => note.includes('leave')),
      left.map(name => `${name} leave 0 p3 1000`),
    )
    t.equal(notes.filter(note => note.includes('offered')).length, 2, 'those that look see dropped ones too')
    t.equal(notes.filter(note => note.includes('start')).length, 0)
    const { drops, dropsByReason } = node.report(0, 1)
    t.same([drops, dropsByReason[reason]], [1, 1])
    t.equal(node.buffer.usedBytes, 0)
    t.equal(pool.inUse, 0)
  }
})

t.test('the priority that one chooses is what the next one sees, and the queue it goes to', async t => {
  const { node, pool, notes } = noted({ moves: 5 }, {})
  node.onFrame(0, 0, buildFrame(pool, data))
  t.same(
    notes.filter(note => note.includes('arrive')),
    ['first arrive 0 > 1 p3', 'second arrive 0 > 1 p5'],
  )
  t.equal(node.ports[1]!.queues[5]!.count, 1)
  drain(node, ALL, frame => pool.give(frame))
  t.equal(pool.inUse, 0)
})

t.test(
  'timers: one for each port and priority, each at its own time however late the driver wakes',
  async t => {
    const { node, notes } = noted({}, {})
    const [first, second] = [node.find(First)!, node.find(Second)!]
    t.equal(node.nextTimeout(), NEVER)
    first.timers.set(1, 3, 700)
    first.timers.set(0, 0, 500)
    first.timers.set(0, 1, 600)
    second.timers.set(0, 0, 400)
    first.timers.set(0, 1, NEVER)
    t.equal(node.nextTimeout(), 400)
    node.onTimeout(450)
    t.same(notes, ['second timeout 400 0 p0'])
    t.equal(node.nextTimeout(), 500)
    node.onTimeout(1000)
    t.same(notes.slice(1), ['first timeout 500 0 p0', 'first timeout 700 1 p3'])
    t.equal(node.nextTimeout(), NEVER)
  },
)

t.test(
  'frames of its own are forwarded, or dropped and counted; no stage admits them or looks at them as offered',
  async t => {
    const { node, pool, notes } = noted({})
    const { sw } = node.find(First)!
    sw.send(50, buildFrame(pool, data))
    t.same([node.buffer.usedBytes, node.ownMemory.usedBytes], [0, 1000])
    drain(node, ALL, frame => {
      t.same([frame.port, frame.departNs], [1, 1050])
      pool.give(frame)
    })
    t.same(notes, ['first arrive 1 > 1 p3', 'first enqueue 1 p3 behind 0', 'first start 50 1 > 1'])
    t.equal(node.ownMemory.usedBytes, 0)
    sw.send(2000, buildFrame(pool, { ...data, to: HOST(77) }), 1)
    t.equal(node.report(2000, 1).dropsByReason.noRoute, 1)
    t.equal(pool.inUse, 0)
  },
)

t.test('urgent frames go first, those of two features in the order of their times', async t => {
  const { node, pool } = noted({})
  const times: number[] = []
  const urgent = (first: Nanos, last: Nanos, wireBytes: number) => ({
    dueNs: first,
    transmit(startNs: Nanos): Frame {
      this.dueNs = startNs < last ? last : NEVER
      return buildFrame(pool, { ...data, wireBytes, psn: 9 })
    },
  })
  const [, port] = node.ports
  port!.addUrgent(urgent(0, 5000, 500))
  port!.addUrgent(urgent(4000, 4000, 100))
  node.onFrame(0, 0, buildFrame(pool, data))
  node.find(First)!.sw.wake(0, 1)
  drain(node, ALL, frame => {
    times.push(frame.departNs)
    pool.give(frame)
  })
  t.same(times, [500, 1500, 4100, 5500])
  t.equal(pool.inUse, 0)
})

t.test('reports and windows; what is off is not there', async t => {
  const { node, notes } = noted({})
  node.resetWindow(70)
  t.same(notes, ['first reset 70'])
  const report = node.report(80, 1) as unknown as Record<string, unknown>
  t.equal(report.first, '1 at 80')
  t.notOk('second' in report)
  t.equal(node.find(Second), null)
})

t.test('a name that the catalogue does not have is refused', async t => {
  const features = { third: {} } as FeatureOptions
  t.throws(() => starSwitch({ ports: [{ rateBps: RATE }], features }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /third; there are ecn, pfc, intTable, telemetry/,
  })
})
