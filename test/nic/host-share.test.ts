import t from 'tap'
import { flowBytesOf, HostShare } from '../../lib/nic/feedback/host-share.js'

t.test('a host that has announced no budget holds nobody', async t => {
  const share = new HostShare()
  share.onFlows(100)
  t.equal(share.bytes, Number.POSITIVE_INFINITY)
})

t.test('the budget is divided by the flows that send', async t => {
  const share = new HostShare()
  share.onBudget(1e6, 0)
  t.equal(share.bytes, 1e6)
  share.onFlows(4)
  t.equal(share.bytes, 250_000)
  share.onFlows(0)
  t.equal(share.bytes, 250_000, 'nothing was told')
})

t.test('N rises at once, and falls step by step', async t => {
  const share = new HostShare()
  share.onBudget(1e6, 0)
  share.onFlows(256)
  t.equal(share.bytes, 1e6 / 256)
  share.onFlows(128)
  t.ok(share.bytes < 1e6 / 200, 'one low count changes little')
  for (let answers = 0; answers < 100; answers++) share.onFlows(1)
  t.equal(share.bytes, 1e6, 'many do')
})

t.test('of a large budget few flows have a part, and many flows have all of it', async t => {
  // As this version says it, and as the version before did, in one number.
  for (const [flowBytes, hostBytes] of [
    [flowBytesOf(22e6), 22e6],
    [22e6, 0],
  ] as const) {
    const share = new HostShare()
    share.onBudget(flowBytes, hostBytes)
    t.equal(share.bytes, flowBytesOf(22e6))
    t.ok(share.bytes < 6e6)
    share.onFlows(2)
    t.equal(share.bytes, flowBytesOf(22e6) / 2)
    share.onFlows(32)
    t.equal(share.bytes, 350_000)
    share.onFlows(128)
    t.equal(share.bytes, 22e6 / 128)
  }
})

t.test('a host that says a smaller part for one flow than this one would take is obeyed', async t => {
  const share = new HostShare()
  share.onBudget(1e6, 22e6)
  t.equal(share.bytes, 1e6)
  share.onFlows(64)
  t.equal(share.bytes, 22e6 / 64)
  const small = new HostShare()
  small.onBudget(100_000, 22e6)
  t.equal(small.bytes, 100_000, 'less than a turn')
  small.onFlows(64)
  t.equal(small.bytes, 100_000)
  small.onFlows(440)
  t.equal(small.bytes, 50_000)
})
