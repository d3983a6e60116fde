import { loadLibc } from './libc.js'

const SCHED_FIFO = 1
/** Before every ordinary thread; behind every other real-time one. */
const LEAST_PRIORITY = 1

/**
 * Lets the calling thread run as soon as it is woken, whatever ordinary threads do: for one that sleeps until a
 * deadline and then does a little work. Linux still leaves the others 5 % of a core. False where that is not
 * permitted (it takes root): the thread then waits for its turn like any other, some milliseconds on a busy machine.
 */
export function becomeRealTime(): boolean {
  const parameter = new Uint8Array(4)
  new DataView(parameter.buffer).setInt32(0, LEAST_PRIORITY, true)
  return loadLibc().schedSetscheduler(0, SCHED_FIFO, parameter) === 0
}
