/** Where files of transfers under way go: one target is taken by one transfer at a time. */
import { TransferFailure } from '../protocol/failure.js'
import type { FileSink, FileUser } from './file.js'

interface Taken {
  /** Null: it says nothing about itself, and counts as one that goes on. */
  readonly user: FileUser | null
  /** Resolves when the target is free. */
  readonly released: Promise<void>
}

/** Somebody else has the target. */
class TargetTaken extends TransferFailure {
  readonly by: Taken

  constructor(by: Taken, shownPath: string) {
    super('BUSY', `${shownPath} is being received already: wait, or choose another name`)
    this.by = by
  }
}

export class Targets {
  readonly #taken = new Map<string, Taken>()

  /**
   * Takes `target` for `user`. Returns what gives it back. Throws BUSY if it is taken: see `whenFree`.
   * @param shownPath as users see it
   */
  take(target: string, shownPath: string, user: FileUser | null): () => void {
    const by = this.#taken.get(target)
    if (by) throw new TargetTaken(by, shownPath)
    let resolve = () => {}
    const released = new Promise<void>(done => {
      resolve = done
    })
    this.#taken.set(target, { user, released })
    return () => {
      this.#taken.delete(target)
      resolve()
    }
  }
}

/**
 * Opens a file by `open`. If a transfer has the target that is ending, or whose peer no longer answers, waits until that one has
 * given it back. Throws BUSY if that transfer goes on.
 */
export async function whenFree(open: () => Promise<FileSink>, user: FileUser | null): Promise<FileSink> {
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (user === null || !(error instanceof TargetTaken) || error.by.user === null) throw error
      user.onHeld()
      if (await error.by.user.goesOn()) throw error
      await error.by.released
      if (user.hasEnded) throw error
    }
  }
}
