/** Queues and tables of packets. */
import { FramePool } from '../../lib/frame/frame-pool.js'
import { TimingWheel } from '../../lib/nic/tx/timing-wheel.js'
import { LatencyRecorder } from '../../lib/perf/latency.js'
import { DeadlineHeap } from '../../lib/time/deadline-heap.js'
import type { Operation } from './time-operations.js'
import { sink } from './wire-operations.js'

const ENTRIES = 1024

export function containerOperations(): Operation[] {
  const pool = new FramePool(64)
  const wheel = new TimingWheel(ENTRIES)
  const heap = new DeadlineHeap()
  for (let i = 0; i < ENTRIES; i++) heap.set(heap.add(), i * 1000)
  const recorder = new LatencyRecorder()
  let wheelNow = 0
  let heapNow = ENTRIES * 1000
  return [
    {
      name: 'frame pool: take and give',
      run: count => {
        for (let i = 0; i < count; i++) pool.give(pool.take()!)
      },
    },
    {
      name: `timing wheel of ${ENTRIES}: set, then due`,
      run: count => {
        for (let i = 0; i < count; i++) {
          wheelNow += 1100
          wheel.set(i % ENTRIES, wheelNow)
          sink.value ^= wheel.pollDue(wheelNow + 1100)
        }
      },
    },
    {
      name: `deadline heap of ${ENTRIES}: the first one moves to the end`,
      run: count => {
        for (let i = 0; i < count; i++) {
          heapNow += 1000
          heap.set(heap.first(), heapNow)
        }
      },
    },
    {
      name: 'latency histogram: record',
      run: count => {
        for (let i = 0; i < count; i++) recorder.record(1000 + ((i * 7919) & 0xfffff))
      },
    },
  ]
}
