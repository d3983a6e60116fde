/**
 * Rules of the responder: IBA 9.7.4 (what it accepts), 9.7.5 (what it answers), 9.7.7 (MSN), 9.9.3 (errors).
 */
import t from 'tap'
import type { QpConfig } from '../../lib/qp/queue-pair.js'
import { script } from './runner.js'

/** As Linux does: an ACK when it is requested. */
const WHEN_ASKED = { ackEveryPackets: 0 }

t.test('messages and acknowledgements', async t => {
  script(
    t,
    'a SEND fills a receive; its ACK counts it; an ACK amid the message carries the old MSN',
    WHEN_ASKED,
    `
    0 receive 1 4000
    1 < SEND_FIRST 200 len 1024
    2 < SEND_MIDDLE 201 len 1024 areq
    2 > ACK 201 msn 0
    3 < SEND_LAST 202 len 5 areq
    3 > ACK 202 msn 1
    3 = receive 1 SUCCESS len 2053
    3 memory 5119 2
    3 = memory 5119 c8c9
    3 memory 6144 6
    3 = memory 6144 cacacacaca00
  `,
  )
  script(
    t,
    'immediate data and message kinds reach the completion',
    WHEN_ASKED,
    `
    0 receive 1 64
    0 receive 2 64
    1 < SEND_ONLY_WITH_IMM 200 len 3 imm 77 areq
    1 > ACK 200 msn 1
    1 = receive 1 SUCCESS len 3 imm 77
    2 < WRITE_ONLY_WITH_IMM 201 len 4 at 16 of 4 key good imm 78 areq
    2 > ACK 201 msn 2
    2 = receive 2 SUCCESS len 4 imm 78
    2 memory 15 6
    2 = memory 15 00c9c9c9c900
  `,
  )
  script(
    t,
    'one ACK per so many packets, at the end of a message, and when asked',
    { ackEveryPackets: 3 },
    `
    1 < WRITE_FIRST 200 len 1024 at 0 of 5121 key good
    1 < WRITE_MIDDLE 201 len 1024
    1 < WRITE_MIDDLE 202 len 1024
    1 > ACK 202 msn 0
    1 < WRITE_MIDDLE 203 len 1024 areq
    1 > ACK 203 msn 0
    1 < WRITE_MIDDLE 204 len 1024
    1 < WRITE_LAST 205 len 1
    1 > ACK 205 msn 1
  `,
  )
  script(
    t,
    'ACKs that wait become one',
    {},
    `
    0 hold
    1 < WRITE_ONLY 200 len 1 at 0 of 1 key good areq
    1 < WRITE_ONLY 201 len 1 at 0 of 1 key good areq
    2 release
    2 > ACK 201 msn 2
  `,
  )
  script(
    t,
    'a WRITE of nothing needs no key',
    WHEN_ASKED,
    `
    0 < WRITE_ONLY 200 at 0 of 0 key bad areq
    0 > ACK 200 msn 1
  `,
  )
})

