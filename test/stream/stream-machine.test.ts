/** The machine of a stream beside a peer that does not keep to the format, and grants over their wrap. */
import { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'
import type { ReceiveWork, SendWork } from '../../lib/qp/queues/work.js'
import {
  CONTROL_RECEIVES,
  memoryBytesOf,
  receivesOf,
  StreamMachine,
} from '../../lib/stream/stream-machine.js'
import { Flag, flagsOf, grantedOf, immediateOf, type StreamWords } from '../../lib/stream/words.js'
import { refusal } from '../nic/pair.js'
import { long, usual } from '../support/long.js'

const SHAPE = { segmentBytes: 256, receives: 4, sends: 2 }
const PEER: StreamWords = { version: 1, kind: 'bytes', segmentBytes: 256, receives: 4, messageBytesMax: 0 }

function times(count: number, what: () => void): void {
  for (let i = 0; i < count; i++) what()
}

function machineOf() {
  const bytes = new Uint8Array(memoryBytesOf(SHAPE))
  const region = new MemoryRegion(1, 0x10000, bytes.length, bytes, 1)
  const sends: SendWork[] = []
  const receives: ReceiveWork[] = receivesOf(SHAPE, region)
  const link = {
    postSend: (work: SendWork) => sends.push(work) > 0,
    postReceive: (work: ReceiveWork) => receives.push(work) > 0,
  }
  const machine = new StreamMachine(SHAPE, link, region)
  /** A message of the peer. */
  const arrive = (flags: number, granted: number, length = 0) => {
    const { id, offset } = receives.shift()!
    bytes.fill(0x61, offset, offset + length)
    const fields = {
      isReceive: true,
      id,
      hasImmediate: true,
      immediate: immediateOf(flags, granted),
      byteLength: length,
    }
    machine.onCompletion(Object.assign(new Completion(), fields))
  }
  const complete = ({ id }: SendWork) => machine.onCompletion(Object.assign(new Completion(), { id }))
  return { machine, sends, receives, arrive, complete }
}

usual('the passive end speaks first, the active one waits for its grant', async t => {
  const passive = machineOf()
  passive.machine.start(PEER, true)
  t.same(
    passive.sends.map(({ length, immediate }) => [length, immediate]),
    [[0, 4]],
  )
  t.equal(passive.machine.write(new Uint8Array(10), 0), 10, 'it knows of the receives from the request')
  const active = machineOf()
  active.machine.start(PEER, false)
  t.same(active.sends, [])
  t.equal(active.machine.write(new Uint8Array(10), 0), 0)
  active.arrive(0, 4)
  t.equal(active.machine.write(new Uint8Array(10), 0), 10)
})

usual('no more is sent than is granted, nor than its own memory holds', async t => {
  const { machine, sends, arrive, complete } = machineOf()
  machine.start(PEER, false)
  arrive(0, 3)
  const data = new Uint8Array(256 * 10)
  t.equal(machine.write(data, 0), 512, 'two sends')
  machine.flush()
  for (const send of sends.splice(0)) complete(send)
  t.equal(machine.write(data, 512), 768, 'three grants')
  machine.flush()
  t.equal(machine.end(), false, 'the end takes one too')
  arrive(0, 4)
  t.equal(machine.end(), true)
  t.same(
    sends.map(({ immediate }) => flagsOf(immediate!)),
    [Flag.DATA, Flag.DATA | Flag.END],
  )
})

usual('a grant is sent when half of the receives are free', async t => {
  const { machine, sends, arrive, receives } = machineOf()
  machine.start(PEER, true)
  sends.length = 0
  for (let i = 0; i < 4; i++) arrive(Flag.DATA, 4, 5)
  t.equal(receives.length, CONTROL_RECEIVES, 'what nobody has read keeps its receive')
  machine.read()
  t.equal(sends.length, 0)
  t.same(Buffer.from(machine.read()!.bytes).toString(), 'aaaaa')
  t.same(
    sends.map(({ immediate }) => grantedOf(immediate!)),
    [6],
  )
})

long('counts wrap at 2^24', async t => {
  const { machine, sends, arrive, complete } = machineOf()
  machine.start(PEER, true)
  const rounds = 2 ** 24 + 10
  let granted = 4
  for (let i = 0; i < rounds; i++) {
    machine.write(Uint8Array.of(1), 0)
    machine.flush()
    granted = (granted + 1) % 2 ** 24
    arrive(Flag.DATA, granted, 1)
    if (machine.read() === null) t.fail('nothing came')
    for (const send of sends.splice(0)) if (send.id === 0) complete(send)
  }
  t.equal(machine.write(Uint8Array.of(1), 0), 1)
})

usual('a peer that breaks the rules', async t => {
  const started = () => {
    const made = machineOf()
    made.machine.start(PEER, true)
    return made
  }
  const cases: [string, (arrive: (flags: number, granted: number, length?: number) => void) => void][] = [
    ['more than it was granted', arrive => times(5, () => arrive(Flag.DATA, 4, 1))],
    ['more receives than it has', arrive => arrive(0, 5)],
    ['more receives than it has', arrive => arrive(0, 2 ** 24 - 1)],
    ['after the end', arrive => times(2, () => arrive(Flag.DATA | Flag.END, 4))],
    ['confirms an end', arrive => arrive(Flag.END_ARRIVED, 4)],
    ['the flags 0x40', arrive => arrive(0x40, 4)],
  ]
  for (const [what, does] of cases)
    t.match(
      refusal(() => does(started().arrive), 'WEIR_PROTOCOL'),
      what,
    )
})
