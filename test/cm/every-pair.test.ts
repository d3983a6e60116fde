/**
 * Every message and command in every state. Below stands all that may happen: what is not written there must change
 * nothing, send nothing, tell nothing. `~` is a deadline that moved, in ms from now.
 */
import t from 'tap'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { Script } from './script.js'

const REQUEST = '0 < REQ 2001>0\n0 ! connectRequest 1001 qpn=201\n'
const ACCEPT = '0 accept\n0 > REP 1001>2001\n'
const CONNECT = '0 connect\n0 > REQ 1001>0\n'
const ACTIVE = `${CONNECT}0 < REP 2001>1001\n0 ! established 1001 rep 0ms\n0 > RTU 1001>2001\n`
const PASSIVE = `${REQUEST}${ACCEPT}0 < RTU 2001>1001\n0 ! established 1001 rtu 0ms\n`
const CLOSE = '0 disconnect\n0 > DREQ 1001>2001 qpn=201\n'
const CLOSED = '0 < DREP 2001>1001\n0 ! disconnected 1001 local\n'

/** How each state is entered. */
const STATES: Record<string, string> = {
  'REQ sent': CONNECT,
  'MRA(REQ) received': `${CONNECT}0 < MRA 2001>1001 of=0`,
  'REQ received': REQUEST,
  'MRA(REQ) sent': `${REQUEST}0 mra 1001 20\n0 > MRA 1001>2001 of=0 service=20`,
  'REP sent': REQUEST + ACCEPT,
  'MRA(REP) received': `${REQUEST}${ACCEPT}0 < MRA 2001>1001 of=1`,
  'established (active)': ACTIVE,
  'established (passive)': PASSIVE,
  'DREQ sent (active)': ACTIVE + CLOSE,
  'DREQ sent (passive)': PASSIVE + CLOSE,
  'timewait (active)': ACTIVE + CLOSE + CLOSED,
  'timewait (passive)': PASSIVE + CLOSE + CLOSED,
}

/** `repeated REQ` and `new REQ` name the queue pair of this connection; the other messages its ids. */
const STIMULI: Record<string, string> = {
  'repeated REQ': '< REQ 2001>0',
  'new REQ': '< REQ 2002>0',
  REP: '< REP 2001>1001',
  'REP of another': '< REP 2002>1001 qpn=202',
  'bad REP': '< REP 2001>1001 rr=255',
  RTU: '< RTU 2001>1001',
  'REJ of REQ': '< REJ 2001>1001 of=0',
  'REJ of REQ, stale': '< REJ 2001>1001 of=0 reason=10',
  'REJ of REP': '< REJ 2001>1001 of=1',
  'REJ, stale': '< REJ 2001>1001 of=1 reason=10',
  'REJ, time-out': '< REJ 2001>0 of=2 reason=4',
  'REJ, time-out, both ids': '< REJ 2001>1001 of=2 reason=4',
  'MRA of REQ': '< MRA 2001>1001 of=0 service=18',
  'MRA of REP': '< MRA 2001>1001 of=1 service=18',
  DREQ: '< DREQ 2001>1001',
  DREP: '< DREP 2001>1001',
  data: 'data 101',
  disconnect: 'disconnect',
}