t.test('sequence (9.7.4.1)', async t => {
  script(
    t,
    'one NAK a gap, silence until it closes, then one for the next',
    WHEN_ASKED,
    `
    1 < WRITE_ONLY 201 len 1 at 0 of 1 key good areq
    1 > NAK 200 sequence msn 0
    2 < WRITE_ONLY 202 len 1 at 0 of 1 key good areq
    3 < WRITE_ONLY 205 len 1 at 0 of 1 key good areq
    4 < WRITE_ONLY 200 len 1 at 0 of 1 key good areq
    4 > ACK 200 msn 1
    5 < WRITE_ONLY 202 len 1 at 0 of 1 key good areq
    5 > NAK 201 sequence msn 1
    6 memory 0 1
    6 = memory 0 c8
  `,
  )
  script(
    t,
    'duplicates are not carried out; each is answered by an ACK of the last in order',
    WHEN_ASKED,
    `
    0 receive 1 9
    0 receive 2 9
    1 < SEND_ONLY 200 len 1 areq
    1 > ACK 200 msn 1
    1 = receive 1 SUCCESS len 1
    2 < WRITE_ONLY 201 len 1 at 0 of 1 key good
    3 < SEND_ONLY 200 len 1
    3 > ACK 201 msn 2
    4 < WRITE_ONLY 201 len 1 at 0 of 1 key good areq
    4 > ACK 201 msn 2
    5 < SEND_ONLY 202 len 1 areq
    5 > ACK 202 msn 3
    5 = receive 2 SUCCESS len 1
  `,
  )
  script(
    t,
    'where the peer needs it, an ACK of what no ACK has told it leaves before each NAK',
    { ackEveryPackets: 4, acksBeforeNak: true },
    `
    1 < WRITE_FIRST 201 len 1024 at 0 of 9216 key good
    1 > NAK 200 sequence msn 0
    2 < WRITE_FIRST 200 len 1024 at 0 of 9216 key good
    2 < WRITE_MIDDLE 201 len 1024
    3 < WRITE_MIDDLE 203 len 1024
    3 > ACK 201 msn 0
    3 > NAK 202 sequence msn 0
    4 < WRITE_MIDDLE 202 len 1024
    5 < WRITE_MIDDLE 204 len 1024
    5 > ACK 202 msn 0
    5 > NAK 203 sequence msn 0
    6 < WRITE_MIDDLE 203 len 1024
    6 < WRITE_MIDDLE 204 len 1024
    6 < WRITE_MIDDLE 205 len 1024
    6 < WRITE_MIDDLE 206 len 1024
    6 > ACK 206 msn 0
    7 < WRITE_LAST 208 len 1024
    7 > NAK 207 sequence msn 0
  `,
  )
  script(
    t,
    'an ACK that has not left is not lost when a NAK follows',
    { ackEveryPackets: 0, acksBeforeNak: true },
    `
    0 hold
    1 < WRITE_ONLY 200 len 4 at 0 of 4 key good areq
    1 < WRITE_ONLY 202 len 4 at 0 of 4 key good areq
    2 release
    2 > ACK 200 msn 1
    2 > NAK 201 sequence msn 1
    3 hold
    3 < WRITE_ONLY 201 len 4 at 0 of 4 key good
    3 < WRITE_ONLY 203 len 4 at 0 of 4 key good
    3 < WRITE_ONLY 202 len 4 at 0 of 4 key good
    3 < WRITE_ONLY 203 len 4 at 0 of 4 key good areq
    4 release
    4 > ACK 203 msn 4
  `,
  )
  script(
    t,
    'a NAK that has not left is void when the gap closes',
    WHEN_ASKED,
    `
    0 hold
    1 < WRITE_ONLY 201 len 1 at 0 of 1 key good
    2 < WRITE_ONLY 200 len 1 at 0 of 1 key good
    3 release
    4 < WRITE_ONLY 201 len 1 at 0 of 1 key good areq
    4 > ACK 201 msn 2
  `,
  )
})

t.test('no receive posted (9.7.5.2.8)', async t => {
  script(
    t,
    'RNR NAK with the timer asked for, again as long as there is none; what follows is ignored',
    {
      ...WHEN_ASKED,
      minRnrTimer: 14,
    },
    `
    1 < SEND_FIRST 200 len 1024
    1 > RNR 200 timer 14 msn 0
    1 < SEND_LAST 201 len 1 areq
    2 < SEND_FIRST 200 len 1024
    2 > RNR 200 timer 14 msn 0
    3 receive 1 2000
    4 < SEND_FIRST 200 len 1024
    4 < SEND_LAST 201 len 1 areq
    4 > ACK 201 msn 1
    4 = receive 1 SUCCESS len 1025
  `,
  )
  script(
    t,
    'a WRITE with immediate needs one with its last packet; nothing is written before',
    WHEN_ASKED,
    `
    1 < WRITE_ONLY_WITH_IMM 200 len 1 at 0 of 1 key good imm 5 areq
    1 > RNR 200 timer 12 msn 0
    1 memory 0 1
    1 = memory 0 00
    2 receive 1 0
    3 < WRITE_ONLY_WITH_IMM 200 len 1 at 0 of 1 key good imm 5 areq
    3 > ACK 200 msn 1
    3 = receive 1 SUCCESS len 1 imm 5
    4 < WRITE_FIRST 201 len 1024 at 0 of 1025 key good
    4 < WRITE_LAST_WITH_IMM 202 len 1 imm 6 areq
    4 > RNR 202 timer 12 msn 1
    5 receive 2 0
    6 < WRITE_LAST_WITH_IMM 202 len 1 imm 6 areq
    6 > ACK 202 msn 2
    6 = receive 2 SUCCESS len 1025 imm 6
  `,
  )
})

