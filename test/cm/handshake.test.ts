/** How connections are made, line by line: IBA 12.9.7, and what Linux's stack does. Events come before datagrams. */
import t, { type Test } from 'tap'
import type { CmOptions } from '../../lib/cm/options.js'
import { type Bend, Script } from './script.js'

function script(
  t: Test,
  text: string,
  options: Partial<CmOptions> = {},
  bends: Record<string, Bend> = {},
): Script {
  const script = new Script(t, options, bends)
  script.run(text)
  return script
}

t.test('active: REQ, REP, RTU', async t => {
  const s = script(
    t,
    `
    0     connect
    0     > REQ 1001>0
    5ms   < REP 2001>1001
    5ms   ! established 1001 rep 5ms
    5ms   > RTU 1001>2001
`,
  )
  t.equal(s.manager.nextTimeout(), Number.POSITIVE_INFINITY, 'nothing is left to wait for')
  t.equal(
    s.sent[1]![15],
    s.sent[0]![15],
    'the RTU carries the transaction id of the REQ, whatever the REP had',
  )
})

t.test('passive: REQ, REP, RTU', async t => {
  const s = script(
    t,
    `
    0     < REQ 2001>0
    0     ! connectRequest 1001 qpn=201
    3ms   accept
    3ms   > REP 1001>2001
    8ms   < RTU 2001>1001
    8ms   ! established 1001 rtu 5ms`,
  )
  t.equal(s.manager.nextTimeout(), Number.POSITIVE_INFINITY)
  t.equal(s.sent[0]![15], 0x77, 'the transaction id of the REQ')
})

t.test(
  'active: the REQ is repeated 15 times, every 2^12 + 2*2^10 ms, the same bytes; then given up',
  async t => {
    const lines = ['0 connect', '0 > REQ 1001>0']
    for (let i = 1; i <= 15; i++) lines.push(`${i * 6144}ms > REQ 1001>0`)
    lines.push(`${16 * 6144}ms ! timedOut 1001`, `${16 * 6144}ms > REJ 1001>0 of=2 reason=4`)
    const s = script(t, lines.join('\n'))
    for (let i = 1; i <= 15; i++) t.same(s.sent[i], s.sent[0])
    const refusal = s.sent[16]!
    t.equal(refusal[33], 8 << 1, '8 bytes of additional information')
    t.equal(Buffer.from(refusal.subarray(36, 44)).toString('hex'), '00000000000000a1', 'the CA GUID')
    t.equal(s.manager.connectionCount, 0)
  },
)

t.test("passive: the REP is repeated by the peer's timeout and count, then given up", async t => {
  const s = script(
    t,
    `
    0       < REQ 2001>0 timeout=18 retries=2
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1024ms  > REP 1001>2001
    2048ms  > REP 1001>2001
    3072ms  ! timedOut 1001
    3072ms  > REJ 1001>2001 of=2 reason=4`,
  )
  t.same(s.sent[1], s.sent[0])
  t.equal(s.manager.connectionCount, 0)
})

t.test('a round trip is not reported when the message was repeated', async t => {
  script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    6144ms  > REQ 1001>0
    6150ms  < REP 2001>1001
    6150ms  ! established 1001 rep -
    6150ms  > RTU 1001>2001`,
  )
})

t.test(
  'active: an MRA makes it wait, the REQ is then repeated at that pace; a second MRA changes nothing',
  async t => {
    // 2^(24-8) + 2^(19-8) ms.
    script(
      t,
      `
    0         connect
    0         > REQ 1001>0
    10ms      < MRA 2001>1001 of=0 service=24
    60000ms   < MRA 2001>1001 of=0 service=20
    67594ms   > REQ 1001>0
    135178ms  > REQ 1001>0
    135200ms  < REP 2001>1001
    135200ms  ! established 1001 rep -
    135200ms  > RTU 1001>2001`,
    )
  },
)

t.test('passive: an MRA to its REP makes it wait', async t => {
  script(
    t,
    `
    0        < REQ 2001>0
    0        ! connectRequest 1001 qpn=201
    0        accept
    0        > REP 1001>2001
    10ms     < MRA 2001>1001 of=1 service=22
    10ms     < MRA 2001>1001 of=1 service=10   # again: changes nothing
    18442ms  > REP 1001>2001
    18500ms  < RTU 2001>1001
    18500ms  ! established 1001 rtu -`,
  )
})

t.test('an MRA for what was not sent changes nothing', async t => {
  script(
    t,
    `
    0        connect
    0        > REQ 1001>0
    1ms      < MRA 2001>1001 of=1
    2ms      < MRA 2001>1001 of=2
    3ms      < MRA 2001>1001 of=3
    6144ms   > REQ 1001>0
    6145ms   < REP 2001>1001
    6145ms   ! established 1001 rep -
    6145ms   > RTU 1001>2001
    6146ms   < MRA 2001>1001 of=1`,
  )
})

t.test(
  'passive: a repeated REQ is answered by an MRA while the application has not decided, then by nothing',
  async t => {
    const s = script(
      t,
      `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    6.3s    < REQ 2001>0
    6.3s    > MRA 1001>2001 of=0 service=24
    12.6s   < REQ 2001>0
    12.6s   > MRA 1001>2001 of=0 service=24
    14s     accept
    14s     > REP 1001>2001
    14.1s   < REQ 2001>0
    18.096s > REP 1001>2001
    18.1s   < RTU 2001>1001
    18.1s   ! established 1001 rtu -
    18.2s   < REQ 2001>0
    18.3s   < RTU 2001>1001`,
    )
    t.equal(s.manager.counters.ignored, 3)
  },
)

t.test('the application asks for time by itself', async t => {
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    1ms     mra 1001 21
    1ms     > MRA 1001>2001 of=0 service=21
    2ms     mra 1001 22
    2ms     > MRA 1001>2001 of=0 service=22
    3ms     reject
    3ms     > REJ 1001>2001 of=0 reason=28
    4ms     < REQ 2001>0                       # the REJ was lost: it asks anew
    4ms     ! connectRequest 1002 qpn=201`,
  )
})

