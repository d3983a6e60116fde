/** How connections end, line by line: IBA 12.9.8, and what Linux's stack does. */
import t from 'tap'
import { Script } from './script.js'

const ACTIVE = `
    0       connect
    0       > REQ 1001>0
    1ms     < REP 2001>1001
    1ms     ! established 1001 rep 1ms
    1ms     > RTU 1001>2001`
const PASSIVE = `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     < RTU 2001>1001
    1ms     ! established 1001 rtu 1ms`

for (const [side, start] of [
  ['active', ACTIVE],
  ['passive', PASSIVE],
] as const) {
  t.test(`${side}: DREQ and DREP, then timewait`, async t => {
    const s = new Script(t)
    s.run(`${start}
    10ms    disconnect
    10ms    > DREQ 1001>2001 qpn=201
    12ms    disconnect
    14ms    < DREP 2001>1001
    14ms    ! disconnected 1001 local
    15ms    < DREP 2001>1001
    16ms    < RTU 2001>1001
    2062ms  ! timewaitEnded 1001`)
    t.equal(s.manager.connectionCount, 0)
    const request = s.sent.at(-1)!
    // 00000002, then the comm id 1001 = 0x3e9 with its bytes turned round.
    t.equal(Buffer.from(request.subarray(8, 16)).toString('hex'), '00000002e9030000')
  })

  t.test(`${side}: the peer closes; its DREQ is answered however often and late it comes`, async t => {
    const s = new Script(t)
    s.run(`${start}
    10ms    < DREQ 2001>1001
    10ms    ! disconnected 1001 peer
    10ms    > DREP 1001>2001
    11ms    < DREQ 2001>1001
    11ms    > DREP 1001>2001
    2058ms  ! timewaitEnded 1001
    6000ms  < DREQ 2001>1001                  # unknown by now: the ids turned round
    6000ms  > DREP 1001>2001`)
    const [first, second, third] = s.sent.slice(-3)
    t.equal(first![15], 0x77, 'the transaction id of the DREQ')
    t.same(second, first)
    t.same(third, first)
  })

  t.test(`${side}: a DREQ for another queue pair gets no answer`, async t => {
    const s = new Script(t)
    s.run(`${start}
    10ms    < DREQ 2001>1001 qpn=999
    11ms    < DREQ 2001>1001
    11ms    ! disconnected 1001 peer
    11ms    > DREP 1001>2001
    12ms    < DREQ 2001>1001 qpn=999
    2059ms  ! timewaitEnded 1001`)
    t.equal(s.manager.counters.wrongQpn, 2)
  })

  t.test(`${side}: both close at once`, async t => {
    new Script(t).run(`${start}
    10ms    disconnect
    10ms    > DREQ 1001>2001 qpn=201
    11ms    < DREQ 2001>1001
    11ms    ! disconnected 1001 local
    11ms    > DREP 1001>2001
    12ms    < DREP 2001>1001
    2059ms  ! timewaitEnded 1001`)
  })

  t.test(`${side}: a DREQ that nobody answers`, async t => {
    // The active side's own timeout and count; the passive side's are those of the REQ.
    const step = side === 'active' ? 6144 : 4096
    const lines = [start, '10ms disconnect', '10ms > DREQ 1001>2001 qpn=201']
    for (let i = 1; i <= 15; i++) lines.push(`${10 + i * step}ms > DREQ 1001>2001 qpn=201`)
    const end = 10 + 16 * step
    lines.push(`${end}ms ! disconnected 1001 timeout`, `${end + 2048}ms ! timewaitEnded 1001`)
    const s = new Script(t)
    s.run(lines.join('\n'))
    t.same(s.sent.at(-1), s.sent.at(-16))
  })

  t.test(`${side}: a REJ after all ends it`, async t => {
    new Script(t).run(`${start}
    10ms    < REJ 2001>1001 of=2 reason=28
    10ms    ! disconnected 1001 rejected
    2058ms  ! timewaitEnded 1001`)
    new Script(t).run(`${start}
    9ms     < REJ 2001>0 of=2 reason=4        # a time-out of a peer that never learned the id: not of this connection
    10ms    < REJ 2001>1001 of=2 reason=4
    10ms    ! disconnected 1001 rejected
    2058ms  ! timewaitEnded 1001`)
    new Script(t).run(`${start}
    10ms    disconnect
    10ms    > DREQ 1001>2001 qpn=201
    11ms    < REJ 2001>1001 of=2 reason=28
    11ms    ! disconnected 1001 local
    2059ms  ! timewaitEnded 1001`)
  })
}

