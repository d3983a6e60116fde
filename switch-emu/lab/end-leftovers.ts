import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../../lib/errors.js'
import { LAB_MARK, type LabState } from './lab-state.js'
import {
  netNamespaceOf,
  type ProcessId,
  processesInNamespaces,
  processesMarked,
  signal,
} from './processes.js'

/** How long a process may take to end after SIGTERM. */
const GRACE_MS = 1000
/** How long a killed process may take to disappear. */
const KILL_MS = 10_000
const LOOK_MS = 20

/**
 * Ends every process of a lab but this one: processes that `weir lab exec` started, and those that the keeper
 * could not end. It first terminates, then kills them. Throws WEIR_BAD_STATE when one cannot be ended.
 */
export async function endLeftovers(state: LabState): Promise<void> {
  await endAll(state, 'SIGTERM', GRACE_MS)
  const left = await endAll(state, 'SIGKILL', KILL_MS)
  if (left.length === 0) return
  const pids = left.map(({ pid }) => pid).join(', ')
  throw new WeirError(
    'WEIR_BAD_STATE',
    `lab ${state.name}: processes ${pids} cannot be ended; end them as root`,
  )
}

/** Ends processes until none has been seen twice or the time is up. Returns those that are left. */
async function endAll(state: LabState, how: NodeJS.Signals, timeMs: number): Promise<ProcessId[]> {
  const asked = new Set<number>()
  const deadline = performance.now() + timeMs
  let before = Number.POSITIVE_INFINITY
  for (;;) {
    const left = labProcesses(state)
    // The kernel shows no environment, and so no mark, of a process that is just becoming another program.
    if (left.length + before === 0 || performance.now() > deadline) return left
    before = left.length
    for (const process of left) {
      if (!asked.has(process.pid)) signal(process, how)
      asked.add(process.pid)
    }
    await sleep(LOOK_MS)
  }
}

/**
 * Returns the processes with the lab's mark, and those that share a namespace of the lab with one of them.
 * The kernel may have reused the number of a namespace, so a namespace without a marked process does not
 * count.
 */
function labProcesses(state: LabState): ProcessId[] {
  const marked = processesMarked(LAB_MARK, state.id)
  const sure = new Set(marked.map(({ pid }) => netNamespaceOf(pid) ?? ''))
  if (state.keeper?.pid === process.pid) sure.add(netNamespaceOf('self') ?? '')
  const namespaces = new Set(state.namespaces.filter(name => sure.has(name)))
  const found = new Map(marked.map(one => [one.pid, one]))
  for (const one of processesInNamespaces(namespaces)) found.set(one.pid, one)
  return [...found.values()]
}
