import t from 'tap'
import { PSN_MODULUS } from '../../lib/qp/queues/psn.js'
import { SendLog } from '../../lib/qp/recovery/send-log.js'

t.test('grows with what is in flight, and forgets nothing of it', async t => {
  const log = new SendLog(8192)
  const first = PSN_MODULUS - 100
  for (let n = 0; n < 5000; n++) log.record(first + n, 1000 + n, n, n % 7 === 0, first)
  for (let n = 0; n < 5000; n++) {
    const seq = first + n
    if (log.numberOf(seq) !== n || log.sentNs(seq) !== 1000 + n) t.fail(`packet ${n}`)
    if (log.rttNs(seq, 10_000) !== (n % 7 === 0 ? 0 : 9000 - n)) t.fail(`round trip of ${n}`)
  }
  t.equal(log.numberOf(first + 5000), -1, 'never sent')
  t.equal(log.numberOf((first + 4000) % PSN_MODULUS), 4000, 'by the PSN of the wire')
})

t.test('what is answered makes room', async t => {
  const log = new SendLog(16)
  for (let seq = 0; seq < 1000; seq++) log.record(seq, seq, seq, false, Math.max(0, seq - 15))
  for (let seq = 985; seq < 1000; seq++) t.equal(log.numberOf(seq), seq)
  t.equal(log.numberOf(900), -1)
  t.equal(log.rttNs(900, 2000), 0)
})

t.test('a few packets are remembered until as many have followed as a log remembers at least', async t => {
  const log = new SendLog(8192)
  t.equal(log.numberOf(5), -1, 'of a log without packets')
  t.equal(log.rttNs(5, 100), 0)
  // Each is answered before the next one leaves.
  for (let seq = 1000; seq < 1300; seq++) log.record(seq, seq, seq - 1000, false, seq)
  for (let seq = 1044; seq < 1300; seq++) {
    if (log.numberOf(seq) !== seq - 1000 || log.sentNs(seq) !== seq) t.fail(`packet ${seq}`)
  }
  t.equal(log.numberOf(1043), -1)
  t.equal(
    new SendLog(8192).numberOf(1000),
    -1,
    'what logs have before their first packet is shared, and empty',
  )
})
