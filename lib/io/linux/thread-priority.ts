import { loadLibc } from './libc.js'

const SCHED_FIFO = 1
/** It precedes every ordinary thread and comes after every other real-time thread. */
const LEAST_PRIORITY = 1

/**
 * Gives the calling thread a real-time priority, so that it runs as soon as it wakes. It is for a thread that
 * sleeps until a deadline and then does a little work. Linux still reserves 5 % of a core for other threads.
 * Returns false where this is not permitted (it needs root). Then the thread waits like any other, for some
 * milliseconds on a busy machine.
 */
export function becomeRealTime(): boolean {
  const parameter = new Uint8Array(4)
  new DataView(parameter.buffer).setInt32(0, LEAST_PRIORITY, true)
  return loadLibc().schedSetscheduler(0, SCHED_FIFO, parameter) === 0
}
