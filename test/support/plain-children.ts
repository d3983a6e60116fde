/**
 * Preloaded into each test file. tap makes all processes and threads that a test starts load its own modules,
 * to measure coverage, which takes three quarters of a second of CPU time for each `weir`. Nobody uses the
 * coverage here, so they start as a user's do.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import threads, { isMainThread, type WorkerOptions } from 'node:worker_threads'

const onSpawn = createRequire(import.meta.url)('process-on-spawn') as { removeAllListeners(): void }

if (isMainThread) {
  onSpawn.removeAllListeners()
  const options = process.env.NODE_OPTIONS?.split(' ').filter(option => !option.includes('@tapjs'))
  if (options?.length) process.env.NODE_OPTIONS = options.join(' ')
  else delete process.env.NODE_OPTIONS
  threads.Worker = class PlainWorker extends threads.Worker {
    constructor(module: string | URL, options?: WorkerOptions) {
      super(module, { execArgv: [], ...options })
    }
  }
  syncBuiltinESMExports()
}
