/**
 * Loaded by `node --import` into a daemon of a test: its thread for the data path goes wrong, as the environment says, when the
 * file WEIR_TEST_TRIGGER is there.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const { WEIR_TEST_DEFECT, WEIR_TEST_TRIGGER = '' } = process.env

const DEFECTS: Record<string, () => Promise<void> | void> = {
  /** The NIC throws. */
  async round() {
    const { HostLoop } = await import('../../lib/io/loop/host-loop.js')
    HostLoop.prototype.round = () => {
      throw new Error('an injected defect')
    }
  },
  uncaught() {
    throw new Error('an injected defect')
  },
  exit() {
    process.exit(3)
  },
  memory() {
    const hoard: number[][] = []
    for (;;) hoard.push(new Array(100_000).fill(hoard.length))
  },
  /** It stands still for ever, and hears nothing any more. A file says when. A loop would do so too, for 20 s of CPU. */
  hang() {
    writeFileSync(`${WEIR_TEST_TRIGGER}.hangs`, '')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
}

if (!isMainThread && WEIR_TEST_DEFECT !== undefined) {
  const timer = setInterval(() => {
    if (!existsSync(WEIR_TEST_TRIGGER)) return
    clearInterval(timer)
    void DEFECTS[WEIR_TEST_DEFECT]!()
  }, 10)
}
