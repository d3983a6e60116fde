/** The receives of a sealed connection, as many as a queue takes: in order, the handshake's first. */
import t from 'tap'
import { Access } from '../../lib/qp/memory/memory.js'
import { ReceiveSlot } from '../../lib/qp/queues/receive-queue.js'
import { BounceMemory } from '../../lib/secure/bounce-memory.js'
import { SealedReceives } from '../../lib/secure/sealed-receives.js'
import { makePair } from '../nic/pair.js'

const MOST = 65_536
const SHAKING = [
  { id: 2 ** 32, length: 320 },
  { id: 2 ** 32 + 1, length: 320 },
]

function posted(count: number): { receives: SealedReceives; post: (id: number) => boolean } {
  const { memory } = makePair().b
  const region = memory.register(Buffer.alloc(64), 64, Access.LOCAL_WRITE)
  const receives = new SealedReceives(new BounceMemory(memory, undefined))
  const post = (id: number) => receives.post({ id, region, offset: 0, length: 64 })
  for (let id = 0; id < count; id++) if (!post(id)) throw new Error(`receive ${id} was not taken`)
  return { receives, post }
}

t.test('messages take them in order, and they complete in order', async t => {
  const { receives, post } = posted(MOST)
  const slot = new ReceiveSlot()
  t.equal(post(MOST), false, 'no more than that')
  t.equal(receives.take(slot), false, 'not before the handshake')
  receives.open(SHAKING)
  const ids: number[] = []
  const wanted = [...SHAKING.map(({ id }) => id), ...Array.from({ length: MOST + 100 }, (_, id) => id)]
  let next = MOST
  while (ids.length < wanted.length) {
    if (!receives.take(slot)) throw new Error(`nothing after ${ids.length}`)
    const receive = receives.shift()!
    ids.push(receive.id)
    if (slot.id !== receive.id) t.fail(`${slot.id} was taken, ${receive.id} has completed`)
    if (next < MOST + 100 && post(next)) next++
  }
  t.same(ids, wanted)
  t.equal(receives.take(slot), false, 'none is left')
  t.equal(receives.shift(), undefined)
})

t.test('what is left is flushed in order, without the handshake', async t => {
  const { receives, post } = posted(5)
  receives.open(SHAKING)
  const slot = new ReceiveSlot()
  for (let i = 0; i < 4; i++) receives.take(slot)
  for (let i = 0; i < 3; i++) receives.shift()
  t.same(
    receives.flush().map(({ id }) => id),
    [1, 2, 3, 4],
  )
  t.same([receives.flush(), receives.shift(), receives.take(slot)], [[], undefined, false])
  t.equal(post(9), true)
  const other = posted(2).receives
  t.same(
    other.flush().map(({ id }) => id),
    [0, 1],
    'also before the handshake',
  )
})
