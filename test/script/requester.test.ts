/** Rules of the requester: IBA 9.7.3 (requests), 9.7.6 (responses), 9.7.7.2 (no credits), 9.9.2 (errors). */
import t from 'tap'
import { script } from './runner.js'

t.test('messages become packets', async t => {
  script(
    t,
    'SEND of three packets, AckReq on the last',
    {},
    `
    0 send 1 2500
    0 > SEND_FIRST 100 len 1024
    0 > SEND_MIDDLE 101 len 1024
    0 > SEND_LAST 102 len 452 areq
    9 < ACK 102 msn 1
    9 = send 1 SUCCESS
  `,
  )
  script(
    t,
    'every operation in one packet, each with its headers',
    {},
    `
    0 send 1 5
    0 > SEND_ONLY 100 len 5 areq
    0 send 2 0 imm 7
    0 > SEND_ONLY_WITH_IMM 101 imm 7 areq
    0 send 3 1024 inv 9
    0 > SEND_ONLY_WITH_INV 102 len 1024 inv 9 areq
    0 write 4 8
    0 > WRITE_ONLY 103 len 8 at 0 of 8 areq
    0 write 5 0 imm 3
    0 > WRITE_ONLY_WITH_IMM 104 at 0 of 0 imm 3 areq
    0 read 6 2049
    0 > READ_REQUEST 105 at 0 of 2049 areq
    0 swap 7 5 6
    0 > COMPARE_SWAP 108 value 6 compare 5 areq
    0 add 8 2
    0 > FETCH_ADD 109 value 2 compare 0 areq
  `,
  )
  script(
    t,
    'the last packet carries what belongs to the message',
    { pathMtu: 256 },
    `
    0 send 1 257 imm 7
    0 > SEND_FIRST 100 len 256
    0 > SEND_LAST_WITH_IMM 101 len 1 imm 7 areq
    0 send 2 512 inv 9
    0 > SEND_FIRST 102 len 256
    0 > SEND_LAST_WITH_INV 103 len 256 inv 9 areq
    0 write 3 300 imm 8
    0 > WRITE_FIRST 104 len 256 at 0 of 300
    0 > WRITE_LAST_WITH_IMM 105 len 44 imm 8 areq
  `,
  )
  script(
    t,
    'AckReq every so often, and where the bound on outstanding PSNs stops it',
    {
      pathMtu: 256,
      ackRequestEveryPackets: 2,
      maxPacketsInFlight: 5,
    },
    `
    0 write 1 2048
    0 > WRITE_FIRST 100 len 256 at 0 of 2048
    0 > WRITE_MIDDLE 101 len 256 areq
    0 > WRITE_MIDDLE 102 len 256
    0 > WRITE_MIDDLE 103 len 256 areq
    0 > WRITE_MIDDLE 104 len 256 areq
    4 < ACK 101
    4 > WRITE_MIDDLE 105 len 256
    4 > WRITE_MIDDLE 106 len 256 areq
    8 < ACK 106
    8 > WRITE_LAST 107 len 256 areq
    9 < ACK 107 msn 1
    9 = send 1 SUCCESS
  `,
  )
})

t.test('acknowledgements', async t => {
  script(
    t,
    'one ACK completes all before it, in order; unsignaled work leaves no completion',
    {},
    `
    0 send 1 1
    0 > SEND_ONLY 100 len 1 areq
    0 write 2 1 quiet
    0 > WRITE_ONLY 101 len 1 at 0 of 1 areq
    0 send 3 1
    0 > SEND_ONLY 102 len 1 areq
    5 < ACK 102 msn 3
    5 = send 1 SUCCESS
    5 = send 3 SUCCESS
  `,
  )
  script(
    t,
    'ACKs of the past and of what was never sent change nothing',
    {},
    `
    0 send 1 1
    0 > SEND_ONLY 100 len 1 areq
    1 < ACK 99
    2 < ACK 101
    2 < NAK 101 sequence
    2 < READ_RESPONSE_ONLY 150 len 4
    2 counter droppedGhost
    2 = droppedGhost 3
    3 < ACK 100 msn 1
    3 = send 1 SUCCESS
    4 < ACK 100 msn 1
    4 counter duplicateAcks
    4 = duplicateAcks 2
  `,
  )
})

