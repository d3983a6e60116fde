/**
 * READs of a host request no more than its receive buffer takes, on all connections, and each connection has
 * its turn.
 */
import t from 'tap'
import { ReadRoom } from '../../lib/qp/queues/read-room.js'
import { makeWorld } from '../perf/world.js'
import { usual, variants } from '../support/long.js'

usual('first come, first served', async t => {
  const room = new ReadRoom(100)
  t.ok(room.admits(1, 60))
  room.take(1, 60)
  t.notOk(room.admits(2, 50), 'no room')
  t.notOk(room.admits(3, 10), 'there is, but another waits')
  t.notOk(room.admits(2, 50), 'it keeps its place')
  t.notOk(room.calls)
  room.give(20)
  t.ok(room.calls)
  t.equal(room.call(), 2)
  t.ok(room.admits(2, 50))
  t.ok(room.calls, 'the next one has room as well, until this one asks')
  room.take(2, 50)
  t.ok(room.calls)
  t.equal(room.call(), 3)
  room.take(3, 10)
  t.notOk(room.calls, 'nobody waits')
  t.notOk(room.admits(4, 1))
  t.notOk(room.admits(5, 1))
  room.leave(4)
  room.give(1)
  t.equal(room.call(), 5, 'who has left is not called')
})

usual('one that is longer than all of it goes alone', async t => {
  const room = new ReadRoom(100)
  t.ok(room.admits(1, 1000))
  room.take(1, 1000)
  t.notOk(room.admits(2, 1))
  room.give(999)
  t.ok(room.calls)
  const any = new ReadRoom()
  any.take(1, 2 ** 40)
  t.ok(any.admits(2, 2 ** 40), 'without a bound there is room for everything')
})

usual('one request is for half, in whole packets', async t => {
  t.equal(new ReadRoom(100_000).requestBytesMax(4096), 49_152)
  t.equal(new ReadRoom(1000).requestBytesMax(4096), 4096)
  t.equal(new ReadRoom().requestBytesMax(4096), Number.POSITIVE_INFINITY)
})

const BUDGET = 200_000
for (const [name, size, loss] of variants(
  [
    ['small', 10_000, 0],
    ['greater than half', 150_000, 0],
    ['greater than all', 300_000, 0],
    ['many times as great', 2_000_001, 0],
    ['small, some lost', 10_000, 0.01],
    ['great, some lost', 150_000, 0.01],
    ['many times as great, some lost', 2_000_001, 0.01],
  ] as const,
  2,
)) {
  t.test(`READs of many queue pairs, ${name}`, async t => {
    const iterations = size > 1_000_000 ? 1 : size > 100_000 ? 8 : 50
    const { serve, begin, until, nics, pool } = makeWorld({ nic: { receiveBudgetBytes: BUDGET }, loss })
    serve()
    // Counted beside it.
    const { readRoom } = nics[0]
    const [take, give] = [readRoom.take.bind(readRoom), readRoom.give.bind(readRoom)]
    let out = 0
    let most = 0
    let least = 0
    readRoom.take = (qpn, bytes) => {
      out += bytes
      most = Math.max(most, out)
      take(qpn, bytes)
    }
    readRoom.give = bytes => {
      out -= bytes
      least = Math.min(least, out)
      give(bytes)
    }
    const run = begin({ op: 'READ', size, iterations, qps: 8, depth: 8 })
    t.ok(until(() => run.state === 'closed', run))
    t.equal(run.error, null)
    t.equal(run.tally.bytes, 8 * iterations * size, 'all has come')
    t.ok(most <= BUDGET, `${most} bytes at once`)
    t.ok(most > BUDGET / 2, 'and no fewer than there is room for')
    t.same([least, out], [0, 0], 'what was taken is given back, once')
    t.equal(pool.inUse, 0)
  })
}