t.test(
  'passive: a repeated REQ in timewait is stale; a new one of the same queue pair is welcome',
  async t => {
    new Script(t).run(`${PASSIVE}
    10ms    < DREQ 2001>1001
    10ms    ! disconnected 1001 peer
    10ms    > DREP 1001>2001
    20ms    < REQ 2001>0
    20ms    > REJ 1001>2001 of=2 reason=10
    30ms    < REQ 2002>0
    30ms    ! connectRequest 1002 qpn=201
    2058ms  ! timewaitEnded 1001`)
  },
)

t.test('passive: the peer closes before its RTU has come', async t => {
  new Script(t).run(`
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     < DREQ 2001>1001
    1ms     ! disconnected 1001 peer
    1ms     > DREP 1001>2001
    2ms     < RTU 2001>1001
    2049ms  ! timewaitEnded 1001`)
})

t.test('active: a REP that is repeated while it closes gets no RTU', async t => {
  new Script(t).run(`${ACTIVE}
    10ms    disconnect
    10ms    > DREQ 1001>2001 qpn=201
    11ms    < REP 2001>1001
    12ms    < DREP 2001>1001
    12ms    ! disconnected 1001 local
    13ms    < REP 2001>1001
    2060ms  ! timewaitEnded 1001
    2061ms  < REP 2001>1001`)
})

t.test(
  'a connection that was closed for being stale tells its end once, when nobody answers its DREQ either',
  async t => {
    const s = new Script(t, { maxCmRetries: 0 })
    s.run(`${ACTIVE}
    10ms    < REQ 2009>0 qpn=201
    10ms    ! challenged 1001
    10ms    > REJ 0>2009 of=0 reason=10
    1010ms  ! challenged 1001
    2010ms  ! challenged 1001
    3010ms  ! challenged 1001
    4010ms  ! challenged 1001
    5010ms  ! challenged 1001
    6010ms  ! challenged 1001
    7010ms  ! challenged 1001
    8010ms  ! disconnected 1001 stale
    8010ms  > DREQ 1001>2001 qpn=201
    16202ms ! timewaitEnded 1001`)
  },
)

t.test('what a peer may impose is bounded: timewait, its REP and MRA times', async t => {
  // An ACK timeout of 31 would mean 2.3 hours of timewait; exponent 10 here: 4 ms.
  new Script(t, { peerTimeoutExponentMax: 10 }).run(`
    0       < REQ 2001>0 ack=31 timeout=31 retries=1
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     < MRA 2001>1001 of=1 service=31
    9ms     > REP 1001>2001
    10ms    < DREQ 2001>1001
    10ms    ! disconnected 1001 peer
    10ms    > DREP 1001>2001
    14ms    ! timewaitEnded 1001`)
})

t.test(
  'active: timewait is reckoned by the ACK delay of the REP, when that is longer than the life time',
  async t => {
    // Life time 2^10, the peer's delay 2^15: 2^(15-8) ms.
    new Script(t, { packetLifeTimeExponent: 10 }).run(`${ACTIVE}
    10ms    < DREQ 2001>1001
    10ms    ! disconnected 1001 peer
    10ms    > DREP 1001>2001
    138ms   ! timewaitEnded 1001`)
  },
)

t.test('a communication id of the peer that is in timewait here may come back in a REP', async t => {
  new Script(t).run(`${ACTIVE}
    10ms    < DREQ 2001>1001
    10ms    ! disconnected 1001 peer
    10ms    > DREP 1001>2001
    20ms    connect
    20ms    > REQ 1002>0
    21ms    < REP 2001>1002
    21ms    ! established 1002 rep 1ms
    21ms    > RTU 1002>2001
    2058ms  ! timewaitEnded 1001
    2059ms  < REP 2001>1002
    2059ms  > RTU 1002>2001
    2060ms  < REQ 2001>0                      # still known by that id: repeated, not new`)
})