t.test('data stand in for a lost RTU, which may still come', async t => {
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       data 101                           # no such queue pair yet
    1ms     accept
    1ms     > REP 1001>2001
    2ms     data 102
    3ms     data 101
    3ms     ! established 1001 data -
    4ms     data 101
    5ms     < RTU 2001>1001
    60s     data 101`,
  )
})

t.test('data count as an RTU while an MRA holds the REP back', async t => {
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     < MRA 2001>1001 of=1
    2ms     data 101
    2ms     ! established 1001 data -`,
  )
})

t.test('active: every repeated REP is answered by an RTU; one with other ids by nothing', async t => {
  const s = script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    1ms     < REP 2001>999
    2ms     < REP 0>1001
    3ms     < REP 2001>1001 tid=5
    3ms     ! established 1001 rep 3ms
    3ms     > RTU 1001>2001
    4ms     < REP 2001>1001
    4ms     > RTU 1001>2001
    5ms     < REP 2002>1001
    6ms     < REP 2001>1001 tid=9
    6ms     > RTU 1001>2001`,
  )
  t.same(s.sent[2], s.sent[1])
  t.same(s.sent[3], s.sent[1])
})

t.test('the other end of the handshake may have another transaction id', async t => {
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     < RTU 2001>1001 tid=1234
    1ms     ! established 1001 rtu 1ms`,
  )
})

t.test('messages of another host for a connection are dropped', async t => {
  const s = script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    1ms     < REP 2001>1001 from=10.0.0.3
    1ms     < REJ 2001>1001 from=10.0.0.3
    2ms     < REP 2001>1001
    2ms     ! established 1001 rep 2ms
    2ms     > RTU 1001>2001
    3ms     < DREQ 2001>1001 from=10.0.0.3
    4ms     < REQ 2002>0 from=10.0.0.3        # its GID is 10.0.0.2`,
  )
  t.equal(s.manager.counters.wrongSource, 4)
})

t.test("a REJ of the peer's ends the attempt", async t => {
  for (const reason of [1, 3, 8, 9, 12, 26, 28, 999]) {
    const s = script(
      t,
      `
      0       connect
      0       > REQ 1001>0
      1ms     < REJ 0>1001 of=0 reason=${reason}
      1ms     ! rejected 1001 reason=${reason}
      2ms     < REP 2001>1001`,
    )
    t.equal(s.manager.connectionCount, 0)
  }
})

t.test('a REJ for a stale connection leads to timewait', async t => {
  script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    1ms     < REJ 0>1001 of=0 reason=10
    1ms     ! rejected 1001 reason=10
    2049ms  ! timewaitEnded 1001`,
  )
})

t.test('the active side is gone before it is answered', async t => {
  // Its REJ contains no comm id of this end. GUID and own id identify the connection.
  for (const guid of [0xb2, 0xb3]) {
    script(
      t,
      `
      0       < REQ 2001>0
      0       ! connectRequest 1001 qpn=201
      1ms     < REJ 2001>0 of=2 reason=4 guid=${guid}
      ${guid === 0xb2 ? '1ms ! rejected 1001 reason=4' : ''}`,
    )
  }
})

t.test('a REJ of the REP', async t => {
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     < REJ 2001>1001 of=1 reason=28
    1ms     ! rejected 1001 reason=28
    2ms     < RTU 2001>1001`,
  )
})

