/** A process that is killed at any operation on the file system. */
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const OPERATIONS = [
  'link',
  'rename',
  'unlink',
  'open',
  'lstat',
  'statfs',
  'mkdir',
  'symlink',
  'lutimes',
] as const
const ON_HANDLES = ['write', 'truncate', 'chmod', 'utimes', 'sync', 'datasync', 'stat', 'close'] as const

type Operation = (...args: unknown[]) => Promise<unknown>

/**
 * Runs `work`, and makes its operation `last`, counted from 0, the last one that is done. Returns how many
 * were requested.
 */
export async function killedAfter(last: number, work: () => Promise<unknown>): Promise<number> {
  let asked = 0
  let killed = () => {}
  const kill = new Promise<void>(resolve => {
    killed = resolve
  })
  const open = new Set<FileHandle>()
  const originals: [Record<string, Operation>, string, Operation][] = []
  const count = (owner: object, name: string) => {
    const original = (owner as Record<string, Operation>)[name]!
    originals.push([owner as Record<string, Operation>, name, original])
    ;(owner as Record<string, Operation>)[name] = async function (this: unknown, ...args: unknown[]) {
      if (asked++ > last) {
        killed()
        return await new Promise(() => {})
      }
      const result = await original.apply(this, args)
      if (name === 'open') open.add(result as FileHandle)
      if (name === 'close') open.delete(this as FileHandle)
      return result
    }
  }
  const probe = await fs.open('/dev/null')
  const prototype = Object.getPrototypeOf(probe)
  await probe.close()
  for (const name of ON_HANDLES) count(prototype, name)
  for (const name of OPERATIONS) count(fs, name)
  syncBuiltinESMExports()
  try {
    await Promise.race([work(), kill])
  } finally {
    for (const [owner, name, original] of originals) owner[name] = original
    syncBuiltinESMExports()
  }
  for (const handle of open) await handle.close()
  return asked
}
