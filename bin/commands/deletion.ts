/** What `--delete` asks before it deletes: how much, after a dry run. */
import { createInterface } from 'node:readline/promises'
import type { TransferReply, TreeTotals } from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { printable } from '../../lib/printable.js'

/** Paths that the question lists. */
const SHOWN_MAX = 10
/** What a daemon lists, and so deletes, at most. */
const DELETE_MOST = 200_000

/** What the user has said. */
interface DeletionFlags {
  delete?: boolean
  yes?: boolean
  dryRun?: boolean
}

/** How many things one transfer may delete: as many as the user has agreed to. */
export class Deletion {
  readonly #isAsked: boolean
  readonly #where: string
  #most: number

  /**
   * @param where the destination, for people
   * Throws WEIR_BAD_ARGUMENT where nobody can be asked and --yes is missing.
   */
  constructor(flags: DeletionFlags, where: string) {
    const mayDelete = flags.delete === true && flags.dryRun !== true
    this.#isAsked = mayDelete && flags.yes !== true
    this.#most = mayDelete && flags.yes ? DELETE_MOST : 0
    this.#where = where
    if (!this.#isAsked || (process.stdin.isTTY && process.stderr.isTTY)) return
    const text =
      '--delete asks before it deletes, and there is no terminal: --yes deletes without asking, --dry-run shows what'
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }

  get deleteMost(): number {
    return this.#most
  }

  /** @param dryRun says what would be deleted. Throws WEIR_CANCELLED if the user does not agree. */
  async confirm(dryRun: () => Promise<TransferReply>, signal?: AbortSignal): Promise<void> {
    if (!this.#isAsked) return
    const { tree } = await dryRun()
    if (tree === null || tree.deletedFiles + tree.deletedFolders === 0) return
    if (!(await this.#asks(tree, signal))) throw new WeirError('WEIR_CANCELLED', 'nothing was changed')
    this.#most = tree.deletedFiles + tree.deletedFolders
  }

  async #asks(tree: TreeTotals, signal?: AbortSignal): Promise<boolean> {
    const lines = tree.wouldDelete.slice(0, SHOWN_MAX).map(path => `  ${printable(path)}\n`)
    const more = tree.deletedFiles + tree.deletedFolders - lines.length
    if (more > 0) lines.push(`  and ${more.toLocaleString('en')} more\n`)
    process.stderr.write(lines.join(''))
    const question = `${countsOfDeleted(tree)} would be deleted at ${printable(this.#where)}. Delete? [y/N] `
    // The terminal keeps its mode: Ctrl-C stays a signal.
    const asks = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
    const ended = new Promise<string>(resolve => asks.once('close', () => resolve('')))
    try {
      const answer = await Promise.race([asks.question(question, signal ? { signal } : {}), ended])
      return /^\s*y(es)?\s*$/i.test(answer)
    } catch (cause) {
      throw new WeirError('WEIR_CANCELLED', 'nothing was changed', { cause })
    } finally {
      asks.close()
      process.stdin.pause()
    }
  }
}

/** As in "12 files and 1 folder". */
export function countsOfDeleted({ deletedFiles, deletedFolders }: TreeTotals): string {
  const count = (number: number, one: string) =>
    `${number.toLocaleString('en')} ${one}${number === 1 ? '' : 's'}`
  if (deletedFolders === 0) return count(deletedFiles, 'file')
  if (deletedFiles === 0) return count(deletedFolders, 'folder')
  return `${count(deletedFiles, 'file')} and ${count(deletedFolders, 'folder')}`
}