t.test('READ and atomics', async t => {
  script(
    t,
    'a READ takes a PSN a response, and counts at its request',
    WHEN_ASKED,
    `
    1 < READ_REQUEST 200 at 0 of 2049 key good
    1 > READ_RESPONSE_FIRST 200 len 1024 msn 1
    1 > READ_RESPONSE_MIDDLE 201 len 1024
    1 > READ_RESPONSE_LAST 202 len 1 msn 1
    2 < READ_REQUEST 203 at 0 of 0 key bad
    2 > READ_RESPONSE_ONLY 203 msn 2
    3 < READ_REQUEST 204 at 0 of 1024 key good
    3 > READ_RESPONSE_ONLY 204 len 1024 msn 3
  `,
  )
  script(
    t,
    'an ACK does not overtake the responses before it',
    WHEN_ASKED,
    `
    0 hold
    1 < READ_REQUEST 200 at 0 of 1025 key good areq
    1 < WRITE_ONLY 202 len 1 at 0 of 1 key good areq
    1 < FETCH_ADD 203 at 8 key good value 1 areq
    1 < WRITE_ONLY 204 len 1 at 0 of 1 key good areq
    1 < WRITE_ONLY 206 len 1 at 0 of 1 key good areq
    2 release
    2 > READ_RESPONSE_FIRST 200 len 1024 msn 1
    2 > READ_RESPONSE_LAST 201 len 1 msn 1
    2 > ATOMIC_ACK 203 msn 3 original 0
    2 > NAK 205 sequence msn 4
  `,
  )
  script(
    t,
    'a repeated READ is answered again from the hole; one that is not as it was is dropped',
    WHEN_ASKED,
    `
    1 < READ_REQUEST 200 at 0 of 2049 key good
    1 > READ_RESPONSE_FIRST 200 len 1024 msn 1
    1 > READ_RESPONSE_MIDDLE 201 len 1024
    1 > READ_RESPONSE_LAST 202 len 1 msn 1
    2 < READ_REQUEST 201 at 1024 of 1025 key good
    2 > READ_RESPONSE_MIDDLE 201 len 1024
    2 > READ_RESPONSE_LAST 202 len 1 msn 1
    3 < READ_REQUEST 201 at 1024 of 1024 key good
    3 < READ_REQUEST 201 at 1025 of 1025 key good
    3 < READ_REQUEST 199 at 0 of 1 key good
    3 counter droppedReplay
    3 = droppedReplay 3
  `,
  )
  script(
    t,
    'a READ repeated while its answer is under way goes back, never forward',
    WHEN_ASKED,
    `
    0 hold
    1 < READ_REQUEST 200 at 0 of 4096 key good
    2 let 2
    2 > READ_RESPONSE_FIRST 200 len 1024 msn 1
    2 > READ_RESPONSE_MIDDLE 201 len 1024
    3 < READ_REQUEST 203 at 3072 of 1024 key good
    4 let 1
    4 > READ_RESPONSE_MIDDLE 202 len 1024
    5 < READ_REQUEST 201 at 1024 of 3072 key good
    6 release
    6 > READ_RESPONSE_MIDDLE 201 len 1024
    6 > READ_RESPONSE_MIDDLE 202 len 1024
    6 > READ_RESPONSE_LAST 203 len 1024 msn 1
  `,
  )
  script(
    t,
    'a READ that has been answered makes room for the next, also while it is being repeated',
    { ...WHEN_ASKED, responderResources: 1 },
    `
    1 < READ_REQUEST 200 at 0 of 8 key good
    1 > READ_RESPONSE_ONLY 200 len 8 msn 1
    2 hold
    2 < READ_REQUEST 200 at 0 of 8 key good
    3 < READ_REQUEST 201 at 0 of 4 key good
    4 release
    4 > READ_RESPONSE_ONLY 201 len 4 msn 2
  `,
  )
  script(
    t,
    'atomics are carried out once; repeated, they answer as the first time',
    WHEN_ASKED,
    `
    0 poke 8 5
    1 < FETCH_ADD 200 at 8 key good value 3
    1 > ATOMIC_ACK 200 msn 1 original 5
    2 < COMPARE_SWAP 201 at 8 key good compare 8 value 20
    2 > ATOMIC_ACK 201 msn 2 original 8
    3 < COMPARE_SWAP 202 at 8 key good compare 8 value 30
    3 > ATOMIC_ACK 202 msn 3 original 20
    4 < FETCH_ADD 200 at 8 key good value 3
    4 > ATOMIC_ACK 200 msn 1 original 5
    5 < COMPARE_SWAP 201 at 8 key good compare 8 value 20
    5 > ATOMIC_ACK 201 msn 2 original 8
    6 memory 8 8
    6 = memory 8 1400000000000000
  `,
  )
  script(
    t,
    'an addition carries from the low half to the high one, and wraps',
    WHEN_ASKED,
    `
    0 poke 0 18446744073709551615
    1 < FETCH_ADD 200 at 0 key good value 2
    1 > ATOMIC_ACK 200 msn 1 original 4294967295
    1 memory 0 8
    1 = memory 0 0100000000000000
  `,
  )
  script(
    t,
    'only so many results are kept',
    { ...WHEN_ASKED, responderResources: 1 },
    `
    1 < FETCH_ADD 200 at 8 key good value 3
    1 > ATOMIC_ACK 200 msn 1 original 0
    2 < FETCH_ADD 201 at 8 key good value 3
    2 > ATOMIC_ACK 201 msn 2 original 3
    3 < FETCH_ADD 200 at 8 key good value 3
    4 < FETCH_ADD 201 at 8 key good value 3
    4 > ATOMIC_ACK 201 msn 2 original 3
  `,
  )
  script(
    t,
    'more READs at a time than agreed',
    { ...WHEN_ASKED, responderResources: 1 },
    `
    0 hold
    1 < READ_REQUEST 200 at 0 of 8 key good
    1 < READ_REQUEST 201 at 0 of 8 key good
    1 ! REM_INV_REQ_ERR
    2 release
    2 > READ_RESPONSE_ONLY 200 len 8 msn 1
    2 > NAK 201 invalid msn 1
  `,
  )
  script(
    t,
    'memory taken away amid a READ',
    WHEN_ASKED,
    `
    0 hold
    1 < READ_REQUEST 200 at 0 of 2048 key good
    2 deregister good
    3 release
    3 > NAK 200 access msn 1
    3 ! LOC_ACCESS_ERR
  `,
  )
})