t.test('go-back-N (9.7.6, 9.7.5.2)', async t => {
  script(
    t,
    'a NAK acknowledges what is before it and is obeyed once',
    {},
    `
    0 send 1 10
    0 > SEND_ONLY 100 len 10 areq
    0 send 2 3000
    0 > SEND_FIRST 101 len 1024
    0 > SEND_MIDDLE 102 len 1024
    0 > SEND_LAST 103 len 952 areq
    5 < NAK 102 sequence msn 1
    5 > SEND_MIDDLE 102 len 1024
    5 > SEND_LAST 103 len 952 areq
    5 = send 1 SUCCESS
    6 < NAK 102 sequence msn 1
    7 < ACK 103 msn 2
    7 = send 2 SUCCESS
  `,
  )
  script(
    t,
    'a timeout repeats the oldest unanswered packet, alone; the retry count ends it',
    {
      ackTimeoutExponent: 1,
      retryCount: 2,
    },
    `
    0 write 1 10
    0 > WRITE_ONLY 100 len 10 at 0 of 10 areq
    1 write 2 10
    1 > WRITE_ONLY 101 len 10 at 0 of 10 areq
    8.192 > WRITE_ONLY 100 len 10 at 0 of 10 areq
    16.384 > WRITE_ONLY 100 len 10 at 0 of 10 areq
    24.576 = send 1 RETRY_EXC_ERR
    24.576 = send 2 WR_FLUSH_ERR
    24.576 ! RETRY_EXC_ERR
    99 counter timeouts
    99 = timeouts 3
  `,
  )
  script(
    t,
    'progress gives all retries back and starts the timer anew',
    {
      ackTimeoutExponent: 1,
      retryCount: 1,
    },
    `
    0 write 1 10
    0 > WRITE_ONLY 100 len 10 at 0 of 10 areq
    0 write 2 10
    0 > WRITE_ONLY 101 len 10 at 0 of 10 areq
    8.192 > WRITE_ONLY 100 len 10 at 0 of 10 areq
    10 < ACK 100
    10 > WRITE_ONLY 101 len 10 at 0 of 10 areq
    10 = send 1 SUCCESS
    18.192 > WRITE_ONLY 101 len 10 at 0 of 10 areq
    26.384 = send 2 RETRY_EXC_ERR
    26.384 ! RETRY_EXC_ERR
  `,
  )
  script(
    t,
    'the answer after a timeout covers more than was repeated: nothing of it was lost, and nothing more is repeated',
    { ackTimeoutExponent: 1 },
    `
    0 write 1 3000
    0 > WRITE_FIRST 100 len 1024 at 0 of 3000
    0 > WRITE_MIDDLE 101 len 1024
    0 > WRITE_LAST 102 len 952 areq
    8.192 > WRITE_FIRST 100 len 1024 at 0 of 3000 areq
    9 < ACK 101
    10 < ACK 102 msn 1
    10 = send 1 SUCCESS
    99 counter retransmittedPackets
    99 = retransmittedPackets 1
  `,
  )
  script(
    t,
    'no retries: the first NAK ends it',
    { retryCount: 0 },
    `
    0 send 1 2000
    0 > SEND_FIRST 100 len 1024
    0 > SEND_LAST 101 len 976 areq
    1 < NAK 100 sequence
    1 = send 1 RETRY_EXC_ERR
    1 ! RETRY_EXC_ERR
  `,
  )
  script(
    t,
    'exponent 0 waits for ever',
    { ackTimeoutExponent: 0 },
    `
    0 send 1 1
    0 > SEND_ONLY 100 len 1 areq
    1000000000 < ACK 100 msn 1
    1000000000 = send 1 SUCCESS
  `,
  )
})

