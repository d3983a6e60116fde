/**
 * Identifies processes unmistakably: by a pid with its start time, or by a mark in their initial environment.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A pid alone may belong to another process by the time it is used. */
export interface ProcessId {
  pid: number
  /** Start time in the kernel's ticks since boot: field 22 of /proc/PID/stat. */
  startTicks: number
}

/**
 * Returns the process that has this pid now. Returns null if there is none, or one that has ended and waits
 * for its parent.
 */
export function identify(pid: number): ProcessId | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name, in parentheses, may contain any characters.
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

/**
 * Returns true if the kernel lists a process of that pid: it lives, or has ended and waits for its parent.
 */
export function isListed(pid: number): boolean {
  return existsSync(`/proc/${pid}`)
}

/** Returns all processes but this one whose initial environment has `name=value`. */
export function processesMarked(name: string, value: string): ProcessId[] {
  const mark = `${name}=${value}`
  return allProcesses().filter(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark)
    } catch {
      // It has ended, or belongs to another user.
      return false
    }
  })
}

/**
 * Returns the kernel's name of a process's network namespace, `net:[4026531840]`, or null when it cannot be
 * seen.
 */
export function netNamespaceOf(pid: number | 'self'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    return null
  }
}

/** Returns all processes but this one in one of these network namespaces. */
export function processesInNamespaces(namespaces: ReadonlySet<string>): ProcessId[] {
  return allProcesses().filter(({ pid }) => namespaces.has(netNamespaceOf(pid) ?? ''))
}

/** Sends the signal unless the process has ended. */
export function signal(target: ProcessId, name: NodeJS.Signals): void {
  if (!isAlive(target)) return
  try {
    process.kill(target.pid, name)
  } catch {
    // It has ended in between, or belongs to another user.
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
