import t from 'tap'
import {
  Completion,
  CompletionQueue,
  WorkStatus,
  workStatusName,
  workStatusText,
} from '../../lib/qp/queues/completion-queue.js'

t.test('completions come out in order, through many turns of the ring', async t => {
  const queue = new CompletionQueue(3)
  const got = new Completion()
  let next = 0
  let seen = 0
  for (let turn = 0; turn < 10; turn++) {
    while (queue.reserve()) queue.push().id = next++
    t.equal(queue.pending, 3)
    for (let i = 0; i < 1 + (turn % 3); i++) {
      t.ok(queue.poll(got))
      t.equal(got.id, seen++)
    }
  }
  while (queue.poll(got)) t.equal(got.id, seen++)
  t.equal(seen, next)
  t.equal(queue.pending, 0)
})

t.test('a place is taken from the post until the poll, so that it never overruns', async t => {
  const queue = new CompletionQueue(2)
  const got = new Completion()
  t.ok(queue.reserve())
  t.ok(queue.reserve())
  t.notOk(queue.reserve())
  queue.push()
  t.notOk(queue.reserve(), 'not polled yet')
  queue.poll(got)
  t.ok(queue.reserve())
  queue.release()
  queue.release()
  t.equal(queue.reserved, 0)
  t.throws(() => queue.release(), { code: 'WEIR_INTERNAL' })
  t.throws(() => queue.push(), { code: 'WEIR_INTERNAL' })
})

t.test('depths out of range are refused', async t => {
  for (const depth of [0, -1, 1.5, 2 ** 23, Number.NaN]) {
    t.throws(() => new CompletionQueue(depth), { code: 'WEIR_BAD_ARGUMENT' })
  }
})

t.test('statuses have the numbers of the verbs', async t => {
  t.equal(WorkStatus.WR_FLUSH_ERR, 5)
  t.equal(WorkStatus.REM_ACCESS_ERR, 10)
  t.equal(WorkStatus.RETRY_EXC_ERR, 12)
  t.equal(WorkStatus.RNR_RETRY_EXC_ERR, 13)
  t.equal(workStatusName(12), 'RETRY_EXC_ERR')
  t.equal(workStatusText(12), 'RETRY_EXC_ERR, the peer answers no more')
  t.equal(workStatusText(4), 'LOC_PROT_ERR')
})
