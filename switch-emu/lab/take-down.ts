import { setTimeout as sleep } from 'node:timers/promises'
import { endLeftovers } from './end-leftovers.js'
import { forgetLab, type LabState, readState } from './lab-state.js'
import { isAlive, type ProcessId, signal } from './processes.js'

/** How long the keeper may take to end everything in order. */
const KEEPER_MS = 8000
const LOOK_MS = 20

/**
 * Ends a lab, whatever of it is left, and removes it from disk. Harmless when it is gone already. Throws
 * WEIR_BAD_STATE when a process cannot be ended.
 */
export async function takeDown(state: LabState): Promise<void> {
  // The keeper writes down what it is; this may be older.
  const now = readState(state.name)
  const latest = now?.id === state.id ? now : state
  if (latest.keeper !== undefined) {
    signal(latest.keeper, 'SIGTERM')
    await gone(latest.keeper)
  }
  await endLeftovers(latest)
  forgetLab(latest)
}

async function gone(process: ProcessId): Promise<void> {
  const deadline = performance.now() + KEEPER_MS
  while (isAlive(process) && performance.now() < deadline) await sleep(LOOK_MS)
}
