/** READs that exceed the host's receive buffer: requested in parts, completed once. */
import t from 'tap'
import { ReadRoom } from '../../lib/qp/queues/read-room.js'
import { script } from './runner.js'

/** Parts of 1024 bytes, none of which has to wait. */
class Parts extends ReadRoom {
  constructor() {
    super(2048)
  }
  override admits(): boolean {
    return true
  }
}

const config = () => ({ pathMtu: 256, readRoom: new Parts() })
const QUARTER = 'len 256'

t.test('each part is a READ of its own, with the PSNs that the whole would have (9.7.1)', async t => {
  script(
    t,
    'one completion, and what follows has the PSN behind the last part',
    config(),
    `
    0 read 1 2100
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 > READ_REQUEST 104 at 1024 of 1024 areq
    0 > READ_REQUEST 108 at 2048 of 52 areq
    0 write 2 8
    0 > WRITE_ONLY 109 len 8 at 0 of 8 areq
    5 < READ_RESPONSE_FIRST 100 ${QUARTER} msn 1
    5 < READ_RESPONSE_MIDDLE 101 ${QUARTER}
    5 < READ_RESPONSE_MIDDLE 102 ${QUARTER}
    5 < READ_RESPONSE_LAST 103 ${QUARTER} msn 1
    6 < READ_RESPONSE_FIRST 104 ${QUARTER} msn 2
    6 < READ_RESPONSE_MIDDLE 105 ${QUARTER}
    6 < READ_RESPONSE_MIDDLE 106 ${QUARTER}
    6 < READ_RESPONSE_LAST 107 ${QUARTER} msn 2
    7 < READ_RESPONSE_ONLY 108 len 52 msn 3
    7 = send 1 SUCCESS
    8 < ACK 109 msn 4
    8 = send 2 SUCCESS
  `,
  )
  script(
    t,
    'a whole number of parts, and one byte less than a part',
    config(),
    `
    0 read 1 2048
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 > READ_REQUEST 104 at 1024 of 1024 areq
    0 read 2 1023
    0 > READ_REQUEST 108 at 0 of 1023 areq
    0 read 3 0
    0 > READ_REQUEST 112 at 0 of 0 areq
  `,
  )
  script(
    t,
    'as many at a time as agreed',
    { ...config(), initiatorDepth: 2 },
    `
    0 read 1 3072
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 > READ_REQUEST 104 at 1024 of 1024 areq
    5 < READ_RESPONSE_FIRST 100 ${QUARTER} msn 1
    5 < READ_RESPONSE_MIDDLE 101 ${QUARTER}
    5 < READ_RESPONSE_MIDDLE 102 ${QUARTER}
    5 < READ_RESPONSE_LAST 103 ${QUARTER} msn 1
    5 > READ_REQUEST 108 at 2048 of 1024 areq
  `,
  )
  script(
    t,
    'a fence waits before the first part, not between parts, and for all of them',
    config(),
    `
    0 read 1 4
    0 > READ_REQUEST 100 at 0 of 4 areq
    0 read 2 1100 fence
    5 < READ_RESPONSE_ONLY 100 len 4 msn 1
    5 > READ_REQUEST 101 at 0 of 1024 areq
    5 > READ_REQUEST 105 at 1024 of 76 areq
    5 = send 1 SUCCESS
    6 write 3 8 fence
    7 < READ_RESPONSE_FIRST 101 ${QUARTER} msn 2
    7 < READ_RESPONSE_MIDDLE 102 ${QUARTER}
    7 < READ_RESPONSE_MIDDLE 103 ${QUARTER}
    7 < READ_RESPONSE_LAST 104 ${QUARTER} msn 2
    8 < READ_RESPONSE_ONLY 105 len 76 msn 3
    8 > WRITE_ONLY 106 len 8 at 0 of 8 areq
    8 = send 2 SUCCESS
  `,
  )
})

t.test('a queue pair that drains goes on with a READ that has begun (10.3.1)', async t => {
  script(
    t,
    'SQD',
    { ...config(), initiatorDepth: 1 },
    `
    0 read 1 1025 quiet
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 read 2 1
    1 drain
    5 < READ_RESPONSE_FIRST 100 ${QUARTER} msn 1
    5 < READ_RESPONSE_MIDDLE 101 ${QUARTER}
    5 < READ_RESPONSE_MIDDLE 102 ${QUARTER}
    5 < READ_RESPONSE_LAST 103 ${QUARTER} msn 1
    5 > READ_REQUEST 104 at 1024 of 1 areq
    6 < READ_RESPONSE_ONLY 104 len 1 msn 2
    7 resume
    7 > READ_REQUEST 105 at 0 of 1 areq
    8 < READ_RESPONSE_ONLY 105 len 1 msn 3
    8 = send 2 SUCCESS
  `,
  )
})

t.test('what goes wrong in a part ends the READ, once', async t => {
  script(
    t,
    'refused in the first part: the others are gone with it, what follows is flushed',
    config(),
    `
    0 hold
    0 read 1 3000
    0 write 2 8
    0 release
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 > READ_REQUEST 104 at 1024 of 1024 areq
    0 > READ_REQUEST 108 at 2048 of 952 areq
    0 > WRITE_ONLY 112 len 8 at 0 of 8 areq
    5 < NAK 100 access
    5 = send 1 REM_ACCESS_ERR
    5 = send 2 WR_FLUSH_ERR
    5 ! REM_ACCESS_ERR
  `,
  )
  script(
    t,
    'refused in the last part, while a response of the first is missing: that part has failed',
    config(),
    `
    0 read 1 2000
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 > READ_REQUEST 104 at 1024 of 976 areq
    5 < READ_RESPONSE_FIRST 100 ${QUARTER} msn 1
    6 < NAK 104 access
    6 = send 1 REM_ACCESS_ERR
    6 ! REM_ACCESS_ERR
  `,
  )
  script(
    t,
    'refused behind it, while responses are missing: it is flushed, and the one refused fails',
    config(),
    `
    0 read 1 2000
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 > READ_REQUEST 104 at 1024 of 976 areq
    0 write 2 8
    0 > WRITE_ONLY 108 len 8 at 0 of 8 areq
    6 < NAK 108 access
    6 = send 1 WR_FLUSH_ERR
    6 = send 2 REM_ACCESS_ERR
    6 ! REM_ACCESS_ERR
  `,
  )
  script(
    t,
    'flushed as one',
    config(),
    `
    0 read 1 5000
    0 > READ_REQUEST 100 at 0 of 1024 areq
    0 > READ_REQUEST 104 at 1024 of 1024 areq
    0 > READ_REQUEST 108 at 2048 of 1024 areq
    0 > READ_REQUEST 112 at 3072 of 1024 areq
    0 > READ_REQUEST 116 at 4096 of 904 areq
    5 error
    5 = send 1 WR_FLUSH_ERR
    5 ! WR_FLUSH_ERR
  `,
  )
})
