import { setTimeout as sleep } from 'node:timers/promises'
import { endLeftovers } from './end-leftovers.js'
import { forgetLab, type LabState, readState } from './lab-state.js'
import { isAlive, isListed, signal } from './processes.js'

/** How long the keeper may take to end everything in order. */
const KEEPER_MS = 8000
/** How long the system may take to remove an ended process from its list. */
const REAPED_MS = 1000
const LOOK_MS = 20

/**
 * Ends a lab, whatever remains of it, and removes its files. Has no effect if there is none. Throws
 * WEIR_BAD_STATE when a process cannot be ended.
 */
export async function takeDown(state: LabState): Promise<void> {
  // The keeper writes the state, so the given one may be out of date.
  const now = readState(state.name)
  const latest = now?.id === state.id ? now : state
  if (latest.keeper !== undefined) {
    signal(latest.keeper, 'SIGTERM')
    const { keeper } = latest
    await until(() => !isAlive(keeper), KEEPER_MS)
  }
  await endLeftovers(latest)
  forgetLab(latest)
  const ended = [latest.keeper?.pid ?? 0, ...latest.processes.map(({ pid }) => pid)]
  await until(() => !ended.some(isListed), REAPED_MS)
}

async function until(holds: () => boolean, timeMs: number): Promise<void> {
  const deadline = performance.now() + timeMs
  while (!holds() && performance.now() < deadline) await sleep(LOOK_MS)
}
