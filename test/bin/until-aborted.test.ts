/** Work that a command waits for until the user ends it. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { untilAborted } from '../../bin/until-aborted.js'

const ROUNDS = 20_000
/** `Promise.race` with a promise that lives longer keeps 312 bytes a round in Node.js 20. */
const BYTES_A_ROUND_MAX = 60

t.test('the outcome of the work, its error, or null once the signal is aborted', async t => {
  const ended = new AbortController()
  t.equal(await untilAborted(Promise.resolve(7), ended.signal), 7)
  await t.rejects(untilAborted(Promise.reject(new Error('no')), ended.signal), { message: 'no' })
  const never = untilAborted(new Promise<number>(() => {}), ended.signal)
  let fail = (_error: Error) => {}
  const failsLate = new Promise<number>((_resolve, reject) => {
    fail = reject
  })
  const late = untilAborted(failsLate, ended.signal)
  ended.abort()
  t.same([await never, await late], [null, null])
  fail(new Error('nobody hears it, and it is no unhandled rejection'))
  await turn()
  t.equal(await untilAborted(new Promise<number>(() => {}), ended.signal), null)
})

t.test('many rounds leave nothing behind', async t => {
  setFlagsFromString('--expose_gc')
  const gc = runInNewContext('gc') as () => void
  const { signal } = new AbortController()
  gc()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < ROUNDS; n++) await untilAborted(turn(1), signal)
  gc()
  const kept = (process.memoryUsage().heapUsed - before) / ROUNDS
  t.ok(kept < BYTES_A_ROUND_MAX, `${kept} bytes a round`)
})
