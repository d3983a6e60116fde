/** Processes by what cannot be mistaken: a pid with its start time, or a mark in the environment they began with. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A pid alone may belong to another process by the time it is used. */
export interface ProcessId {
  pid: number
  /** When it began, in the kernel's ticks since boot: field 22 of /proc/PID/stat. */
  startTicks: number
}

/** The process that has this pid now, or null if there is none, or one that has ended and waits for its parent. */
export function identify(pid: number): ProcessId | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name, in parentheses, may hold anything.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return null
    return { pid, startTicks: Number(fields[18]) }
  } catch {
    return null
  }
}

export function isAlive({ pid, startTicks }: ProcessId): boolean {
  return identify(pid)?.startTicks === startTicks
}

/** A process of that pid is in the list of processes: it lives, or has ended and waits for its parent. */
export function isListed(pid: number): boolean {
  return existsSync(`/proc/${pid}`)
}

/** All processes whose environment had `name=value` when they began; this one is left out. */
export function processesMarked(name: string, value: string): ProcessId[] {
  const mark = `${name}=${value}`
  return allProcesses().filter(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark)
    } catch {
      // It is gone, or somebody else's.
      return false
    }
  })
}

/** The network namespace of a process as the kernel names it, `net:[4026531840]`; null when it cannot be seen. */
export function netNamespaceOf(pid: number | 'self'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    return null
  }
}

/** All processes in one of these network namespaces; this one is left out. */
export function processesInNamespaces(namespaces: ReadonlySet<string>): ProcessId[] {
  return allProcesses().filter(({ pid }) => namespaces.has(netNamespaceOf(pid) ?? ''))
}

/** Sends the signal unless the process has gone. */
export function signal(target: ProcessId, name: NodeJS.Signals): void {
  if (!isAlive(target)) return
  try {
    process.kill(target.pid, name)
  } catch {
    // Gone in between, or not ours to end.
  }
}

function allProcesses(): ProcessId[] {
  const found: ProcessId[] = []
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    const id = identify(pid)
    if (id !== null) found.push(id)
  }
  return found
}
