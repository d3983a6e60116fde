/**
 * `node --import` loads this file into a daemon of a test. When the file WEIR_TEST_TRIGGER exists, its thread
 * for the data path fails as the environment says.
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
  /**
   * The thread stops for ever and handles nothing. A file says when. A loop would do so too, but use 20 s of
   * CPU time.
   */
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
