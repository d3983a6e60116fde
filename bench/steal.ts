/** Steal time shows how much of a figure on a shared machine is due to the machine. */
import { readFileSync } from 'node:fs'

/** CPU time that the machine's other tenants used, and all CPU time. Null where the OS does not report it. */
export function stealTicks(): { steal: number; all: number } | null {
  try {
    const ticks = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.trim().split(/\s+/).slice(1).map(Number)
    return { steal: ticks[7] ?? 0, all: ticks.slice(0, 8).reduce((sum, n) => sum + n, 0) }
  } catch {
    return null
  }
}

/** Share of all CPU time that was stolen since `before`. */
export function stealSince(before: { steal: number; all: number } | null): number | null {
  const now = stealTicks()
  if (before === null || now === null || now.all === before.all) return null
  return (now.steal - before.steal) / (now.all - before.all)
}