t.test('receiver not ready (9.7.5.2.8)', async t => {
  script(
    t,
    'waits for the time of the NAK, silent whatever comes, then sends again',
    {},
    `
    0 send 1 2000
    0 > SEND_FIRST 100 len 1024
    0 > SEND_LAST 101 len 976 areq
    5 < RNR 100 timer 1
    6 < NAK 100 sequence      # Linux sends this for the packet behind
    7 < RNR 100 timer 5
    8 send 2 1
    15 > SEND_FIRST 100 len 1024
    15 > SEND_LAST 101 len 976 areq
    15 > SEND_ONLY 102 len 1 areq
    16 < ACK 102 msn 2
    16 = send 1 SUCCESS
    16 = send 2 SUCCESS
  `,
  )
  script(
    t,
    'its own retry count',
    { rnrRetry: 1 },
    `
    0 send 1 4
    0 > SEND_ONLY 100 len 4 areq
    5 < RNR 100 timer 2
    25 > SEND_ONLY 100 len 4 areq
    30 < RNR 100 timer 2
    30 = send 1 RNR_RETRY_EXC_ERR
    30 ! RNR_RETRY_EXC_ERR
  `,
  )
  script(
    t,
    'timer code 0 is the longest wait, 655.36 ms; 7 retries are without end',
    { retryCount: 0 },
    `
    0 send 1 4
    0 > SEND_ONLY 100 len 4 areq
    0 < RNR 100 timer 0
    655360 > SEND_ONLY 100 len 4 areq
    655360 < RNR 100 timer 0
    1310720 > SEND_ONLY 100 len 4 areq
    1310720 < RNR 100 timer 31
    1802240 > SEND_ONLY 100 len 4 areq
    1802241 < ACK 100
    1802241 = send 1 SUCCESS
  `,
  )
  script(
    t,
    'a peer that says so is there: silence is counted anew from then on',
    { retryCount: 1, ackTimeoutExponent: 1 },
    `
    0 send 1 4
    0 > SEND_ONLY 100 len 4 areq
    8.192 > SEND_ONLY 100 len 4 areq
    10 < RNR 100 timer 1
    20 > SEND_ONLY 100 len 4 areq
    28.192 > SEND_ONLY 100 len 4 areq
    30 < RNR 100 timer 1
    40 > SEND_ONLY 100 len 4 areq
    48.192 > SEND_ONLY 100 len 4 areq
    56.384 = send 1 RETRY_EXC_ERR
    56.384 ! RETRY_EXC_ERR
    60 counter timeouts
    60 = timeouts 4
  `,
  )
})

