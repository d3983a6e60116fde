/** A process that is killed at any operation on the file system. */
import syncFs from 'node:fs'
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

const SYNCHRONOUS = [
  'openSync',
  'writeSync',
  'ftruncateSync',
  'fchmodSync',
  'futimesSync',
  'fstatSync',
  'linkSync',
  'renameSync',
  'unlinkSync',
  'lstatSync',
  'closeSync',
] as const

const WITH_CALLBACK = ['fsync', 'read'] as const

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
      if (asked > last + 1) return await new Promise(() => {})
      if (name === 'open') open.add(result as FileHandle)
      if (name === 'close') open.delete(this as FileHandle)
      return result
    }
  }
  // A synchronous operation cannot wait for ever: it throws, and so does whatever follows.
  const descriptors = new Set<number>()
  const countSync = (name: string) => {
    const owner = syncFs as unknown as Record<string, (...args: unknown[]) => unknown>
    const original = owner[name]!
    originals.push([owner as Record<string, Operation>, name, original as Operation])
    owner[name] = (...args) => {
      if (asked++ > last) {
        killed()
        throw new Error('killed')
      }
      const result = original.apply(syncFs, args)
      if (name === 'openSync') descriptors.add(result as number)
      if (name === 'closeSync') descriptors.delete(args[0] as number)
      return result
    }
  }
  const countCallback = (name: string) => {
    const owner = syncFs as unknown as Record<string, (...args: unknown[]) => unknown>
    const original = owner[name]!
    originals.push([owner as Record<string, Operation>, name, original as Operation])
    owner[name] = (...args) => {
      if (asked++ > last) killed()
      else {
        const callback = args.pop() as (...results: unknown[]) => void
        original.call(syncFs, ...args, (...results: unknown[]) => {
          if (asked <= last + 1) callback(...results)
        })
      }
    }
  }
  const probe = await fs.open('/dev/null')
  const prototype = Object.getPrototypeOf(probe)
  await probe.close()
  for (const name of ON_HANDLES) count(prototype, name)
  for (const name of OPERATIONS) count(fs, name)
  for (const name of SYNCHRONOUS) countSync(name)
  for (const name of WITH_CALLBACK) countCallback(name)
  syncBuiltinESMExports()
  try {
    const done = work().catch(error => {
      if (asked <= last + 1) throw error
    })
    await Promise.race([done, kill])
  } finally {
    for (const [owner, name, original] of originals) owner[name] = original
    syncBuiltinESMExports()
  }
  for (const handle of open) await handle.close()
  for (const fd of descriptors) syncFs.closeSync(fd)
  return asked
}