t.test('refusals (9.7.4.1, 9.9.3): NAK, error, flush; who asks again hears the same', async t => {
  const refusals: [string, string, string, object?][] = [
    ['access', 'LOC_ACCESS_ERR', 'WRITE_ONLY 200 len 1 at 0 of 1 key bad'],
    ['access', 'LOC_ACCESS_ERR', 'WRITE_ONLY 200 len 1 at 0 of 1 key locked'],
    ['access', 'LOC_ACCESS_ERR', 'WRITE_ONLY 200 len 1 at 1048576 of 1 key good'],
    ['access', 'LOC_ACCESS_ERR', 'WRITE_ONLY 200 len 2 at 1048575 of 2 key good'],
    ['access', 'LOC_ACCESS_ERR', 'WRITE_ONLY 200 len 1 at -1 of 1 key good'],
    ['access', 'LOC_ACCESS_ERR', 'WRITE_FIRST 200 len 1024 at 0 of 1048577 key good'],
    ['access', 'LOC_ACCESS_ERR', 'WRITE_FIRST 200 len 1024 at 1048575 of 2147483648 key good'],
    ['access', 'LOC_ACCESS_ERR', 'READ_REQUEST 200 at 0 of 1 key bad'],
    ['access', 'LOC_ACCESS_ERR', 'READ_REQUEST 200 at 1 of 1048576 key good'],
    ['access', 'LOC_ACCESS_ERR', 'READ_REQUEST 200 at 0 of 1 key locked'],
    ['access', 'LOC_ACCESS_ERR', 'FETCH_ADD 200 at 0 key locked value 1'],
    ['access', 'LOC_ACCESS_ERR', 'FETCH_ADD 200 at 1048576 key good value 1'],
    ['invalid', 'REM_INV_REQ_ERR', 'FETCH_ADD 200 at 4 key good value 1'],
    ['invalid', 'REM_INV_REQ_ERR', 'WRITE_FIRST 200 len 1024 at 0 of 2147483649 key good'],
    ['invalid', 'REM_INV_REQ_ERR', 'READ_REQUEST 200 at 0 of 2147483649 key good'],
    ['invalid', 'REM_INV_REQ_ERR', 'SEND_MIDDLE 200 len 1024'],
    ['invalid', 'REM_INV_REQ_ERR', 'SEND_LAST 200 len 4'],
    ['invalid', 'REM_INV_REQ_ERR', 'WRITE_MIDDLE 200 len 1024'],
    ['invalid', 'REM_INV_REQ_ERR', 'SEND_FIRST 200 len 1023'],
    ['invalid', 'REM_INV_REQ_ERR', 'SEND_FIRST 200 len 0'],
    ['invalid', 'REM_INV_REQ_ERR', 'SEND_ONLY 200 len 1025'],
    ['invalid', 'REM_INV_REQ_ERR', 'WRITE_ONLY 200 len 3 at 0 of 4 key good'],
    ['invalid', 'REM_INV_REQ_ERR', 'WRITE_ONLY 200 len 4 at 0 of 3 key good'],
    ['invalid', 'REM_INV_REQ_ERR', 'WRITE_FIRST 200 len 1024 at 0 of 1024 key good'],
    ['invalid', 'REM_INV_REQ_ERR', 'READ_REQUEST 200 len 4 at 0 of 4 key good'],
    ['invalid', 'REM_INV_REQ_ERR', 'WRITE_ONLY 200 len 1 at 0 of 1 key good', { access: 0 }],
    ['invalid', 'REM_INV_REQ_ERR', 'READ_REQUEST 200 at 0 of 1 key good', { access: 0 }],
    ['invalid', 'REM_INV_REQ_ERR', 'COMPARE_SWAP 200 at 0 key good', { access: 0 }],
    ['invalid', 'REM_INV_REQ_ERR', 'READ_REQUEST 200 at 0 of 1 key good', { responderResources: 0 }],
  ]
  for (const [nak, status, packet, config] of refusals) {
    script(
      t,
      `${packet}${config ? ` ${JSON.stringify(config)}` : ''}`,
      { ...WHEN_ASKED, ...config },
      `
      0 receive 1 64
      1 < ${packet} areq
      1 > NAK 200 ${nak} msn 0
      1 = receive 1 WR_FLUSH_ERR
      1 ! ${status}
      2 < ${packet} areq
      2 > NAK 200 ${nak} msn 0
      2 memory 0 4
      2 = memory 0 00000000
    `,
    )
  }
  script(
    t,
    'after a refusal: answers to whom begins again there or before, or asks; not to what was under way',
    WHEN_ASKED,
    `
    0 receive 1 64
    1 < SEND_ONLY 200 len 1 areq
    1 > ACK 200 msn 1
    1 = receive 1 SUCCESS len 1
    2 < WRITE_ONLY 201 len 1 at 0 of 1 key bad
    2 > NAK 201 access msn 1
    2 ! LOC_ACCESS_ERR
    3 < WRITE_ONLY 202 len 1 at 0 of 1 key good
    4 < WRITE_ONLY 203 len 1 at 0 of 1 key good areq
    4 > NAK 201 access msn 1
    5 < WRITE_ONLY 201 len 1 at 0 of 1 key bad
    5 > NAK 201 access msn 1
    6 < SEND_ONLY 200 len 1
    6 > NAK 201 access msn 1
    7 < ACK 100
    8 memory 0 4
    8 = memory 0 00000000
  `,
  )
  script(
    t,
    'what was delivered before an error is still acknowledged',
    WHEN_ASKED,
    `
    0 receive 1 64
    0 hold
    1 < SEND_ONLY 200 len 1 areq
    1 = receive 1 SUCCESS len 1
    2 error
    2 ! WR_FLUSH_ERR
    3 release
    3 > ACK 200 msn 1
    4 < SEND_ONLY 201 len 1 areq
  `,
  )
  script(
    t,
    'a gap is not told of after an error',
    WHEN_ASKED,
    `
    0 hold
    1 < SEND_ONLY 201 len 1 areq
    2 error
    2 ! WR_FLUSH_ERR
    3 release
  `,
  )
  script(
    t,
    'a message that turns into another',
    WHEN_ASKED,
    `
    0 receive 1 4000
    1 < SEND_FIRST 200 len 1024
    2 < WRITE_LAST 201 len 4 areq
    2 > NAK 201 invalid msn 0
    2 = receive 1 WR_FLUSH_ERR
    2 ! REM_INV_REQ_ERR
  `,
  )
  script(
    t,
    'a message that begins amid another',
    WHEN_ASKED,
    `
    0 receive 1 4000
    1 < SEND_FIRST 200 len 1024
    2 < READ_REQUEST 201 at 0 of 4 key good
    2 > NAK 201 invalid msn 0
    2 = receive 1 WR_FLUSH_ERR
    2 ! REM_INV_REQ_ERR
  `,
  )
  script(
    t,
    'a WRITE that goes on longer than it said writes no byte beyond',
    WHEN_ASKED,
    `
    1 < WRITE_FIRST 200 len 1024 at 0 of 2000 key good
    2 < WRITE_MIDDLE 201 len 1024
    2 > NAK 201 invalid msn 0
    2 ! REM_INV_REQ_ERR
    2 memory 1023 2
    2 = memory 1023 c800
  `,
  )
  script(
    t,
    'a WRITE whose memory is taken away amid it',
    WHEN_ASKED,
    `
    1 < WRITE_FIRST 200 len 1024 at 0 of 2000 key good
    2 deregister good
    3 < WRITE_LAST 201 len 976 areq
    3 > NAK 201 access msn 0
    3 ! LOC_ACCESS_ERR
    3 memory 1024 1
    3 = memory 1024 00
  `,
  )
  script(
    t,
    'a SEND longer than its receive, which takes none of what is too much',
    WHEN_ASKED,
    `
    0 receive 1 1026
    0 receive 2 4000
    1 < SEND_FIRST 200 len 1024
    2 < SEND_LAST 201 len 3 areq
    2 > NAK 201 invalid msn 0
    2 = receive 1 LOC_LEN_ERR
    2 = receive 2 WR_FLUSH_ERR
    2 ! LOC_LEN_ERR
    2 memory 5120 3
    2 = memory 5120 000000
  `,
  )
  script(
    t,
    'a receive whose memory is gone',
    WHEN_ASKED,
    `
    0 receive 1 64
    0 deregister good
    1 < SEND_ONLY 200 len 4 areq
    1 > NAK 200 operational msn 0
    1 = receive 1 LOC_PROT_ERR
    1 ! LOC_PROT_ERR
  `,
  )
})

