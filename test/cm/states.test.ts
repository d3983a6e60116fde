/** The table of states as a graph: every state has a way in and a way out, and every action is used. */
import t from 'tap'
import { REPEATING, type State, TRANSITIONS, type Transition, type Trigger } from '../../lib/cm/states.js'

interface Edge {
  from: State
  trigger: Trigger
  to: State
  actions: string[]
}

const EDGES: Edge[] = Object.entries(TRANSITIONS).flatMap(([from, row]) =>
  Object.entries(row).map(([trigger, transition]) => {
    const [to, ...actions] = transition as Transition
    return { from: from as State, trigger: trigger as Trigger, to, actions }
  }),
)
const STATES = Object.keys(TRANSITIONS) as State[]
const COMMANDS = new Set<Trigger>(['connect', 'accept', 'reject', 'postpone', 'close', 'join'])
const TIME = new Set<Trigger>(['overdue', 'exhausted', 'expire'])

function reach(start: State, allowed: (edge: Edge) => boolean): Set<State> {
  const found = new Set<State>([start])
  for (let grown = true; grown; ) {
    grown = false
    for (const edge of EDGES) {
      if (!found.has(edge.from) || found.has(edge.to) || !allowed(edge)) continue
      found.add(edge.to)
      grown = true
    }
  }
  return found
}

t.test('every state can be entered', async t => {
  t.same([...reach('IDLE', () => true)].sort(), [...STATES].sort())
})

t.test('time alone ends every state but those that wait for the application', async t => {
  const waiting: State[] = ['IDLE', 'REQ_RCVD', 'MRA_REQ_SENT', 'ESTABLISHED']
  for (const state of STATES) {
    const ends = reach(state, edge => TIME.has(edge.trigger)).has('IDLE')
    t.equal(ends, state === 'IDLE' || !waiting.includes(state), state)
  }
})

t.test('the application can end every state that is not ending already', async t => {
  for (const state of STATES) {
    const closes = EDGES.some(edge => edge.from === state && edge.trigger === 'close')
    t.equal(closes, !['IDLE', 'DREQ_SENT', 'TIMEWAIT'].includes(state), state)
  }
})

t.test('states that repeat a message, and only they, run out of repetitions', async t => {
  for (const state of STATES) {
    for (const trigger of ['overdue', 'exhausted'] as const) {
      // An established connection repeats a question, not a message, and only when it doubts its peer.
      const repeats = REPEATING.has(state) || (state === 'ESTABLISHED' && trigger === 'overdue')
      t.equal(TRANSITIONS[state][trigger] !== undefined, repeats, `${state} ${trigger}`)
    }
  }
})

t.test(
  'the end of a connection is reported once, and timewait is always started where it is entered',
  async t => {
    const endings = ['tellRejected', 'tellTimedOut', 'tellDisconnected']
    for (const { from, trigger, to, actions } of EDGES) {
      const told = actions.filter(action => endings.includes(action)).length
      const name = `${from} ${trigger} ${to}`
      t.equal(actions.includes('startTimewait'), to === 'TIMEWAIT' && from !== 'TIMEWAIT', name)
      if (to === 'IDLE' && from !== 'TIMEWAIT' && trigger !== 'reject')
        t.equal(told, 1, `${name} tells the end`)
      else if (to === 'TIMEWAIT' && from !== 'TIMEWAIT') t.equal(told, 1, `${name} tells the end`)
      else if (trigger === 'stale') t.equal(told, 1)
      else t.equal(told, 0, `${name} tells no end`)
    }
  },
)

t.test('a peer alone cannot make a connection established without the application', async t => {
  t.notOk(reach('REQ_RCVD', edge => !COMMANDS.has(edge.trigger)).has('ESTABLISHED'))
})