t.test('READ and atomics', async t => {
  script(
    t,
    'a READ response acknowledges what was before its request',
    {},
    `
    0 send 1 1
    0 > SEND_ONLY 100 len 1 areq
    0 read 2 1025
    0 > READ_REQUEST 101 at 0 of 1025 areq
    5 < READ_RESPONSE_FIRST 101 len 1024 msn 2
    5 = send 1 SUCCESS
    5 < READ_RESPONSE_LAST 102 len 1 msn 2
    5 = send 2 SUCCESS
    5 memory 0 2
    5 = memory 0 6565
    5 memory 1023 3
    5 = memory 1023 656600
  `,
  )
  for (const [title, middle, last] of [
    ['with MIDDLE, as Linux answers', 'READ_RESPONSE_MIDDLE', 'READ_RESPONSE_LAST'],
    ['with FIRST, as a new request would be', 'READ_RESPONSE_FIRST', 'READ_RESPONSE_LAST'],
  ]) {
    script(
      t,
      `a missing response is asked for again from the hole; the rest begins ${title}`,
      {},
      `
      0 read 1 3000
      0 > READ_REQUEST 100 at 0 of 3000 areq
      5 < READ_RESPONSE_FIRST 100 len 1024 msn 1
      5 < READ_RESPONSE_LAST 102 len 952 msn 1
      5 > READ_REQUEST 101 at 1024 of 1976 areq
      9 < ${middle} 101 len 1024 msn 1
      9 < ${last} 102 len 952 msn 1
      9 = send 1 SUCCESS
    `,
    )
  }
  script(
    t,
    'the rest of one packet may come as ONLY',
    {},
    `
    0 read 1 1030
    0 > READ_REQUEST 100 at 0 of 1030 areq
    5 < READ_RESPONSE_FIRST 100 len 1024 msn 1
    6 send 2 1
    6 > SEND_ONLY 102 len 1 areq
    7 < ACK 102 msn 2          # does not acknowledge the READ: its response was lost
    7 > READ_REQUEST 101 at 1024 of 6 areq
    7 > SEND_ONLY 102 len 1 areq
    8 < READ_RESPONSE_ONLY 101 len 6 msn 1
    8 = send 1 SUCCESS
    9 < ACK 102 msn 2
    9 = send 2 SUCCESS
  `,
  )
  script(
    t,
    'a lost atomic response is asked for again with the same PSN',
    { ackTimeoutExponent: 1 },
    `
    0 add 1 5
    0 > FETCH_ADD 100 value 5 compare 0 areq
    8.192 > FETCH_ADD 100 value 5 compare 0 areq
    9 < ATOMIC_ACK 100 original 258 msn 1
    9 = send 1 SUCCESS
    9 memory 0 8
    9 = memory 0 0201000000000000
  `,
  )
  script(
    t,
    'no more READs and atomics at a time than agreed; others go on',
    { initiatorDepth: 1 },
    `
    0 read 1 1
    0 > READ_REQUEST 100 at 0 of 1 areq
    0 read 2 1
    0 send 3 1
    5 < READ_RESPONSE_ONLY 100 len 1 msn 1
    5 > READ_REQUEST 101 at 0 of 1 areq
    5 > SEND_ONLY 102 len 1 areq
    5 = send 1 SUCCESS
  `,
  )
  script(
    t,
    'a late response ends a READ that has not been asked for again, and frees nothing twice',
    { initiatorDepth: 1, ackTimeoutExponent: 1 },
    `
    0 read 1 1
    0 > READ_REQUEST 100 at 0 of 1 areq
    0 read 2 1
    0 read 3 1
    1 hold
    9 < READ_RESPONSE_ONLY 100 len 1 msn 1
    9 = send 1 SUCCESS
    10 release
    10 > READ_REQUEST 101 at 0 of 1 areq
    11 < READ_RESPONSE_ONLY 101 len 1 msn 2
    11 > READ_REQUEST 102 at 0 of 1 areq
    11 = send 2 SUCCESS
  `,
  )
  script(
    t,
    'a fenced work request waits for READs before it',
    {},
    `
    0 read 1 1
    0 > READ_REQUEST 100 at 0 of 1 areq
    0 send 2 1 fence
    0 send 3 1
    5 < READ_RESPONSE_ONLY 100 len 1 msn 1
    5 > SEND_ONLY 101 len 1 areq
    5 > SEND_ONLY 102 len 1 areq
    5 = send 1 SUCCESS
  `,
  )
  script(
    t,
    'a READ of more packets than the bound runs alone',
    { maxPacketsInFlight: 2 },
    `
    0 read 1 4096
    0 > READ_REQUEST 100 at 0 of 4096 areq
    0 send 2 1
    5 < READ_RESPONSE_FIRST 100 len 1024
    5 < READ_RESPONSE_MIDDLE 101 len 1024
    5 < READ_RESPONSE_MIDDLE 102 len 1024
    5 > SEND_ONLY 104 len 1 areq
    5 < READ_RESPONSE_LAST 103 len 1024
    5 = send 1 SUCCESS
  `,
  )
  for (const [title, response] of [
    ['too short', 'READ_RESPONSE_FIRST 100 len 1000'],
    ['too long', 'READ_RESPONSE_LAST 100 len 1024'],
    ['an end before the end', 'READ_RESPONSE_ONLY 100 len 1024'],
    ['of another kind', 'ATOMIC_ACK 100 original 1'],
  ]) {
    script(
      t,
      `a response ${title}`,
      {},
      `
      0 read 1 3000
      0 > READ_REQUEST 100 at 0 of 3000 areq
      5 < ${response}
      5 = send 1 BAD_RESP_ERR
      5 ! BAD_RESP_ERR
      5 memory 0 1
      5 = memory 0 00
    `,
    )
  }
})