/** Each packet breaks two rules; the first in the order of checks decides what the peer hears. */
const BREAKS: readonly [string, Partial<QpConfig>, string][] = [
  [
    'PSN, opcode sequence: beyond the one expected',
    {},
    `
    1 < SEND_MIDDLE 205 len 1024 areq
    1 > NAK 200 sequence msn 0
  `,
  ],
  [
    'PSN, opcode sequence: before the one expected',
    {},
    `
    1 < SEND_MIDDLE 199 len 1024 areq
    1 > ACK 199 msn 0
  `,
  ],
  [
    'length of the packet, receive',
    {},
    `
    1 < SEND_ONLY 200 len 1025 areq
    1 > NAK 200 invalid msn 0
    1 ! REM_INV_REQ_ERR
  `,
  ],
  [
    'length of the packet, key',
    {},
    `
    1 < WRITE_ONLY 200 len 1025 at 0 of 1025 key locked areq
    1 > NAK 200 invalid msn 0
    1 ! REM_INV_REQ_ERR
  `,
  ],
  [
    'rights of the queue pair, key',
    { access: 0 },
    `
    1 < WRITE_ONLY 200 len 5 at 0 of 5 key locked areq
    1 > NAK 200 invalid msn 0
    1 ! REM_INV_REQ_ERR
  `,
  ],
  [
    'key, length of the message',
    {},
    `
    1 < WRITE_ONLY 200 len 5 at 0 of 7 key locked areq
    1 > NAK 200 access msn 0
    1 ! LOC_ACCESS_ERR
  `,
  ],
  [
    'key, responder resources',
    { responderResources: 0 },
    `
    1 < READ_REQUEST 200 at 0 of 8 key locked areq
    1 > NAK 200 access msn 0
    1 ! LOC_ACCESS_ERR
  `,
  ],
  [
    'length of the message, receive',
    {},
    `
    1 < WRITE_ONLY_WITH_IMM 200 len 5 at 0 of 7 key good imm 1 areq
    1 > NAK 200 invalid msn 0
    1 ! REM_INV_REQ_ERR
  `,
  ],
]