/** 2^(19-8) ms: timewait. 2^(18-8) + 2^(19-8): the MRA above. A REQ waits 6144 ms, a REP 4096. */
const NEW_REQUEST = '! connectRequest 1002 qpn=201'
const UNKNOWN_DREQ = { DREQ: '> DREP 1001>2001' }
const AWAITING_REP = {
  ...UNKNOWN_DREQ,
  'repeated REQ': NEW_REQUEST,
  'new REQ': NEW_REQUEST,
  REP: '! established 1001 rep -; > RTU 1001>2001; ~never',
  'REP of another': '! established 1001 rep -; > RTU 1001>2002; ~never',
  'bad REP': '! rejected 1001 reason=28; > REJ 1001>2001 of=1 reason=28; ~2048',
  'REJ of REQ': '! rejected 1001 reason=28; ~never',
  'REJ of REQ, stale': '! rejected 1001 reason=10; ~2048',
  disconnect: '! disconnected 1001 local; > REJ 1001>0 of=2 reason=4; ~never',
}
const UNDECIDED = {
  'repeated REQ': '> MRA 1001>2001 of=0 service=24',
  'new REQ': '> REJ 0>2002 of=0 reason=10',
  'REJ of REP': '! rejected 1001 reason=28',
  'REJ, stale': '! rejected 1001 reason=10; ~2048',
  'REJ, time-out': '! rejected 1001 reason=4',
  'REJ, time-out, both ids': '! rejected 1001 reason=4',
  disconnect: '! disconnected 1001 local; > REJ 1001>2001 of=0 reason=28',
}
const AWAITING_RTU = {
  'new REQ': '> REJ 0>2002 of=0 reason=10',
  RTU: '! established 1001 rtu -; ~never',
  'REJ of REP': '! rejected 1001 reason=28; ~never',
  'REJ, stale': '! rejected 1001 reason=10; ~2048',
  'REJ, time-out': '! rejected 1001 reason=4; ~never',
  'REJ, time-out, both ids': '! rejected 1001 reason=4; ~never',
  DREQ: '! disconnected 1001 peer; > DREP 1001>2001; ~2048',
  data: '! established 1001 data -; ~never',
  disconnect: '! disconnected 1001 local; > REJ 1001>2001 of=2 reason=28; ~never',
}
const ESTABLISHED = {
  'REJ of REP': '! disconnected 1001 rejected; ~2048',
  'REJ, stale': '! disconnected 1001 rejected; ~2048',
  'REJ, time-out, both ids': '! disconnected 1001 rejected; ~2048',
  DREQ: '! disconnected 1001 peer; > DREP 1001>2001; ~2048',
}
const DREQ_SENT = {
  'new REQ': '> REJ 0>2002 of=0 reason=10',
  'REJ of REP': '! disconnected 1001 local; ~2048',
  'REJ, stale': '! disconnected 1001 local; ~2048',
  'REJ, time-out, both ids': '! disconnected 1001 local; ~2048',
  DREQ: '! disconnected 1001 local; > DREP 1001>2001; ~2048',
  DREP: '! disconnected 1001 local; ~2048',
}
const TIMEWAIT = {
  'repeated REQ': '> REJ 1001>2001 of=2 reason=10',
  'new REQ': NEW_REQUEST,
  DREQ: '> DREP 1001>2001',
}
const ask = '! challenged 1001; > REJ 0>2002 of=0 reason=10; ~1000'
const again = { REP: '> RTU 1001>2001', 'bad REP': '> RTU 1001>2001' }

const EXPECTED: Record<string, Record<string, string>> = {
  'REQ sent': {
    ...AWAITING_REP,
    REP: '! established 1001 rep 0ms; > RTU 1001>2001; ~never',
    'REP of another': '! established 1001 rep 0ms; > RTU 1001>2002; ~never',
    'MRA of REQ': '~3072',
  },
  'MRA(REQ) received': AWAITING_REP,
  'REQ received': UNDECIDED,
  'MRA(REQ) sent': UNDECIDED,
  'REP sent': { ...AWAITING_RTU, RTU: '! established 1001 rtu 0ms; ~never', 'MRA of REP': '~3072' },
  'MRA(REP) received': AWAITING_RTU,
  'established (active)': {
    ...ESTABLISHED,
    ...again,
    'new REQ': ask,
    disconnect: '> DREQ 1001>2001 qpn=201; ~6144',
  },
  'established (passive)': {
    ...ESTABLISHED,
    'new REQ': ask,
    disconnect: '> DREQ 1001>2001 qpn=201; ~4096',
  },
  'DREQ sent (active)': DREQ_SENT,
  'DREQ sent (passive)': DREQ_SENT,
  'timewait (active)': TIMEWAIT,
  'timewait (passive)': TIMEWAIT,
}

for (const [state, entry] of Object.entries(STATES)) {
  t.test(state, async t => {
    for (const [name, stimulus] of Object.entries(STIMULI)) {
      const s = new Script(t)
      s.run(entry)
      const before = s.manager.nextTimeout()
      const outcome = s.said(stimulus)
      const after = s.manager.nextTimeout()
      if (after !== before) outcome.push(`~${after === Infinity ? 'never' : (after - s.now) / MILLISECOND}`)
      t.equal(outcome.join('; '), EXPECTED[state]![name] ?? '', name)
    }
  })
}

t.test('given up on after an MRA', async t => {
  new Script(t, { maxCmRetries: 1 }).run(`
    0        connect
    0        > REQ 1001>0
    0        < MRA 2001>1001 of=0 service=18
    3072ms   > REQ 1001>0
    6144ms   ! timedOut 1001
    6144ms   > REJ 1001>0 of=2 reason=4`)
  new Script(t).run(`
    0        < REQ 2001>0 retries=1
    0        ! connectRequest 1001 qpn=201
    0        accept
    0        > REP 1001>2001
    0        < MRA 2001>1001 of=1 service=18
    3072ms   > REP 1001>2001
    6144ms   ! timedOut 1001
    6144ms   > REJ 1001>2001 of=2 reason=4`)
})
