/** What the globs of a path match in the share. Each component is looked up in the folders that those before it have matched. */
import { join } from 'node:path'
import { WeirError } from '../../errors.js'
import { entriesOf, realpath } from '../../fs-by-text.js'
import { TransferFailure } from '../protocol/failure.js'
import { isGlob, shellMatcher } from '../protocol/glob.js'
import { DELIVERED_NAME, isPartialName, liesIn } from '../protocol/names.js'

/** Names that are looked at for one transfer. */
const NAMES_MAX = 1_000_000

/** Something in the share, by its real path, and the name by which it was found. */
interface Match {
  real: string
  name: string
}

export class ShareGlobs {
  readonly #folder: string
  readonly #signal: Pick<AbortSignal, 'aborted'>
  #names = 0

  /** @param folder real path of the share */
  constructor(folder: string, signal: Pick<AbortSignal, 'aborted'>) {
    this.#folder = folder
    this.#signal = signal
  }

  /** In the order of their names; empty if no component is a glob. Throws UNSUPPORTED where too much would have to be looked at. */
  async expand(components: readonly string[]): Promise<Match[]> {
    if (!components.some(isGlob)) return []
    let found: Match[] = [{ real: this.#folder, name: '' }]
    for (const component of components) {
      const next: Match[] = []
      // One by one: as arguments of one call, a hundred thousand names are more than the stack holds.
      for (const { real } of found)
        for (const match of await this.#matchesIn(real, component)) next.push(match)
      found = next
    }
    return found
  }

  async #matchesIn(folder: string, component: string): Promise<Match[]> {
    const names = isGlob(component) ? await this.#namesIn(folder, component) : [component]
    const matches: Match[] = []
    for (const name of names) {
      // What is gone, is in no folder, or leads out of the share matches nothing.
      this.#checkGoesOn()
      const real = await realpath(join(folder, name)).catch(() => null)
      if (real !== null && liesIn(this.#folder, real)) matches.push({ real, name })
    }
    return matches
  }

  async #namesIn(folder: string, component: string): Promise<string[]> {
    const matches = shellMatcher(component)
    const names: string[] = []
    try {
      for await (const { name } of entriesOf(folder)) {
        this.#count()
        const isOwn = isPartialName(name) || name.startsWith(DELIVERED_NAME)
        if (!isOwn && matches(name)) names.push(name)
      }
    } catch (error) {
      if (error instanceof WeirError) throw error
      // No folder, or one that may not be read.
      return []
    }
    return names.sort()
  }

  #checkGoesOn(): void {
    if (this.#signal.aborted) throw new WeirError('WEIR_CANCELLED', 'the transfer was cancelled')
  }

  #count(): void {
    this.#checkGoesOn()
    if (++this.#names <= NAMES_MAX) return
    const text = `these globs have more than ${NAMES_MAX} names to look at: name folders`
    throw new TransferFailure('UNSUPPORTED', text)
  }
}