t.test('errors (9.9.2)', async t => {
  for (const [nak, status] of [
    ['invalid', 'REM_INV_REQ_ERR'],
    ['access', 'REM_ACCESS_ERR'],
    ['operational', 'REM_OP_ERR'],
    ['invalid-rd', 'REM_INV_RD_REQ_ERR'],
  ]) {
    script(
      t,
      `NAK ${nak}: what is before completes, all behind is flushed, and both queues`,
      {},
      `
      0 receive 9 64
      0 write 1 1
      0 > WRITE_ONLY 100 len 1 at 0 of 1 areq
      0 write 2 1
      0 > WRITE_ONLY 101 len 1 at 0 of 1 areq
      0 write 3 1 quiet
      0 > WRITE_ONLY 102 len 1 at 0 of 1 areq
      5 < NAK 101 ${nak} msn 1
      5 = send 1 SUCCESS
      5 = send 2 ${status}
      5 = send 3 WR_FLUSH_ERR
      5 = receive 9 WR_FLUSH_ERR
      5 ! ${status}
      6 < ACK 102 msn 3
      7 send 4 1
      7 = send 4 WR_FLUSH_ERR
      7 receive 8 1
      7 = receive 8 WR_FLUSH_ERR
    `,
    )
  }
  script(
    t,
    'a READ whose response is missing is not complete because something behind it failed',
    {},
    `
    0 read 1 8
    0 > READ_REQUEST 100 at 0 of 8 areq
    0 write 2 1
    0 > WRITE_ONLY 101 len 1 at 0 of 1 areq
    5 < NAK 101 access msn 1
    5 = send 1 WR_FLUSH_ERR
    5 = send 2 REM_ACCESS_ERR
    5 ! REM_ACCESS_ERR
  `,
  )
  script(
    t,
    'memory taken away before it is sent',
    {},
    `
    0 hold
    0 send 1 1
    0 deregister good
    0 release
    0 = send 1 LOC_PROT_ERR
    0 ! LOC_PROT_ERR
  `,
  )
  script(
    t,
    'modify to error flushes',
    {},
    `
    0 send 1 1
    0 > SEND_ONLY 100 len 1 areq
    0 receive 2 1
    1 error
    1 = send 1 WR_FLUSH_ERR
    1 = receive 2 WR_FLUSH_ERR
    1 ! WR_FLUSH_ERR
    2 < SEND_ONLY 200 len 1 areq
    2 < ACK 100
    2 counter droppedState
    2 = droppedState 2
  `,
  )
  script(
    t,
    'SQD lets end what has begun, and begins nothing (10.3.1)',
    { maxPacketsInFlight: 1 },
    `
    0 send 1 2000
    0 > SEND_FIRST 100 len 1024 areq
    0 send 2 1
    1 drain
    2 < ACK 100
    2 > SEND_LAST 101 len 976 areq
    3 < ACK 101 msn 1
    3 = send 1 SUCCESS
    9 resume
    9 > SEND_ONLY 102 len 1 areq
  `,
  )
})

t.test('end-to-end credits of a peer that tells them all the same limit nothing (9.7.7.2)', async t => {
  script(
    t,
    'SENDs go on; who has no receive says so by an RNR NAK',
    {},
    `
    0 send 1 1
    0 > SEND_ONLY 100 len 1 areq
    1 < ACK 100 credits 0 msn 1
    1 = send 1 SUCCESS
    2 send 2 1
    2 > SEND_ONLY 101 len 1 areq
    2 send 3 1
    2 > SEND_ONLY 102 len 1 areq
  `,
  )
})