t.test(
  'a REP with more resources than a queue pair can have, or of a queue pair of management, is refused',
  async t => {
    for (const field of ['rr=200', 'id=200', 'qpn=0', 'qpn=1']) {
      script(
        t,
        `
      0       connect
      0       > REQ 1001>0
      1ms     < REP 2001>1001 ${field}
      1ms     ! rejected 1001 reason=28
      1ms     > REJ 1001>2001 of=1 reason=28
      2049ms  ! timewaitEnded 1001`,
      )
    }
  },
)

t.test('the application gives up', async t => {
  script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    1ms     disconnect
    1ms     ! disconnected 1001 local
    1ms     > REJ 1001>0 of=2 reason=4
    2ms     disconnect`,
  )
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    1ms     disconnect
    1ms     ! disconnected 1001 local
    1ms     > REJ 1001>2001 of=0 reason=28`,
  )
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     disconnect
    1ms     ! disconnected 1001 local
    1ms     > REJ 1001>2001 of=2 reason=28`,
  )
})

t.test(
  'a REQ of a GUID and QPN that are connected: REJ for stale; the old connection is closed if its peer is silent for 8 s',
  async t => {
    script(
      t,
      `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    0       accept
    0       > REP 1001>2001
    1ms     < RTU 2001>1001
    1ms     ! established 1001 rtu 1ms
    5ms     < REQ 2002>0
    5ms     ! challenged 1001
    5ms     > REJ 0>2002 of=0 reason=10
    6ms     confirm
    7ms     < REQ 2003>0
    7ms     ! challenged 1001
    7ms     > REJ 0>2003 of=0 reason=10
    8ms     < REQ 2004>0                      # it has been asked
    8ms     > REJ 0>2004 of=0 reason=10
    1007ms  ! challenged 1001
    2007ms  ! challenged 1001
    3007ms  ! challenged 1001
    4007ms  ! challenged 1001
    5007ms  ! challenged 1001
    6007ms  ! challenged 1001
    7007ms  ! challenged 1001
    8007ms  ! disconnected 1001 stale
    8007ms  > DREQ 1001>2001 qpn=201
    8008ms  < DREP 2001>1001
    8009ms  < REQ 2005>0
    8009ms  ! connectRequest 1002 qpn=201
    10056ms ! timewaitEnded 1001`,
    )
  },
)

t.test('the same while it is not yet established: the old attempt goes on', async t => {
  script(
    t,
    `
    0       < REQ 2001>0
    0       ! connectRequest 1001 qpn=201
    5ms     < REQ 2002>0
    5ms     > REJ 0>2002 of=0 reason=10
    6ms     < REQ 2003>0 guid=77               # another host's queue pair of that number
    6ms     ! connectRequest 1002 qpn=201`,
  )
})

t.test('a REP of a GUID and QPN that are connected', async t => {
  script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    1ms     < REP 2001>1001
    1ms     ! established 1001 rep 1ms
    1ms     > RTU 1001>2001
    2ms     connect
    2ms     > REQ 1002>0
    3ms     < REP 2002>1002                    # qpn 201 again
    3ms     ! challenged 1001
    3ms     > REJ 1002>2002 of=1 reason=10
    4ms     disconnect
    4ms     > DREQ 1001>2001 qpn=201
    5ms     < DREP 2001>1001
    5ms     ! disconnected 1001 local
    6ms     < REP 2003>1002
    6ms     ! established 1002 rep 4ms
    6ms     > RTU 1002>2003
    2053ms  ! timewaitEnded 1001`,
  )
})

t.test('a REP that claims the communication id of another connection is ignored', async t => {
  const s = script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    1ms     < REP 2001>1001
    1ms     ! established 1001 rep 1ms
    1ms     > RTU 1001>2001
    2ms     connect
    2ms     > REQ 1002>0
    3ms     < REP 2001>1002 qpn=300`,
  )
  t.equal(s.manager.counters.ignored, 1)
})

t.test('shorter times can be set', async t => {
  script(
    t,
    `
    0       connect
    0       > REQ 1001>0
    24ms    > REQ 1001>0
    48ms    ! timedOut 1001
    48ms    > REJ 1001>0 of=2 reason=4`,
    { responseTimeoutExponent: 12, packetLifeTimeExponent: 10, maxCmRetries: 1 },
  )
})