t.test('the order of the checks (9.7.4.1)', async t => {
  for (const [title, config, text] of BREAKS) script(t, title, config, text)
})

t.test('SEND with invalidate (9.4.1, 9.9.3)', async t => {
  script(
    t,
    'the key is void from then on',
    WHEN_ASKED,
    `
    0 receive 1 64
    1 < SEND_ONLY_WITH_INV 200 inv good areq
    1 > ACK 200 msn 1
    1 = receive 1 SUCCESS len 0 inv
    2 < WRITE_ONLY 201 len 1 at 0 of 1 key good areq
    2 > NAK 201 access msn 1
    2 ! LOC_ACCESS_ERR
  `,
  )
  for (const key of ['bad', 'locked']) {
    script(
      t,
      `a key that the peer has no right to: ${key}`,
      WHEN_ASKED,
      `
      0 receive 1 64
      1 < SEND_ONLY_WITH_INV 200 len 1 inv ${key} areq
      1 > NAK 200 access msn 0
      1 = receive 1 REM_INV_REQ_ERR
      1 ! REM_INV_REQ_ERR
    `,
    )
  }
})

t.test('packets that are not for it are counted and dropped (9.6.1)', async t => {
  script(
    t,
    'partition, version, opcode',
    WHEN_ASKED,
    `
    0 < WRITE_ONLY 200 len 1 at 0 of 1 key good areq pkey 65534
    0 < WRITE_ONLY 200 len 1 at 0 of 1 key good areq version 1
    0 < UC_SEND_ONLY 200 len 1 areq
    0 < CNP 200
    0 < PROBE 200
    0 counter droppedPartition
    0 = droppedPartition 1
    0 counter droppedVersion
    0 = droppedVersion 1
    0 counter droppedOpcode
    0 = droppedOpcode 3
    0 counter otherService
    0 = otherService 1
    1 < WRITE_ONLY 200 len 1 at 0 of 1 key good areq pkey 32767
    1 > ACK 200 msn 1
  `,
  )
})

t.test('acknowledgements tell no end-to-end credits (9.7.7.2): any number of messages may come', async t => {
  script(
    t,
    'without a receive posted, and with one',
    WHEN_ASKED,
    `
    0 < WRITE_ONLY 200 len 1 at 0 of 1 key good areq
    0 > ACK 200 msn 1
    1 receive 1 2000
    2 < SEND_ONLY 201 len 1 areq
    2 > ACK 201 msn 2
    2 = receive 1 SUCCESS len 1
  `,
  )
})
